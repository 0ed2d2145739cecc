/* Models of pseudo-random weights. */
#include <stdlib.h>
#include <string.h>

#include "engine/arch/arch.h"
#include "engine/model/layers.h"
#include "engine/model/packing.h"
#include "engine/model/q4_dtypes.h"
#include "engine/model/random.h"
#include "engine/model/random_blocks.h"
#include "engine/model/random_weights.h"

/* Weights first..first + n - 1 of an array, whose weight 0 the seed starts. */
static void fill(float *floats, size_t first, size_t n, float center, uint64_t seed)
{
    for (size_t i = 0; i < n; i++)
        floats[i] = center + baton_random_weight(seed, first + i);
}

/* The rows of an array that a panel of a part holds; part's first output is row first_row. */
static struct baton_panel_rows rows_of_panel(const struct baton_array *array,
                                             const struct baton_packed *part, int first_row,
                                             int panel)
{
    struct baton_panel_rows of =
        baton_panel_rows(array->is_gated ? array->n_rows : part->n_out, array->is_gated, panel);
    of.first += first_row;
    return of;
}

static enum baton_err fill_floats_of(const struct baton_array *array,
                                     const struct baton_packed *part, int first_row, uint64_t seed)
{
    size_t n_in = (size_t)part->n_in;
    float *rows = calloc(BATON_PANEL * n_in, sizeof *rows);
    if (!rows)
        return BATON_NO_MEMORY;
    for (int panel = 0; panel < baton_packed_n_panels(part); panel++) {
        struct baton_panel_rows of = rows_of_panel(array, part, first_row, panel);
        memset(rows, 0, BATON_PANEL * n_in * sizeof *rows);
        fill(rows, (size_t)of.first * n_in, (size_t)of.n * n_in, array->center, seed);
        baton_packed_write(part, panel, rows);
    }
    free(rows);
    return BATON_OK;
}

/* Draws whole blocks instead of encoding floats. Their weights differ from the floats of the same
 * seed and spread about as far around zero. */
static enum baton_err fill_blocks_of(const struct baton_array *array,
                                     const struct baton_packed *part, int first_row, uint64_t seed)
{
    enum baton_block_type type = baton_dtype_block_type(part->dtype);
    size_t n_values = baton_block_values(type),
           n_blocks = ((size_t)part->n_in + n_values - 1) / n_values,
           row_bytes = n_blocks * baton_block_bytes(type);
    uint8_t *blocks = malloc(BATON_PANEL * row_bytes);
    uint64_t state = seed + (uint64_t)first_row;
    if (!blocks)
        return BATON_NO_MEMORY;
    for (int panel = 0; panel < baton_packed_n_panels(part); panel++) {
        const uint8_t *rows[BATON_PANEL] = {NULL};
        int n = rows_of_panel(array, part, first_row, panel).n;
        baton_random_blocks(type, &state, (size_t)n * n_blocks, blocks);
        for (int i = 0; i < n; i++)
            rows[i] = blocks + (size_t)i * row_bytes;
        baton_packed_write_blocks(part, panel, rows);
    }
    free(blocks);
    return BATON_OK;
}

static enum baton_err fill_matrix(const struct baton_array *array,
                                  const struct baton_matrix *matrix, uint64_t seed)
{
    enum baton_err err = BATON_OK;
    for (int i = 0, first = 0; i < matrix->n_parts && !err; first += matrix->parts[i++].n_out)
        err = baton_dtype_has_blocks(matrix->parts[i].dtype)
                  ? fill_blocks_of(array, &matrix->parts[i], first, seed)
                  : fill_floats_of(array, &matrix->parts[i], first, seed);
    return err;
}

static void fill_floats(const struct baton_array *array, float *floats, uint64_t seed)
{
    if (!array->is_gated) {
        fill(floats, 0, baton_array_n_elements(array), array->center, seed);
        return;
    }
    for (int panel = 0; panel < baton_gated_n_out(array->n_rows / 2) / BATON_PANEL; panel++) {
        struct baton_panel_rows of = baton_panel_rows(array->n_rows, true, panel);
        fill(floats + (size_t)panel * BATON_PANEL, (size_t)of.first, (size_t)of.n, array->center,
             seed);
    }
}

static enum baton_err fill_array(struct baton_model *model, const struct baton_array *array,
                                 uint64_t seed)
{
    if (array->is_mapped) {
        model->per_layer_table.source.n_in = array->n_columns;
        model->per_layer_table.seed = seed;
        return BATON_OK;
    }
    if (array->is_matrix) {
        struct baton_matrix matrix = baton_model_matrix_of(model, array);
        return fill_matrix(array, &matrix, seed);
    }
    fill_floats(array, baton_model_floats_of(model, array), seed);
    return BATON_OK;
}

/* The seed advances by elements, so an array's weights do not depend on the dtype. */
static enum baton_err fill_all(struct baton_model *model, uint64_t seed)
{
    int n = baton_n_arrays(&model->spec);
    enum baton_err err = BATON_OK;
    for (int i = 0; i < n && !err; i++) {
        struct baton_array array = baton_array_at(&model->spec, i);
        for (; array.n_rows && !err && array.expert < baton_array_n_copies(&array);
             array.expert++, seed += baton_array_n_elements(&array) * BATON_RANDOM_STEP)
            err = fill_array(model, &array, seed);
    }
    return err;
}

enum baton_err baton_model_random_by(const struct baton_spec *spec, uint64_t seed,
                                     const struct baton_model_options *options,
                                     const struct baton_dtype_rule *rule,
                                     struct baton_model **model, struct baton_why *why)
{
    const struct baton_model_options none = {0};
    struct baton_model *made = NULL;
    enum baton_err err = baton_spec_check(spec, why);
    if (!err)
        err = baton_model_measure(spec, options ? options : &none, rule, &made, why);
    if (!err)
        err = baton_model_allocate(made, why);
    if (!err)
        err = fill_all(made, seed);
    if (err) {
        baton_model_close(made);
        return err;
    }
    *model = made;
    return BATON_OK;
}

/* The dtype wanted, or a wider one where rows are not whole blocks of it. */
static void choose_blocks(void *arg, const struct baton_model *model,
                          const struct baton_array *array, struct baton_matrix_dtypes *dtypes)
{
    const enum baton_dtype *wanted = arg;
    (void)model;
    for (int i = 0; i < dtypes->n; i++)
        dtypes->ranges[i].dtype = baton_random_dtype(*wanted, array->n_columns);
}

enum baton_dtype baton_random_dtype(enum baton_dtype wanted, int n_in)
{
    if (n_in % baton_packed_block_values(wanted) == 0)
        return wanted;
    return n_in % baton_packed_block_values(BATON_Q8_0) == 0 ? BATON_Q8_0 : BATON_F32;
}

enum baton_err baton_model_random(const struct baton_spec *spec, uint64_t seed,
                                  const struct baton_model_options *options,
                                  struct baton_model **model, struct baton_why *why)
{
    const char *name = options && options->dtype ? options->dtype : "f32";
    enum baton_dtype dtype;
    if (!strcmp(name, baton_q4_rule.name))
        return baton_model_random_by(spec, seed, options, &baton_q4_rule, model, why);
    if (!strcmp(name, "native"))
        return baton_fail(why, BATON_INVALID,
                          "dtype: native keeps the formats of a GGUF file; random weights have "
                          "none: name one, as q4_k");
    if (!baton_dtype_parse(name, &dtype) || !baton_dtype_is_native(dtype))
        return baton_model_random_by(spec, seed, options, NULL, model, why);
    const struct baton_dtype_rule rule = {
        .choose = choose_blocks, .arg = &dtype, .name = baton_dtype_name(dtype)};
    return baton_model_random_by(spec, seed, options, &rule, model, why);
}
