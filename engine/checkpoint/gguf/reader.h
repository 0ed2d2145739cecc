/* Reads a GGUF file forward, within its bounds; private to gguf.c, tensors.c and value.c.
 *
 * Ownership: results are borrowed from the file.
 * Threading: one owner.
 * Errors:    false where the file ends too early; the reader does not move then.
 */
#ifndef BATON_ENGINE_CHECKPOINT_GGUF_READER_H
#define BATON_ENGINE_CHECKPOINT_GGUF_READER_H

#include "engine/checkpoint/gguf/gguf.h"

struct baton_gguf_reader {
    const uint8_t *next, *end;
    struct baton_why *why;
};

/* Reads a little-endian number of n bytes. */
static inline uint64_t gguf_number_at(const uint8_t *bytes, size_t n)
{
    uint64_t number = 0;
    while (n--)
        number = number << 8 | bytes[n];
    return number;
}

static inline size_t gguf_n_left(const struct baton_gguf_reader *reader)
{
    return (size_t)(reader->end - reader->next);
}

static inline bool gguf_read_number(struct baton_gguf_reader *reader, size_t n_bytes,
                                    uint64_t *number)
{
    if (gguf_n_left(reader) < n_bytes)
        return false;
    *number = gguf_number_at(reader->next, n_bytes);
    reader->next += n_bytes;
    return true;
}

static inline bool gguf_read_u32(struct baton_gguf_reader *reader, uint32_t *number)
{
    uint64_t wide;
    if (!gguf_read_number(reader, sizeof *number, &wide))
        return false;
    *number = (uint32_t)wide;
    return true;
}

static inline bool gguf_skip(struct baton_gguf_reader *reader, uint64_t n_bytes)
{
    if (gguf_n_left(reader) < n_bytes)
        return false;
    reader->next += n_bytes;
    return true;
}

static inline bool gguf_read_text(struct baton_gguf_reader *reader, struct baton_gguf_text *text)
{
    uint64_t n;
    if (!gguf_read_number(reader, sizeof n, &n) || gguf_n_left(reader) < n)
        return false;
    *text = (struct baton_gguf_text){(const char *)reader->next, (size_t)n};
    reader->next += n;
    return true;
}

/* Returns CORRUPT: the file ends within what. */
static inline enum baton_err gguf_fail_short(const struct baton_gguf_reader *reader,
                                             const char *what)
{
    return baton_fail(reader->why, BATON_CORRUPT, "%s: runs past the end of the file", what);
}

/* Reads the list of n tensors, which follows the entries, into gguf's empty list. The file begins
 * at bytes. */
enum baton_err baton_gguf_read_tensors(struct baton_gguf_reader *reader, const uint8_t *bytes,
                                       uint64_t n, struct baton_gguf *gguf) BATON_MUST_CHECK;

/* Orders entries by key, for qsort and bsearch. */
int baton_gguf_by_key(const void *a, const void *b);

/* A name for %.*s in messages, cut where it is long. */
enum { BATON_GGUF_SHOWN_BYTES = 64 };
#define BATON_GGUF_SHOWN(text)                                                                     \
    (int)((text).n < BATON_GGUF_SHOWN_BYTES ? (text).n : BATON_GGUF_SHOWN_BYTES), (text).bytes

#endif
