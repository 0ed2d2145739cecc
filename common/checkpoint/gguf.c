#include "common/checkpoint/gguf.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/checkpoint/tensor.h"

/* Far more than any file has: they bound what a file of any size can cost in memory. */
enum { MAX_ENTRIES = 1 << 16, MAX_TENSORS = 1 << 20, MAX_ALIGNMENT = 1 << 20 };
/* ggml knows four dimensions and names of 63 bytes; converters once wrote 64. */
enum { MAX_DIMS = 4, MAX_NAME_BYTES = 64, MAX_KEY_BYTES = 65535, SHOWN_BYTES = 64 };
/* The least that one of them takes in a file. */
enum { ENTRY_BYTES = 8 + 1 + 4 + 1, TENSOR_BYTES = 8 + 4 + 4 + 8 };

static const uint8_t magic[4] = {'G', 'G', 'U', 'F'};

static const size_t type_bytes[BATON_N_GGUF_TYPES] = {
    [BATON_GGUF_U8] = 1,  [BATON_GGUF_I8] = 1,  [BATON_GGUF_U16] = 2, [BATON_GGUF_I16] = 2,
    [BATON_GGUF_U32] = 4, [BATON_GGUF_I32] = 4, [BATON_GGUF_F32] = 4, [BATON_GGUF_BOOL] = 1,
    [BATON_GGUF_U64] = 8, [BATON_GGUF_I64] = 8, [BATON_GGUF_F64] = 8,
};

/* ---- reading forward ---- */

struct reader {
    const uint8_t *next, *end;
    struct baton_why *why;
};

static uint64_t number_at(const uint8_t *bytes, size_t n)
{
    uint64_t number = 0;
    while (n--)
        number = number << 8 | bytes[n];
    return number;
}

static size_t n_left(const struct reader *reader)
{
    return (size_t)(reader->end - reader->next);
}

static bool read_number(struct reader *reader, size_t n_bytes, uint64_t *number)
{
    if (n_left(reader) < n_bytes)
        return false;
    *number = number_at(reader->next, n_bytes);
    reader->next += n_bytes;
    return true;
}

static bool read_u32(struct reader *reader, uint32_t *number)
{
    uint64_t wide;
    if (!read_number(reader, sizeof *number, &wide))
        return false;
    *number = (uint32_t)wide;
    return true;
}

static bool skip(struct reader *reader, uint64_t n_bytes)
{
    if (n_left(reader) < n_bytes)
        return false;
    reader->next += n_bytes;
    return true;
}

static bool read_text(struct reader *reader, struct baton_gguf_text *text)
{
    uint64_t n;
    if (!read_number(reader, sizeof n, &n) || n_left(reader) < n)
        return false;
    *text = (struct baton_gguf_text){(const char *)reader->next, (size_t)n};
    reader->next += n;
    return true;
}

static enum baton_err fail_short(const struct reader *reader, const char *what)
{
    return baton_fail(reader->why, BATON_CORRUPT, "%s: runs past the end of the file", what);
}

/* ---- head ---- */

struct head {
    uint64_t n_tensors, n_entries;
};

static enum baton_err check_version(const struct reader *reader, uint32_t version)
{
    if (version == 2 || version == 3)
        return BATON_OK;
    if (version && !(version & 0xffff)) /* 3 is 0x03000000 then */
        return baton_fail(reader->why, BATON_INVALID,
                          "numbers are big-endian, which is not supported");
    return baton_fail(reader->why, BATON_INVALID, "version: must be 2 or 3, not %" PRIu32, version);
}

static enum baton_err check_count(const struct reader *reader, const char *what, uint64_t n,
                                  uint64_t max, size_t least_bytes)
{
    if (n > n_left(reader) / least_bytes)
        return baton_fail(reader->why, BATON_CORRUPT,
                          "%s: %" PRIu64 " do not fit in the file's %zu bytes", what, n,
                          n_left(reader));
    if (n > max)
        return baton_fail(reader->why, BATON_LIMIT, "%s: must be at most %" PRIu64 ", not %" PRIu64,
                          what, max, n);
    return BATON_OK;
}

static enum baton_err read_head(struct reader *reader, struct head *head)
{
    uint32_t version;
    if (n_left(reader) < sizeof magic || memcmp(reader->next, magic, sizeof magic) != 0)
        return baton_fail(reader->why, BATON_INVALID, "does not begin with \"GGUF\"");
    reader->next += sizeof magic;
    if (!read_u32(reader, &version))
        return fail_short(reader, "version");
    enum baton_err err = check_version(reader, version);
    if (err)
        return err;
    if (!read_number(reader, 8, &head->n_tensors) || !read_number(reader, 8, &head->n_entries))
        return fail_short(reader, "counts");
    err = check_count(reader, "tensors", head->n_tensors, MAX_TENSORS, TENSOR_BYTES);
    if (!err)
        err = check_count(reader, "metadata entries", head->n_entries, MAX_ENTRIES, ENTRY_BYTES);
    return err;
}

/* ---- entries ---- */

#define SHOWN(text) (int)((text).n < SHOWN_BYTES ? (text).n : SHOWN_BYTES), (text).bytes

static bool skip_texts(struct reader *reader, uint64_t n)
{
    struct baton_gguf_text text;
    while (n && read_text(reader, &text))
        n--;
    return !n;
}

static enum baton_err read_items(struct reader *reader, struct baton_gguf_entry *entry)
{
    struct baton_gguf_value *value = &entry->value;
    uint64_t n_bytes;
    value->data = reader->next;
    bool whole = value->type == BATON_GGUF_TEXT
                     ? skip_texts(reader, value->n)
                     : !__builtin_mul_overflow(value->n, type_bytes[value->type], &n_bytes) &&
                           skip(reader, n_bytes);
    value->n_bytes = (size_t)(reader->next - value->data);
    if (whole)
        return BATON_OK;
    return baton_fail(reader->why, BATON_CORRUPT, "%.*s: runs past the end of the file",
                      SHOWN(entry->key));
}

static enum baton_err read_type(struct reader *reader, struct baton_gguf_entry *entry)
{
    struct baton_gguf_value *value = &entry->value;
    uint32_t type;
    *value = (struct baton_gguf_value){.n = 1};
    if (!read_u32(reader, &type))
        return fail_short(reader, "metadata");
    if (type == BATON_GGUF_ARRAY) {
        value->is_array = true;
        if (!read_u32(reader, &type) || !read_number(reader, 8, &value->n))
            return fail_short(reader, "metadata");
    }
    if (type >= BATON_N_GGUF_TYPES || type == BATON_GGUF_ARRAY)
        return baton_fail(reader->why, BATON_INVALID, "%.*s: type %" PRIu32 "%s is not supported",
                          SHOWN(entry->key), type, value->is_array ? " of an array's items" : "");
    value->type = (enum baton_gguf_type)type;
    return BATON_OK;
}

static enum baton_err read_entry(struct reader *reader, struct baton_gguf_entry *entry)
{
    if (!read_text(reader, &entry->key))
        return fail_short(reader, "metadata");
    if (!entry->key.n || entry->key.n > MAX_KEY_BYTES)
        return baton_fail(reader->why, BATON_CORRUPT,
                          "metadata: a key must have 1 to %d bytes, not %zu", MAX_KEY_BYTES,
                          entry->key.n);
    enum baton_err err = read_type(reader, entry);
    return err ? err : read_items(reader, entry);
}

static int compare(struct baton_gguf_text a, struct baton_gguf_text b)
{
    int order = memcmp(a.bytes, b.bytes, a.n < b.n ? a.n : b.n);
    return order ? order : (a.n > b.n) - (a.n < b.n);
}

static int by_key(const void *a, const void *b)
{
    const struct baton_gguf_entry *x = a, *y = b;
    return compare(x->key, y->key);
}

static enum baton_err read_entries(struct reader *reader, uint64_t n, struct baton_gguf *gguf)
{
    enum baton_err err = BATON_OK;
    gguf->entries = calloc((size_t)n + 1, sizeof gguf->entries[0]);
    if (!gguf->entries)
        return baton_fail(reader->why, BATON_NO_MEMORY, "metadata: out of memory");
    for (; gguf->n_entries < n && !err; gguf->n_entries++)
        err = read_entry(reader, &gguf->entries[gguf->n_entries]);
    if (err)
        return err;
    qsort(gguf->entries, gguf->n_entries, sizeof gguf->entries[0], by_key);
    for (size_t i = 1; i < gguf->n_entries; i++)
        if (!compare(gguf->entries[i - 1].key, gguf->entries[i].key))
            return baton_fail(reader->why, BATON_CORRUPT, "%.*s: is there twice",
                              SHOWN(gguf->entries[i].key));
    return BATON_OK;
}

static enum baton_err read_alignment(const struct reader *reader, const struct baton_gguf *gguf,
                                     uint64_t *alignment)
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

/* ---- tensors ---- */

/* What stands behind a tensor's list entry: names follow each other in *names, each with a zero. */
struct listing {
    char *names;
    uint64_t offset; /* from the beginning of data */
};

static enum baton_err read_name(struct reader *reader, struct baton_tensor *tensor, char **names)
{
    struct baton_gguf_text name;
    if (!read_text(reader, &name))
        return fail_short(reader, "tensors");
    if (!name.n || name.n > MAX_NAME_BYTES || memchr(name.bytes, 0, name.n))
        return baton_fail(reader->why, BATON_CORRUPT,
                          "tensor %.*s: a name must have 1 to %d bytes, none of them zero",
                          SHOWN(name), MAX_NAME_BYTES);
    memcpy(*names, name.bytes, name.n);
    (*names)[name.n] = 0;
    tensor->name = *names;
    *names += name.n + 1;
    return BATON_OK;
}

/* Lengths stand the fastest first; a shape has it last. */
static enum baton_err read_shape(struct reader *reader, struct baton_tensor *tensor)
{
    uint32_t n_dims;
    uint64_t length, n = 1;
    if (!read_u32(reader, &n_dims))
        return fail_short(reader, tensor->name);
    if (n_dims < 1 || n_dims > MAX_DIMS)
        return baton_fail(reader->why, BATON_CORRUPT,
                          "tensor %s: must have 1 to %d dimensions, not %" PRIu32, tensor->name,
                          MAX_DIMS, n_dims);
    tensor->n_dims = (int)n_dims;
    for (int i = tensor->n_dims; i-- > 0;) {
        if (!read_number(reader, sizeof length, &length))
            return fail_short(reader, tensor->name);
        if (length < 1 || length > INT64_MAX || __builtin_mul_overflow(n, length, &n) ||
            n > INT64_MAX)
            return baton_fail(reader->why, BATON_CORRUPT,
                              "tensor %s: a length of %" PRIu64 " is not possible", tensor->name,
                              length);
        tensor->shape[i] = (int64_t)length;
    }
    return BATON_OK;
}

/* Its type and how many bytes that makes. */
static enum baton_err read_blocks(struct reader *reader, struct baton_tensor *tensor)
{
    struct baton_why reason;
    uint32_t id;
    if (!read_u32(reader, &id))
        return fail_short(reader, tensor->name);
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
        n *= (uint64_t)tensor->shape[i]; /* read_shape saw to it that all of them fit */
    if (__builtin_mul_overflow(n, baton_block_bytes(tensor->block_type), &tensor->n_bytes))
        return baton_fail(reader->why, BATON_CORRUPT, "tensor %s: size overflows", tensor->name);
    return BATON_OK;
}

static enum baton_err read_tensor(struct reader *reader, uint64_t alignment,
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
    if (!read_number(reader, sizeof listing->offset, &listing->offset))
        return fail_short(reader, tensor->name);
    if (listing->offset % alignment)
        return baton_fail(reader->why, BATON_CORRUPT,
                          "tensor %s: offset %" PRIu64
                          " is no multiple of general.alignment %" PRIu64,
                          tensor->name, listing->offset, alignment);
    return BATON_OK;
}

/* Where data begins and how much there is, behind the last tensor's entry. */
static enum baton_err begin_data(struct reader *reader, const uint8_t *bytes, uint64_t alignment,
                                 size_t n_tensors)
{
    uint64_t n_head = (uint64_t)(reader->next - bytes);
    uint64_t padding = (alignment - n_head % alignment) % alignment;
    if (skip(reader, padding))
        return BATON_OK;
    reader->next = reader->end;
    return n_tensors ? fail_short(reader, "padding before the tensors' data") : BATON_OK;
}

static int by_data(const void *a, const void *b)
{
    const struct baton_tensor *x = a, *y = b;
    return (x->data > y->data) - (x->data < y->data);
}

static enum baton_err check_apart(const struct reader *reader, const struct baton_gguf *gguf)
{
    for (size_t i = 1; i < gguf->n_tensors; i++) {
        const struct baton_tensor *tensor = &gguf->tensors[i - 1];
        if (tensor->data + tensor->n_bytes > tensor[1].data)
            return baton_fail(reader->why, BATON_CORRUPT, "tensor %s: data overlaps that of %s",
                              tensor->name, tensor[1].name);
    }
    return BATON_OK;
}

static int by_name(const void *a, const void *b)
{
    const char *const *x = a, *const *y = b;
    return strcmp(*x, *y);
}

static enum baton_err check_names(const struct reader *reader, const struct baton_gguf *gguf)
{
    const char **names = calloc(gguf->n_tensors + 1, sizeof *names);
    enum baton_err err = BATON_OK;
    if (!names)
        return baton_fail(reader->why, BATON_NO_MEMORY, "tensors: out of memory");
    for (size_t i = 0; i < gguf->n_tensors; i++)
        names[i] = gguf->tensors[i].name;
    qsort(names, gguf->n_tensors, sizeof *names, by_name);
    for (size_t i = 1; i < gguf->n_tensors && !err; i++)
        if (!strcmp(names[i - 1], names[i]))
            err = baton_fail(reader->why, BATON_CORRUPT, "tensor %s: is there twice", names[i]);
    free(names);
    return err;
}

/* reader stands at the data. */
static enum baton_err place(const struct reader *reader, const struct listing *listings,
                            struct baton_gguf *gguf)
{
    for (size_t i = 0; i < gguf->n_tensors; i++) {
        struct baton_tensor *tensor = &gguf->tensors[i];
        uint64_t offset = listings[i].offset;
        if (offset > n_left(reader) || tensor->n_bytes > n_left(reader) - offset)
            return baton_fail(reader->why, BATON_CORRUPT,
                              "tensor %s: %zu bytes at offset %" PRIu64 " run past the end of the "
                              "file, whose data has %zu",
                              tensor->name, tensor->n_bytes, offset, n_left(reader));
        tensor->data = reader->next + offset;
    }
    qsort(gguf->tensors, gguf->n_tensors, sizeof gguf->tensors[0], by_data);
    enum baton_err err = check_apart(reader, gguf);
    return err ? err : check_names(reader, gguf);
}

static enum baton_err read_tensors(struct reader *reader, const uint8_t *bytes, uint64_t n,
                                   struct baton_gguf *gguf)
{
    uint64_t alignment = 0;
    enum baton_err err = read_alignment(reader, gguf, &alignment);
    if (err)
        return err;
    gguf->tensors = calloc((size_t)n + 1, sizeof gguf->tensors[0]);
    gguf->names = malloc((size_t)n * (MAX_NAME_BYTES + 1) + 1);
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
    free(listings);
    return err;
}

enum baton_err baton_gguf_parse(const uint8_t *bytes, size_t n_bytes, struct baton_gguf *gguf,
                                struct baton_why *why)
{
    struct baton_gguf read = {0};
    struct head head = {0};
    if (!n_bytes)
        return baton_fail(why, BATON_INVALID, "is empty");
    struct reader reader = {.next = bytes, .end = bytes + n_bytes, .why = why};
    enum baton_err err = read_head(&reader, &head);
    if (!err)
        err = read_entries(&reader, head.n_entries, &read);
    if (!err)
        err = read_tensors(&reader, bytes, head.n_tensors, &read);
    if (err)
        baton_gguf_fini(&read);
    else
        *gguf = read;
    return err;
}

void baton_gguf_fini(struct baton_gguf *gguf)
{
    free(gguf->entries);
    free(gguf->tensors);
    free(gguf->names);
    *gguf = (struct baton_gguf){0};
}
