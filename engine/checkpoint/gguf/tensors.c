/* The list of a GGUF file's tensors, and the positions of their data. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/checkpoint/gguf/reader.h"
#include "engine/checkpoint/tensor.h"

/* ggml allows four dimensions and names of 63 bytes; some converters have written 64. */
enum { MAX_DIMS = 4, MAX_NAME_BYTES = 64, MAX_ALIGNMENT = 1 << 20 };

static enum baton_err read_alignment(const struct baton_gguf_reader *reader,
                                     const struct baton_gguf *gguf, uint64_t *alignment)
{
    static const char key[] = "general.alignment";
    const struct baton_gguf_value *value = baton_gguf_find(gguf, key);
    int64_t number = 32;
    bool whole = !value || baton_gguf_int(value, &number);
    *alignment = (uint64_t)number;
    if (whole && number >= 1 && number <= MAX_ALIGNMENT && !(number & (number - 1)))
        return BATON_OK;
    if (!whole)
        return baton_fail(reader->why, BATON_INVALID, "%s: must be a whole number", key);
    return baton_fail(reader->why, BATON_INVALID,
                      "%s: must be a power of two in 1..%d, not %" PRId64, key, MAX_ALIGNMENT,
                      number);
}

/* The state of the list: names are stored one after another in *names, each with a zero. */
struct listing {
    char *names;
    uint64_t offset; /* from the beginning of the data */
};

static enum baton_err read_name(struct baton_gguf_reader *reader, struct baton_tensor *tensor,
                                char **names)
{
    struct baton_gguf_text name;
    if (!gguf_read_text(reader, &name))
        return gguf_fail_short(reader, "tensors");
    if (!name.n || name.n > MAX_NAME_BYTES || memchr(name.bytes, 0, name.n))
        return baton_fail(reader->why, BATON_CORRUPT,
                          "tensor %.*s: a name must have 1 to %d bytes, none of them zero",
                          BATON_GGUF_SHOWN(name), MAX_NAME_BYTES);
    memcpy(*names, name.bytes, name.n);
    (*names)[name.n] = 0;
    tensor->name = *names;
    *names += name.n + 1;
    return BATON_OK;
}

/* Reads the lengths. The file has the fastest first, a shape has it last. */
static enum baton_err read_shape(struct baton_gguf_reader *reader, struct baton_tensor *tensor)
{
    uint32_t n_dims;
    uint64_t length, n = 1;
    if (!gguf_read_u32(reader, &n_dims))
        return gguf_fail_short(reader, tensor->name);
    if (n_dims < 1 || n_dims > MAX_DIMS)
        return baton_fail(reader->why, BATON_CORRUPT,
                          "tensor %s: must have 1 to %d dimensions, not %" PRIu32, tensor->name,
                          MAX_DIMS, n_dims);
    tensor->n_dims = (int)n_dims;
    for (int i = tensor->n_dims; i-- > 0;) {
        if (!gguf_read_number(reader, sizeof length, &length))
            return gguf_fail_short(reader, tensor->name);
        if (length < 1 || length > INT64_MAX || __builtin_mul_overflow(n, length, &n) ||
            n > INT64_MAX)
            return baton_fail(reader->why, BATON_CORRUPT,
                              "tensor %s: a length of %" PRIu64 " is not possible", tensor->name,
                              length);
        tensor->shape[i] = (int64_t)length;
    }
    return BATON_OK;
}

/* Reads the type and computes the number of bytes. */
static enum baton_err read_blocks(struct baton_gguf_reader *reader, struct baton_tensor *tensor)
{
    struct baton_why reason;
    uint32_t id;
    if (!gguf_read_u32(reader, &id))
        return gguf_fail_short(reader, tensor->name);
    enum baton_err err = baton_block_type_of_id(id, &tensor->block_type, &reason);
    if (err)
        return baton_fail(reader->why, err, "tensor %s: %s", tensor->name, reason.text);
    tensor->dtype = baton_element_of_block(tensor->block_type);
    size_t n_values = baton_block_values(tensor->block_type);
    uint64_t n = (uint64_t)tensor->shape[tensor->n_dims - 1];
    if (n % n_values)
        return baton_fail(reader->why, BATON_CORRUPT,
                          "tensor %s: rows of %" PRIu64 " are no multiple of %s's %zu values",
                          tensor->name, n, baton_block_type_name(tensor->block_type), n_values);
    n /= n_values;
    for (int i = 0; i < tensor->n_dims - 1; i++)
        n *= (uint64_t)tensor->shape[i]; /* read_shape checked that the product fits */
    if (__builtin_mul_overflow(n, baton_block_bytes(tensor->block_type), &tensor->n_bytes))
        return baton_fail(reader->why, BATON_CORRUPT, "tensor %s: size overflows", tensor->name);
    return BATON_OK;
}

static enum baton_err read_tensor(struct baton_gguf_reader *reader, uint64_t alignment,
                                  struct baton_tensor *tensor, struct listing *listing)
{
    *tensor = (struct baton_tensor){.name = ""};
    enum baton_err err = read_name(reader, tensor, &listing->names);
    if (!err)
        err = read_shape(reader, tensor);
    if (!err)
        err = read_blocks(reader, tensor);
    if (err)
        return err;
    if (!gguf_read_number(reader, sizeof listing->offset, &listing->offset))
        return gguf_fail_short(reader, tensor->name);
    if (listing->offset % alignment)
        return baton_fail(reader->why, BATON_CORRUPT,
                          "tensor %s: offset %" PRIu64
                          " is no multiple of general.alignment %" PRIu64,
                          tensor->name, listing->offset, alignment);
    return BATON_OK;
}

/* Moves the reader to the data, behind the last tensor's entry. */
static enum baton_err begin_data(struct baton_gguf_reader *reader, const uint8_t *bytes,
                                 uint64_t alignment, size_t n_tensors)
{
    uint64_t n_head = (uint64_t)(reader->next - bytes);
    uint64_t padding = (alignment - n_head % alignment) % alignment;
    if (gguf_skip(reader, padding))
        return BATON_OK;
    reader->next = reader->end;
    /* A file without tensors may end without padding. */
    return n_tensors ? gguf_fail_short(reader, "padding before the tensors' data") : BATON_OK;
}

static int by_data(const void *a, const void *b)
{
    const struct baton_tensor *x = a, *y = b;
    return (x->data > y->data) - (x->data < y->data);
}

static enum baton_err check_apart(const struct baton_gguf_reader *reader,
                                  const struct baton_gguf *gguf)
{
    for (size_t i = 1; i < gguf->n_tensors; i++) {
        const struct baton_tensor *tensor = &gguf->tensors[i - 1];
        if (tensor->data + tensor->n_bytes > tensor[1].data)
            return baton_fail(reader->why, BATON_CORRUPT, "tensor %s: data overlaps the data of %s",
                              tensor->name, tensor[1].name);
    }
    return BATON_OK;
}

static int by_name(const void *a, const void *b)
{
    const struct baton_tensor *x = a, *y = b;
    return strcmp(x->name, y->name);
}

static enum baton_err check_names(const struct baton_gguf_reader *reader,
                                  const struct baton_gguf *gguf)
{
    for (size_t i = 1; i < gguf->n_tensors; i++)
        if (!by_name(&gguf->tensors[i - 1], &gguf->tensors[i]))
            return baton_fail(reader->why, BATON_CORRUPT, "tensor %s: appears twice",
                              gguf->tensors[i].name);
    return BATON_OK;
}

/* Places the tensors' data. reader is at the data. */
static enum baton_err place(const struct baton_gguf_reader *reader, const struct listing *listings,
                            struct baton_gguf *gguf)
{
    for (size_t i = 0; i < gguf->n_tensors; i++) {
        struct baton_tensor *tensor = &gguf->tensors[i];
        uint64_t offset = listings[i].offset;
        if (offset > gguf_n_left(reader) || tensor->n_bytes > gguf_n_left(reader) - offset)
            return baton_fail(reader->why, BATON_CORRUPT,
                              "tensor %s: %zu bytes at offset %" PRIu64 " run past the end of the "
                              "file, whose data has %zu",
                              tensor->name, tensor->n_bytes, offset, gguf_n_left(reader));
        tensor->data = reader->next + offset;
    }
    /* Sorted by data, only neighbours can overlap; searches need them by name. */
    qsort(gguf->tensors, gguf->n_tensors, sizeof gguf->tensors[0], by_data);
    enum baton_err err = check_apart(reader, gguf);
    qsort(gguf->tensors, gguf->n_tensors, sizeof gguf->tensors[0], by_name);
    return err ? err : check_names(reader, gguf);
}

/* ---- numbers of layers in the metadata ---- */

/* Apertus' files list the numbers of its activations by layer; elsewhere they are tensors. */
static const char *const lists[] = {"xielu.alpha_p", "xielu.alpha_n", "xielu.beta", "xielu.eps"};

enum { N_LISTS = sizeof lists / sizeof lists[0], MAX_LISTED = 1024 };

static size_t n_listed(const struct baton_gguf *gguf, const char *key)
{
    const struct baton_gguf_value *list = baton_gguf_find(gguf, key);
    return list && list->is_array && list->type == BATON_GGUF_F32 && list->n <= MAX_LISTED
               ? (size_t)list->n
               : 0;
}

static size_t n_listed_in_all(const struct baton_gguf *gguf)
{
    size_t n = 0;
    for (int i = 0; i < N_LISTS; i++)
        n += n_listed(gguf, lists[i]);
    return n;
}

/* Adds each item as a tensor of its layer; there is memory for them. */
static void add_listed(struct baton_gguf *gguf, char *names)
{
    for (int i = 0; i < N_LISTS; i++)
        for (size_t k = 0; k < n_listed(gguf, lists[i]); k++) {
            struct baton_tensor *tensor = &gguf->tensors[gguf->n_tensors++];
            *tensor = (struct baton_tensor){.name = names,
                                            .dtype = BATON_ELEMENT_F32,
                                            .n_dims = 1,
                                            .shape = {1},
                                            .data = baton_gguf_find(gguf, lists[i])->data +
                                                    k * sizeof(float),
                                            .n_bytes = sizeof(float)};
            names += snprintf(names, MAX_NAME_BYTES + 1, "blk.%zu.%s", k, lists[i]) + 1;
            gguf->n_listed++;
        }
    qsort(gguf->tensors, gguf->n_tensors, sizeof gguf->tensors[0], by_name);
}

const struct baton_tensor *baton_gguf_find_tensor(const struct baton_gguf *gguf, const char *name)
{
    const struct baton_tensor wanted = {.name = name};
    return bsearch(&wanted, gguf->tensors, gguf->n_tensors, sizeof gguf->tensors[0], by_name);
}

enum baton_err baton_gguf_read_tensors(struct baton_gguf_reader *reader, const uint8_t *bytes,
                                       uint64_t n, struct baton_gguf *gguf)
{
    uint64_t alignment = 0;
    enum baton_err err = read_alignment(reader, gguf, &alignment);
    if (err)
        return err;
    size_t n_all = (size_t)n + n_listed_in_all(gguf);
    gguf->tensors = calloc(n_all + 1, sizeof gguf->tensors[0]);
    gguf->names = malloc(n_all * (MAX_NAME_BYTES + 1) + 1);
    struct listing *listings = calloc((size_t)n + 1, sizeof *listings);
    if (!gguf->tensors || !gguf->names || !listings)
        err = baton_fail(reader->why, BATON_NO_MEMORY, "tensors: out of memory");
    char *names = gguf->names;
    for (; !err && gguf->n_tensors < n; gguf->n_tensors++) {
        struct listing *listing = &listings[gguf->n_tensors];
        listing->names = names;
        err = read_tensor(reader, alignment, &gguf->tensors[gguf->n_tensors], listing);
        names = listing->names;
    }
    if (!err)
        err = begin_data(reader, bytes, alignment, gguf->n_tensors);
    if (!err)
        err = place(reader, listings, gguf);
    if (!err) {
        add_listed(gguf, names);
        err = check_names(reader, gguf);
    }
    free(listings);
    return err;
}
