#include "bench/weights_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/json.h"
#include "common/engine/kernels/bf16.h"
#include "common/engine/model/arch.h"
#include "common/engine/model/random_weights.h"

enum { HEADER_MAX_BYTES = 1 << 24, HEADER_ALIGNMENT = 8, WRITE_BYTES = 1 << 20 };

/* As stored: rows and columns, 0 rows for a vector. */
struct tensor {
    char name[BATON_TENSOR_NAME_BYTES];
    int n_rows, n_columns;
    bool transposed; /* [in][out], while the sequence of weights goes along [out][in] */
    float center;
    uint64_t seed; /* that enters the sequence at the tensor's first weight */
};

struct catalogue {
    struct tensor *tensors;
    int n;
    uint64_t seed;
};

static size_t n_elements(const struct tensor *tensor)
{
    return (size_t)(tensor->n_rows ? tensor->n_rows : 1) * (size_t)tensor->n_columns;
}

static void add(struct catalogue *all, const struct baton_arch *arch,
                const struct baton_model_tensor *found)
{
    const struct baton_tensor_row *row = found->row;
    struct tensor *tensor = &all->tensors[all->n++];
    *tensor = (struct tensor){.n_rows = row->n_rows == BATON_DIM_ONE ? 0 : found->n_rows,
                              .n_columns = found->n_columns,
                              .transposed = row->transposed,
                              .center = row->center,
                              .seed = all->seed};
    if (row->transposed) {
        tensor->n_rows = found->n_columns;
        tensor->n_columns = found->n_rows;
    }
    (void)baton_model_tensor_name(arch, found, true, tensor->name);
    all->seed += n_elements(tensor) * BATON_RANDOM_STEP;
}

/* All tensors but the optional ones, which random models do without. */
static enum baton_err list(struct catalogue *all, const struct baton_model_shape *shape,
                           uint64_t seed)
{
    const struct baton_arch *arch = baton_arch_find("gpt2");
    int n = baton_model_n_tensors(arch, shape);
    *all = (struct catalogue){.tensors = calloc((size_t)n, sizeof *all->tensors), .seed = seed};
    if (!all->tensors)
        return BATON_NO_MEMORY;
    for (int i = 0; i < n; i++) {
        struct baton_model_tensor tensor = baton_model_tensor_at(arch, shape, i);
        if (!tensor.row->optional)
            add(all, arch, &tensor);
    }
    return BATON_OK;
}

static void put_tensor(struct baton_json_out *out, const struct tensor *tensor,
                       enum baton_element dtype, size_t *offset)
{
    baton_json_open(out, tensor->name, '{');
    baton_json_put_string(out, "dtype", baton_element_name(dtype));
    baton_json_open(out, "shape", '[');
    if (tensor->n_rows)
        baton_json_put_int(out, NULL, tensor->n_rows);
    baton_json_put_int(out, NULL, tensor->n_columns);
    baton_json_close(out, ']');
    baton_json_open(out, "data_offsets", '[');
    baton_json_put_uint(out, NULL, *offset);
    *offset += n_elements(tensor) * baton_element_bytes(dtype);
    baton_json_put_uint(out, NULL, *offset);
    baton_json_close(out, ']');
    baton_json_close(out, '}');
}

static bool write_header(FILE *file, const struct catalogue *all, enum baton_element dtype)
{
    struct baton_buf header;
    baton_buf_init(&header, HEADER_MAX_BYTES);
    struct baton_json_out out = baton_json_out(&header);
    size_t offset = 0;
    baton_json_open(&out, NULL, '{');
    baton_json_open(&out, "__metadata__", '{');
    baton_json_put_string(&out, "format", "pt");
    baton_json_close(&out, '}');
    for (int i = 0; i < all->n; i++)
        put_tensor(&out, &all->tensors[i], dtype, &offset);
    baton_json_close(&out, '}');
    while (header.len % HEADER_ALIGNMENT && !baton_buf_err(&header))
        baton_buf_putc(&header, ' ');
    uint64_t n_bytes = header.len;
    bool written = !baton_buf_err(&header) && fwrite(&n_bytes, sizeof n_bytes, 1, file) == 1 &&
                   fwrite(header.data, 1, header.len, file) == header.len;
    baton_buf_fini(&header);
    return written;
}

struct row_buffer {
    float *floats;
    uint16_t *halves;
};

static void fill_row(const struct tensor *tensor, int row, float *floats)
{
    uint64_t first = tensor->transposed ? (uint64_t)row : (uint64_t)row * tensor->n_columns;
    uint64_t step = tensor->transposed ? (uint64_t)tensor->n_rows : 1;
    for (int i = 0; i < tensor->n_columns; i++)
        floats[i] = tensor->center + baton_random_weight(tensor->seed, first + i * step);
}

static bool write_tensor(FILE *file, const struct tensor *tensor, enum baton_element dtype,
                         const struct row_buffer *buffer)
{
    size_t n = (size_t)tensor->n_columns;
    for (int row = 0; row < tensor->n_rows || row == 0; row++) {
        const void *bytes = buffer->floats;
        fill_row(tensor, row, buffer->floats);
        if (dtype == BATON_ELEMENT_BF16) {
            for (size_t i = 0; i < n; i++)
                buffer->halves[i] = baton_bf16_from(buffer->floats[i]);
            bytes = buffer->halves;
        }
        if (fwrite(bytes, baton_element_bytes(dtype), n, file) != n)
            return false;
    }
    return true;
}

static bool write_all(FILE *file, const struct catalogue *all, enum baton_element dtype)
{
    int widest = 0;
    for (int i = 0; i < all->n; i++)
        if (all->tensors[i].n_columns > widest)
            widest = all->tensors[i].n_columns;
    struct row_buffer buffer = {.floats = calloc((size_t)widest, sizeof(float)),
                                .halves = calloc((size_t)widest, sizeof(uint16_t))};
    bool written = buffer.floats && buffer.halves && write_header(file, all, dtype);
    for (int i = 0; i < all->n && written; i++)
        written = write_tensor(file, &all->tensors[i], dtype, &buffer);
    free(buffer.floats);
    free(buffer.halves);
    return written;
}

enum baton_err bench_weights_write(const char *path, const struct baton_model_shape *shape,
                                   uint64_t seed, enum baton_element dtype, struct baton_why *why)
{
    struct catalogue all;
    enum baton_err err = list(&all, shape, seed);
    if (err)
        return err;
    FILE *file = fopen(path, "wbe");
    bool written =
        file && !setvbuf(file, NULL, _IOFBF, WRITE_BYTES) && write_all(file, &all, dtype);
    if (file && fclose(file))
        written = false;
    if (!written)
        err = baton_fail(why, BATON_IO, "%s: %s", path, strerror(errno));
    free(all.tensors);
    return err;
}
