#include "engine/checkpoint/hf/safetensors.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/json.h"

/* The reference implementation has this limit, which bounds the memory of the parsed header. */
enum { LENGTH_BYTES = 8, HEADER_MAX_BYTES = 100000000 };

/* Finds the header. Its length is checked against the file before a byte of it is read. */
static enum baton_err find_header(const uint8_t *bytes, size_t n_bytes, size_t *n_header,
                                  struct baton_why *why)
{
    uint64_t n = 0;
    if (n_bytes < LENGTH_BYTES)
        return baton_fail(why, BATON_CORRUPT, "too short for a safetensors header");
    for (int i = LENGTH_BYTES - 1; i >= 0; i--)
        n = n << 8 | bytes[i];
    if (n > HEADER_MAX_BYTES)
        return baton_fail(why, BATON_LIMIT, "header larger than %d bytes", HEADER_MAX_BYTES);
    if (n > n_bytes - LENGTH_BYTES)
        return baton_fail(why, BATON_CORRUPT, "header runs past the end of the file");
    if (!n || bytes[LENGTH_BYTES] != '{')
        return baton_fail(why, BATON_CORRUPT, "header does not start with '{'");
    *n_header = (size_t)n;
    return BATON_OK;
}

static enum baton_err check_metadata(const struct baton_json *metadata, struct baton_why *why)
{
    if (baton_json_kind(metadata) != BATON_JSON_OBJECT)
        return baton_fail(why, BATON_CORRUPT, "__metadata__: must be an object");
    for (void *it = baton_json_first(metadata); it; it = baton_json_next(metadata, it))
        if (baton_json_kind(baton_json_member(it)) != BATON_JSON_STRING)
            return baton_fail(why, BATON_CORRUPT, "__metadata__: \"%s\" must be text",
                              baton_json_key(it));
    return BATON_OK;
}

static enum baton_err read_shape(const struct baton_json *shape, struct baton_tensor *tensor,
                                 struct baton_why *why)
{
    size_t n_dims = baton_json_size(shape), n_bytes = baton_element_bytes(tensor->dtype);
    if (baton_json_kind(shape) != BATON_JSON_ARRAY || n_dims > BATON_TENSOR_MAX_DIMS)
        return baton_fail(why, BATON_CORRUPT, "%s: shape must be an array of at most %d numbers",
                          tensor->name, BATON_TENSOR_MAX_DIMS);
    tensor->n_dims = (int)n_dims;
    for (size_t i = 0; i < n_dims; i++) {
        const struct baton_json *dim = baton_json_at(shape, i);
        int64_t length = baton_json_int(dim);
        if (baton_json_kind(dim) != BATON_JSON_INT || length < 0)
            return baton_fail(why, BATON_CORRUPT, "%s: shape must hold whole numbers",
                              tensor->name);
        if (__builtin_mul_overflow(n_bytes, (size_t)length, &n_bytes))
            return baton_fail(why, BATON_CORRUPT, "%s: size overflows", tensor->name);
        tensor->shape[i] = length;
    }
    if (n_bytes != tensor->n_bytes)
        return baton_fail(why, BATON_CORRUPT, "%s: shape needs %zu bytes, data_offsets span %zu",
                          tensor->name, n_bytes, tensor->n_bytes);
    return BATON_OK;
}

static enum baton_err read_offsets(const struct baton_json *offsets, const uint8_t *data,
                                   size_t n_data, struct baton_tensor *tensor,
                                   struct baton_why *why)
{
    const struct baton_json *first = baton_json_at(offsets, 0), *second = baton_json_at(offsets, 1);
    int64_t begin = baton_json_int(first), end = baton_json_int(second);
    if (baton_json_kind(offsets) != BATON_JSON_ARRAY || baton_json_size(offsets) != 2 ||
        baton_json_kind(first) != BATON_JSON_INT || baton_json_kind(second) != BATON_JSON_INT)
        return baton_fail(why, BATON_CORRUPT, "%s: data_offsets must be two whole numbers",
                          tensor->name);
    if (begin < 0 || begin > end || (uint64_t)end > n_data)
        return baton_fail(why, BATON_CORRUPT, "%s: data_offsets outside the file", tensor->name);
    tensor->data = data + begin;
    tensor->n_bytes = (size_t)(end - begin);
    return BATON_OK;
}

static enum baton_err read_tensor(const char *name, const struct baton_json *value,
                                  const uint8_t *data, size_t n_data, struct baton_tensor *tensor,
                                  struct baton_why *why)
{
    const char *dtype = baton_json_string(baton_json_get(value, "dtype"), NULL);
    *tensor = (struct baton_tensor){.name = name};
    /* The reference implementation refuses unknown fields, hence the count. */
    if (baton_json_kind(value) != BATON_JSON_OBJECT || baton_json_size(value) != 3)
        return baton_fail(why, BATON_CORRUPT, "%s: must have dtype, shape and data_offsets", name);
    if (!dtype || !baton_element_parse(dtype, &tensor->dtype))
        return baton_fail(why, BATON_CORRUPT, "%s: unknown dtype \"%s\"", name, dtype ? dtype : "");
    enum baton_err err =
        read_offsets(baton_json_get(value, "data_offsets"), data, n_data, tensor, why);
    return err ? err : read_shape(baton_json_get(value, "shape"), tensor, why);
}

/* Orders tensors by their data, so that neighbours show gaps and overlaps. */
static int by_data(const void *a, const void *b)
{
    const struct baton_tensor *x = a, *y = b;
    if (x->data != y->data)
        return x->data < y->data ? -1 : 1;
    return (x->n_bytes > y->n_bytes) - (x->n_bytes < y->n_bytes); /* empty tensors first */
}

/* Checks that every byte of data belongs to exactly one tensor, so that nothing can be hidden. */
static enum baton_err check_tiling(const struct baton_safetensors *file, const uint8_t *data,
                                   size_t n_data, struct baton_why *why)
{
    const uint8_t *next = data;
    for (size_t i = 0; i < file->n_tensors; i++) {
        const struct baton_tensor *tensor = &file->tensors[i];
        if (tensor->data != next)
            return baton_fail(why, BATON_CORRUPT, "%s: data %s", tensor->name,
                              tensor->data < next ? "overlaps another tensor's" : "leaves a gap");
        next += tensor->n_bytes;
    }
    if (next != data + n_data)
        return baton_fail(why, BATON_CORRUPT, "%zu bytes after the last tensor",
                          (size_t)(data + n_data - next));
    return BATON_OK;
}

static enum baton_err read_tensors(struct baton_safetensors *file, const uint8_t *data,
                                   size_t n_data, struct baton_why *why)
{
    enum baton_err err = BATON_OK;
    for (void *it = baton_json_first(file->header); it && !err;
         it = baton_json_next(file->header, it)) {
        const char *name = baton_json_key(it);
        const struct baton_json *value = baton_json_member(it);
        if (!strcmp(name, "__metadata__"))
            err = check_metadata(value, why);
        else
            err = read_tensor(name, value, data, n_data, &file->tensors[file->n_tensors++], why);
    }
    if (err)
        return err;
    qsort(file->tensors, file->n_tensors, sizeof file->tensors[0], by_data);
    return check_tiling(file, data, n_data, why);
}

enum baton_err baton_safetensors_parse(const uint8_t *bytes, size_t n_bytes,
                                       struct baton_safetensors *file, struct baton_why *why)
{
    struct baton_safetensors read = {0};
    struct baton_why reason;
    size_t n_header = 0;
    enum baton_err err = find_header(bytes, n_bytes, &n_header, why);
    if (err)
        return err;
    if (baton_json_parse(bytes + LENGTH_BYTES, n_header, &read.header, &reason))
        return baton_fail(why, BATON_CORRUPT, "header: %s", reason.text);
    read.tensors = calloc(baton_json_size(read.header) + 1, sizeof read.tensors[0]);
    const uint8_t *data = bytes + LENGTH_BYTES + n_header;
    err = read.tensors ? read_tensors(&read, data, n_bytes - LENGTH_BYTES - n_header, why)
                       : baton_fail(why, BATON_NO_MEMORY, "header: out of memory");
    if (err)
        baton_safetensors_fini(&read);
    else
        *file = read;
    return err;
}

void baton_safetensors_fini(struct baton_safetensors *file)
{
    free(file->tensors);
    baton_json_free(file->header);
    *file = (struct baton_safetensors){0};
}
