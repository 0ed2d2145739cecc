#include "bench/weights_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/json.h"
#include "common/engine/kernels/bf16.h"
#include "common/engine/model/random_weights.h"

enum {
    NAME_BYTES = 64,
    TENSORS_PER_LAYER = 12,
    TENSORS_OF_MODEL = 4,
    HEADER_MAX_BYTES = 1 << 24,
    HEADER_ALIGNMENT = 8,
    WRITE_BYTES = 1 << 20
};

/* As stored: rows and columns, 0 rows for a vector. */
struct tensor {
    char name[NAME_BYTES];
    int n_rows, n_columns;
    bool transposed; /* [in][out], while the sequence of weights goes along [out][in] */
    float middle;
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

/* scope is "transformer.", or that of a layer. */
static void add(struct catalogue *all, const char *scope, const char *name, struct tensor tensor)
{
    (void)snprintf(tensor.name, sizeof tensor.name, "%s%s", scope, name);
    tensor.seed = all->seed;
    all->seed += n_elements(&tensor) * BATON_RANDOM_STEP;
    all->tensors[all->n++] = tensor;
}

static void add_vector(struct catalogue *all, const char *scope, const char *name, int n,
                       float middle)
{
    add(all, scope, name, (struct tensor){.n_columns = n, .middle = middle});
}

static void add_norm(struct catalogue *all, const char *scope, const char *weight, const char *bias,
                     int n)
{
    add_vector(all, scope, weight, n, 1);
    add_vector(all, scope, bias, n, 0);
}

static void add_conv1d(struct catalogue *all, const char *scope, const char *weight,
                       const char *bias, int n_out, int n_in)
{
    add(all, scope, weight,
        (struct tensor){.n_rows = n_in, .n_columns = n_out, .transposed = true});
    add_vector(all, scope, bias, n_out, 0);
}

static void add_layer(struct catalogue *all, int layer, const struct baton_model_shape *shape)
{
    char scope[NAME_BYTES / 2];
    int n_embd = shape->n_embd;
    (void)snprintf(scope, sizeof scope, "transformer.h.%d.", layer);
    add_norm(all, scope, "ln_1.weight", "ln_1.bias", n_embd);
    add_norm(all, scope, "ln_2.weight", "ln_2.bias", n_embd);
    add_conv1d(all, scope, "attn.c_attn.weight", "attn.c_attn.bias", 3 * n_embd, n_embd);
    add_conv1d(all, scope, "attn.c_proj.weight", "attn.c_proj.bias", n_embd, n_embd);
    add_conv1d(all, scope, "mlp.c_fc.weight", "mlp.c_fc.bias", shape->n_ff, n_embd);
    add_conv1d(all, scope, "mlp.c_proj.weight", "mlp.c_proj.bias", n_embd, shape->n_ff);
}

static enum baton_err list(struct catalogue *all, const struct baton_model_shape *shape,
                           uint64_t seed)
{
    static const char scope[] = "transformer.";
    size_t n = (size_t)shape->n_layers * TENSORS_PER_LAYER + TENSORS_OF_MODEL;
    *all = (struct catalogue){.tensors = calloc(n, sizeof *all->tensors), .seed = seed};
    if (!all->tensors)
        return BATON_NO_MEMORY;
    add(all, scope, "wte.weight",
        (struct tensor){.n_rows = shape->n_vocab, .n_columns = shape->n_embd});
    add(all, scope, "wpe.weight",
        (struct tensor){.n_rows = shape->n_context, .n_columns = shape->n_embd});
    for (int layer = 0; layer < shape->n_layers; layer++)
        add_layer(all, layer, shape);
    add_norm(all, scope, "ln_f.weight", "ln_f.bias", shape->n_embd);
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
        floats[i] = tensor->middle + baton_random_weight(tensor->seed, first + i * step);
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
