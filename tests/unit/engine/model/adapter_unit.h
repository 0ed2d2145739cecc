/* Adapters of the fixture models, made by the tests: files of random A and B, and the model in
 * which they are merged in double precision.
 *
 * Ownership: files lie in the test's scratch directory.
 */
#ifndef BATON_TESTS_UNIT_ENGINE_MODEL_ADAPTER_UNIT_H
#define BATON_TESTS_UNIT_ENGINE_MODEL_ADAPTER_UNIT_H

#include "tests/unit/engine/unit.h"

#include "common/base/buf.h"
#include "common/base/os/file.h"
#include "engine/checkpoint/weights/weights.h"

enum { FILE_MAX_BYTES = 8 << 20, NAME_BYTES = 160 };

/* One A and B, and the scale that its file means. */
struct lora {
    char tensor[NAME_BYTES]; /* of the model */
    int rank, n_in, n_out;
    float *a, *b; /* [rank][n_in], [n_out][rank] */
    double scale;
};

/* Tensors of a file that is being written. */
struct tensor_writer {
    struct baton_buf header, data;
};

static inline void begin_tensors(struct tensor_writer *writer)
{
    baton_buf_init(&writer->header, FILE_MAX_BYTES);
    baton_buf_init(&writer->data, FILE_MAX_BYTES);
}

static inline void put_tensor(struct tensor_writer *writer, const char *name, int n_dims,
                              const int64_t *shape, const float *values, size_t n)
{
    char text[4 * NAME_BYTES];
    size_t begin = writer->data.len, end = begin + n * sizeof *values;
    (void)snprintf(text, sizeof text, "%s\"%s\":{\"dtype\":\"F32\",\"shape\":[",
                   writer->header.len ? "," : "{", name);
    baton_buf_puts(&writer->header, text);
    for (int i = 0; i < n_dims; i++) {
        (void)snprintf(text, sizeof text, "%s%lld", i ? "," : "", (long long)shape[i]);
        baton_buf_puts(&writer->header, text);
    }
    (void)snprintf(text, sizeof text, "],\"data_offsets\":[%zu,%zu]}", begin, end);
    baton_buf_puts(&writer->header, text);
    baton_buf_append(&writer->data, values, n * sizeof *values);
}

static inline void write_file(const char *name, const struct baton_buf *parts, int n_parts)
{
    FILE *file = fopen(in_scratch(name), "wb");
    assert_non_null(file);
    for (int i = 0; i < n_parts; i++)
        assert_int_equal(fwrite(parts[i].data, 1, parts[i].len, file), parts[i].len);
    assert_int_equal(fclose(file), 0);
}

static inline void end_tensors(struct tensor_writer *writer, const char *name)
{
    struct baton_buf length;
    baton_buf_puts(&writer->header, "}");
    uint64_t n = writer->header.len;
    baton_buf_init(&length, sizeof n);
    baton_buf_append(&length, &n, sizeof n);
    const struct baton_buf parts[] = {length, writer->header, writer->data};
    write_file(name, parts, 3);
    baton_buf_fini(&length);
    baton_buf_fini(&writer->header);
    baton_buf_fini(&writer->data);
}

static inline float *tensor_floats(const struct baton_tensor *tensor, size_t *n)
{
    *n = 1;
    for (int i = 0; i < tensor->n_dims; i++)
        *n *= (size_t)tensor->shape[i];
    float *floats = calloc(*n, sizeof *floats);
    assert_non_null(floats);
    baton_convert(tensor->dtype, tensor->data, *n, floats);
    return floats;
}

/* W += scale B A, in double; W [n_out][n_in], or [n_in][n_out]. */
static inline void merge(const struct lora *lora, bool transposed, float *weights)
{
    for (int o = 0; o < lora->n_out; o++)
        for (int i = 0; i < lora->n_in; i++) {
            double sum = 0;
            size_t at = transposed ? (size_t)i * lora->n_out + o : (size_t)o * lora->n_in + i;
            for (int k = 0; k < lora->rank; k++)
                sum += (double)lora->b[o * lora->rank + k] * lora->a[k * lora->n_in + i];
            weights[at] = (float)(weights[at] + lora->scale * sum);
        }
}

#endif
