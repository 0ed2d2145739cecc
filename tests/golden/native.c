/* Whether a GGUF file's weights are kept as they are: its model in native dtypes beside the same
 * one decoded to f32, weight for weight. Writes which dtypes hold how many bytes of the matrices.
 *
 *     golden_native [--kernels K] MODEL.gguf
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/model/layers.h"

static struct baton_model *open_model(const char *path, const char *dtype, const char *kernels)
{
    const struct baton_model_options options = {.dtype = dtype, .kernels = kernels};
    struct baton_model *model = NULL;
    struct baton_why why = {""};
    if (baton_model_open(path, &options, &model, &why)) {
        (void)fprintf(stderr, "%s\n", why.text);
        exit(2);
    }
    return model;
}

static bool same_rows(const struct baton_matrix *a, const struct baton_matrix *b, float *rows)
{
    size_t n_in = (size_t)a->n_in;
    for (int out = 0; out < a->n_out; out++) {
        baton_matrix_row(a, out, rows);
        baton_matrix_row(b, out, rows + n_in);
        for (size_t i = 0; i < n_in; i++)
            if (!(rows[i] == rows[n_in + i]) &&
                !(rows[i] != rows[i] && rows[n_in + i] != rows[n_in + i])) {
                (void)fprintf(stderr, "output %d, input %zu: %.9g, not %.9g\n", out, i,
                              (double)rows[i], (double)rows[n_in + i]);
                return false;
            }
    }
    return true;
}

static bool same_array(struct baton_model *native, struct baton_model *plain,
                       struct baton_array array, size_t bytes[BATON_N_DTYPES])
{
    for (; array.expert < baton_array_n_copies(&array); array.expert++) {
        struct baton_matrix a = baton_model_matrix_of(native, &array),
                            b = baton_model_matrix_of(plain, &array);
        float *rows = calloc(2 * (size_t)a.n_in, sizeof *rows);
        bool same = rows && a.n_out == b.n_out && same_rows(&a, &b, rows);
        free(rows);
        if (!same) {
            (void)fprintf(stderr, "kind %d, layer %d, expert %d\n", (int)array.kind, array.layer,
                          array.expert);
            return false;
        }
        for (int i = 0; i < a.n_parts; i++)
            bytes[a.parts[i].dtype] += baton_packed_read_bytes(&a.parts[i]);
    }
    return true;
}

int main(int argc, char **argv)
{
    bool has_kernels = argc == 4 && !strcmp(argv[1], "--kernels");
    if (argc != 2 && !has_kernels)
        return 2;
    const char *kernels = has_kernels ? argv[2] : "auto", *path = argv[argc - 1];
    struct baton_model *native = open_model(path, "native", kernels),
                       *plain = open_model(path, "f32", kernels);
    size_t bytes[BATON_N_DTYPES] = {0};
    bool same = true;
    for (int i = 0; same && i < baton_n_arrays(&native->spec); i++) {
        struct baton_array array = baton_array_at(&native->spec, i);
        if (array.is_matrix && array.n_rows)
            same = same_array(native, plain, array, bytes);
    }
    for (int i = 0; same && i < BATON_N_DTYPES; i++)
        if (bytes[i])
            (void)printf("%s %zu\n", baton_dtype_name((enum baton_dtype)i), bytes[i]);
    baton_model_close(plain);
    baton_model_close(native);
    return same ? 0 : 1;
}
