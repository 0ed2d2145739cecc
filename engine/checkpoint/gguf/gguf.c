#include "engine/checkpoint/gguf/gguf.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "engine/checkpoint/gguf/reader.h"

/* Far more than any real file has. These limits bound the memory that a file of any size can
 * cost. */
enum { MAX_ENTRIES = 1 << 16, MAX_TENSORS = 1 << 20, MAX_KEY_BYTES = 65535 };
/* The smallest size of one of them in a file. A count that cannot fit is refused before memory is
 * allocated for it. */
enum { ENTRY_BYTES = 8 + 1 + 4 + 1, TENSOR_BYTES = 8 + 4 + 4 + 8 };

static const uint8_t magic[4] = {'G', 'G', 'U', 'F'};

static const size_t type_bytes[BATON_N_GGUF_TYPES] = {
    [BATON_GGUF_U8] = 1,  [BATON_GGUF_I8] = 1,  [BATON_GGUF_U16] = 2, [BATON_GGUF_I16] = 2,
    [BATON_GGUF_U32] = 4, [BATON_GGUF_I32] = 4, [BATON_GGUF_F32] = 4, [BATON_GGUF_BOOL] = 1,
    [BATON_GGUF_U64] = 8, [BATON_GGUF_I64] = 8, [BATON_GGUF_F64] = 8,
};

/* ---- head ---- */

struct head {
    uint64_t n_tensors, n_entries;
};

static enum baton_err check_version(const struct baton_gguf_reader *reader, uint32_t version)
{
    if (version == 2 || version == 3)
        return BATON_OK;
    if (version && !(version & 0xffff)) /* a big-endian 3 reads as 0x03000000 */
        return baton_fail(reader->why, BATON_INVALID,
                          "numbers are big-endian, which is not supported");
    return baton_fail(reader->why, BATON_INVALID, "version: must be 2 or 3, not %" PRIu32, version);
}

static enum baton_err check_count(const struct baton_gguf_reader *reader, const char *what,
                                  uint64_t n, uint64_t max, size_t least_bytes)
{
    if (n > gguf_n_left(reader) / least_bytes)
        return baton_fail(reader->why, BATON_CORRUPT,
                          "%s: %" PRIu64 " do not fit in the file's %zu bytes", what, n,
                          gguf_n_left(reader));
    if (n > max)
        return baton_fail(reader->why, BATON_LIMIT, "%s: must be at most %" PRIu64 ", not %" PRIu64,
                          what, max, n);
    return BATON_OK;
}

static enum baton_err read_head(struct baton_gguf_reader *reader, struct head *head)
{
    uint32_t version;
    if (gguf_n_left(reader) < sizeof magic || memcmp(reader->next, magic, sizeof magic) != 0)
        return baton_fail(reader->why, BATON_INVALID, "does not begin with \"GGUF\"");
    reader->next += sizeof magic;
    if (!gguf_read_u32(reader, &version))
        return gguf_fail_short(reader, "version");
    enum baton_err err = check_version(reader, version);
    if (err)
        return err;
    if (!gguf_read_number(reader, 8, &head->n_tensors) ||
        !gguf_read_number(reader, 8, &head->n_entries))
        return gguf_fail_short(reader, "counts");
    err = check_count(reader, "tensors", head->n_tensors, MAX_TENSORS, TENSOR_BYTES);
    if (!err)
        err = check_count(reader, "metadata entries", head->n_entries, MAX_ENTRIES, ENTRY_BYTES);
    return err;
}

/* ---- entries ---- */

static bool skip_texts(struct baton_gguf_reader *reader, uint64_t n)
{
    struct baton_gguf_text text;
    while (n && gguf_read_text(reader, &text))
        n--;
    return !n;
}

static enum baton_err read_items(struct baton_gguf_reader *reader, struct baton_gguf_entry *entry)
{
    struct baton_gguf_value *value = &entry->value;
    uint64_t n_bytes;
    value->data = reader->next;
    bool whole = value->type == BATON_GGUF_TEXT
                     ? skip_texts(reader, value->n)
                     : !__builtin_mul_overflow(value->n, type_bytes[value->type], &n_bytes) &&
                           gguf_skip(reader, n_bytes);
    value->n_bytes = (size_t)(reader->next - value->data);
    if (whole)
        return BATON_OK;
    return baton_fail(reader->why, BATON_CORRUPT, "%.*s: runs past the end of the file",
                      BATON_GGUF_SHOWN(entry->key));
}

static enum baton_err read_type(struct baton_gguf_reader *reader, struct baton_gguf_entry *entry)
{
    struct baton_gguf_value *value = &entry->value;
    uint32_t type;
    *value = (struct baton_gguf_value){.n = 1};
    if (!gguf_read_u32(reader, &type))
        return gguf_fail_short(reader, "metadata");
    if (type == BATON_GGUF_ARRAY) {
        value->is_array = true;
        if (!gguf_read_u32(reader, &type) || !gguf_read_number(reader, 8, &value->n))
            return gguf_fail_short(reader, "metadata");
    }
    if (type >= BATON_N_GGUF_TYPES || type == BATON_GGUF_ARRAY)
        return baton_fail(reader->why, BATON_INVALID, "%.*s: type %" PRIu32 "%s is not supported",
                          BATON_GGUF_SHOWN(entry->key), type,
                          value->is_array ? " of an array's items" : "");
    value->type = (enum baton_gguf_type)type;
    return BATON_OK;
}

static enum baton_err read_entry(struct baton_gguf_reader *reader, struct baton_gguf_entry *entry)
{
    if (!gguf_read_text(reader, &entry->key))
        return gguf_fail_short(reader, "metadata");
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

int baton_gguf_by_key(const void *a, const void *b)
{
    const struct baton_gguf_entry *x = a, *y = b;
    return compare(x->key, y->key);
}

static enum baton_err read_entries(struct baton_gguf_reader *reader, uint64_t n,
                                   struct baton_gguf *gguf)
{
    enum baton_err err = BATON_OK;
    /* One more, because calloc of 0 bytes may return NULL. */
    gguf->entries = calloc((size_t)n + 1, sizeof gguf->entries[0]);
    if (!gguf->entries)
        return baton_fail(reader->why, BATON_NO_MEMORY, "metadata: out of memory");
    for (; gguf->n_entries < n && !err; gguf->n_entries++)
        err = read_entry(reader, &gguf->entries[gguf->n_entries]);
    if (err)
        return err;
    qsort(gguf->entries, gguf->n_entries, sizeof gguf->entries[0], baton_gguf_by_key);
    for (size_t i = 1; i < gguf->n_entries; i++)
        if (!compare(gguf->entries[i - 1].key, gguf->entries[i].key))
            return baton_fail(reader->why, BATON_CORRUPT, "%.*s: appears twice",
                              BATON_GGUF_SHOWN(gguf->entries[i].key));
    return BATON_OK;
}

enum baton_err baton_gguf_parse(const uint8_t *bytes, size_t n_bytes, struct baton_gguf *gguf,
                                struct baton_why *why)
{
    struct baton_gguf read = {0};
    struct head head = {0};
    if (!n_bytes)
        return baton_fail(why, BATON_INVALID, "is empty");
    struct baton_gguf_reader reader = {.next = bytes, .end = bytes + n_bytes, .why = why};
    enum baton_err err = read_head(&reader, &head);
    if (!err)
        err = read_entries(&reader, head.n_entries, &read);
    if (!err)
        err = baton_gguf_read_tensors(&reader, bytes, head.n_tensors, &read);
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
