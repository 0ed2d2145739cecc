/* A growable byte buffer with a maximum that is set at its creation.
 *
 * Invariants: data[len] == 0 whenever data is not NULL; len < cap <= max + 1. After the first
 * failure (maximum exceeded, no memory) later appends do nothing, so a writer checks once, at the
 * end.
 *
 * Ownership: the struct is embedded; the bytes belong to it until baton_buf_take.
 * Threading: none; one owner at a time.
 * Errors:    baton_buf_err: OK, LIMIT (the maximum) or NO_MEMORY.
 */
#ifndef BATON_COMMON_BASE_BUF_H
#define BATON_COMMON_BASE_BUF_H

#include <stddef.h>

#include "common/base/error.h"

struct baton_buf {
    char *data;
    size_t len, cap, max_bytes;
    enum baton_err err;
};

void baton_buf_init(struct baton_buf *buf, size_t max_bytes);
void baton_buf_fini(struct baton_buf *buf);

/* Empties the buffer and clears a failure; keeps the memory. */
void baton_buf_reset(struct baton_buf *buf);

void baton_buf_append(struct baton_buf *buf, const void *bytes, size_t n);
void baton_buf_puts(struct baton_buf *buf, const char *text);
void baton_buf_putc(struct baton_buf *buf, char c);
void baton_buf_printf(struct baton_buf *buf, const char *fmt, ...) BATON_PRINTF(2, 3);

/* Drops the first n bytes (n <= len). */
void baton_buf_consume(struct baton_buf *buf, size_t n);

/* Moves the bytes (NUL-terminated, to be freed with free) to the caller and empties the buffer.
 * NULL when nothing was ever appended. */
char *baton_buf_take(struct baton_buf *buf);

/* Returns the content as a C string, "" when empty. Borrowed until the next call that changes the
 * buffer. */
const char *baton_buf_text(const struct baton_buf *buf);

static inline enum baton_err baton_buf_err(const struct baton_buf *buf)
{
    return buf->err;
}

#endif
