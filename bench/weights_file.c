#include "bench/weights_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/arch/arch.h"
#include "common/base/json.h"
#include "common/base/bf16.h"
#include "common/engine/model/random_weights.h"

enum { HEADER_MAX_BYTES = 1 << 24, HEADER_ALIGNMENT = 8, WRITE_BYTES = 1 << 20 };

/* As stored: rows and columns, 0 columns for a vector. */
struct tensor {
    char name[BATON_TENSOR_NAME_BYTES];
    struct baton_named_tensor named;
    int n_copies; /* [n_copies] of what follows, where one tensor is all experts' */
    int n_rows, n_columns;
    int n_dims;
    int64_t shape[BATON_TENSOR_MAX_SHAPE];
    float center;
    uint64_t seed; /* that enters the sequence at the array's first weight */
};

struct catalogue {
    struct tensor *tensors;
    int n;
    uint64_t seed;
};

static size_t n_elements(const struct tensor *tensor)
{
    return (size_t)tensor->n_copies * (size_t)tensor->n_rows *
           (size_t)(tensor->n_columns ? tensor->n_columns : 1);
}

static void add(struct catalogue *all, const struct baton_spec *spec,
                const struct baton_tensor_names *names, const struct baton_array *array,
                const struct baton_tensor_row *row)
{
    struct tensor *tensor = &all->tensors[all->n++];
    struct baton_named_tensor named = baton_tensor_of(spec, array, row);
    *tensor = (struct tensor){.named = named,
                              .n_copies = named.n_experts ? named.n_experts : 1,
                              .n_rows = named.n_rows,
                              .n_columns = named.is_vector ? 0 : named.n_columns,
                              .center = array->center - (names->norms_less_one ? array->center : 0),
                              .seed = all->seed};
    if (row->transposed) {
        tensor->n_rows = named.n_columns;
        tensor->n_columns = named.n_rows;
    }
    tensor->n_dims = baton_tensor_shape(spec, &named, tensor->shape);
    (void)baton_tensor_name(names, row, array->layer, array->expert, names->prefix, tensor->name);
}

/* The tensors of an array: of each of its parts the first row of the names. A tensor of all experts
 * comes with the first one's array. */
static void add_array(struct catalogue *all, const struct baton_spec *spec,
                      const struct baton_tensor_names *names, const struct baton_array *array)
{
    const struct baton_tensor_row *row;
    int n_rows = 0;
    for (int i = 0; n_rows < array->n_rows && (row = baton_tensor_row_at(names, i)); i++) {
        if (!baton_tensor_row_fills(row, array))
            continue;
        struct baton_named_tensor named = baton_tensor_of(spec, array, row);
        if (!named.n_experts || !array->expert)
            add(all, spec, names, array, row);
        n_rows += named.n_rows;
    }
    all->seed += baton_array_n_elements(array) * BATON_RANDOM_STEP;
}

static enum baton_err list(struct catalogue *all, const struct baton_tensor_names *names,
                           const struct baton_spec *spec, uint64_t seed)
{
    int n = baton_n_arrays(spec), n_copies = 0;
    for (int i = 0; i < n; i++) {
        struct baton_array array = baton_array_at(spec, i);
        n_copies += baton_array_n_copies(&array);
    }
    *all = (struct catalogue){
        .tensors = calloc((size_t)n_copies * BATON_MAX_TENSOR_PARTS, sizeof *all->tensors),
        .seed = seed};
    if (!all->tensors)
        return BATON_NO_MEMORY;
    for (int i = 0; i < n; i++) {
        struct baton_array array = baton_array_at(spec, i);
        for (; array.n_rows && array.expert < baton_array_n_copies(&array); array.expert++)
            add_array(all, spec, names, &array);
    }
    return BATON_OK;
}

static void put_tensor(struct baton_json_out *out, const struct tensor *tensor,
                       enum baton_element dtype, size_t *offset)
{
    baton_json_open(out, tensor->name, '{');
    baton_json_put_string(out, "dtype", baton_element_name(dtype));
    baton_json_open(out, "shape", '[');
    for (int i = 0; i < tensor->n_dims; i++)
        baton_json_put_int(out, NULL, tensor->shape[i]);
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

struct line_buffer {
    float *floats;
    uint16_t *halves;
    uint64_t *numbers;
};

/* The sequence's number of the first weight of each row of the tensor. */
static void number_rows(const struct baton_named_tensor *named, uint64_t *numbers)
{
    for (int p = 0; p < named->n_parts; p++) {
        const struct baton_tensor_part *part = &named->parts[p];
        for (int r = 0; r < part->n; r++)
            numbers[baton_row_order_at(&part->order, r)] =
                (uint64_t)(part->first + r) * (uint64_t)named->n_columns;
    }
}

/* One line as stored: of a transposed tensor a column of what the model has. */
static void fill_line(const struct tensor *tensor, int copy, int line, const uint64_t *numbers,
                      float *floats)
{
    const size_t n_passed = n_elements(tensor) / (size_t)tensor->n_copies * (size_t)copy;
    bool transposed = tensor->named.row->transposed;
    int n = tensor->n_columns ? tensor->n_columns : 1;
    for (int i = 0; i < n; i++) {
        uint64_t number = transposed ? numbers[i] + (uint64_t)line : numbers[line] + (uint64_t)i;
        floats[i] = tensor->center + baton_random_weight(tensor->seed, n_passed + number);
    }
}

static bool write_tensor(FILE *file, const struct tensor *tensor, enum baton_element dtype,
                         const struct line_buffer *buffer)
{
    size_t n = (size_t)(tensor->n_columns ? tensor->n_columns : 1);
    number_rows(&tensor->named, buffer->numbers);
    for (int i = 0; i < tensor->n_copies * tensor->n_rows; i++) {
        const void *bytes = buffer->floats;
        fill_line(tensor, i / tensor->n_rows, i % tensor->n_rows, buffer->numbers, buffer->floats);
        if (dtype == BATON_ELEMENT_BF16) {
            for (size_t k = 0; k < n; k++)
                buffer->halves[k] = baton_bf16_from(buffer->floats[k]);
            bytes = buffer->halves;
        }
        if (fwrite(bytes, baton_element_bytes(dtype), n, file) != n)
            return false;
    }
    return true;
}

static bool write_all(FILE *file, const struct catalogue *all, enum baton_element dtype)
{
    int widest = 1, longest = 1;
    for (int i = 0; i < all->n; i++) {
        const struct tensor *tensor = &all->tensors[i];
        widest = tensor->n_columns > widest ? tensor->n_columns : widest;
        longest = tensor->named.n_rows > longest ? tensor->named.n_rows : longest;
    }
    struct line_buffer buffer = {.floats = calloc((size_t)widest, sizeof(float)),
                                 .halves = calloc((size_t)widest, sizeof(uint16_t)),
                                 .numbers = calloc((size_t)longest, sizeof(uint64_t))};
    bool written =
        buffer.floats && buffer.halves && buffer.numbers && write_header(file, all, dtype);
    for (int i = 0; i < all->n && written; i++)
        written = write_tensor(file, &all->tensors[i], dtype, &buffer);
    free(buffer.floats);
    free(buffer.halves);
    free(buffer.numbers);
    return written;
}

enum baton_err bench_weights_write(const char *path, const struct baton_tensor_names *names,
                                   const struct baton_spec *spec, uint64_t seed,
                                   enum baton_element dtype, struct baton_why *why)
{
    struct catalogue all;
    enum baton_err err = list(&all, names, spec, seed);
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
