/* Matching of bytes that arrive in pieces; private to gateway/chat/toolcall.
 *
 * Ownership: everything is borrowed.
 * Threading: pure.
 * Errors:    none.
 */
#ifndef BATON_GATEWAY_CHAT_TOOLCALL_BYTES_H
#define BATON_GATEWAY_CHAT_TOOLCALL_BYTES_H

#include <stdbool.h>
#include <string.h>

#include "common/base/buf.h"

/* The maximum of white space that waits, to be dropped if a call follows. */
enum { BATON_TOOL_SPACE_MAX_BYTES = 4096 };

/* MORE: it matches so far, and the next bytes decide. */
enum baton_verdict { BATON_MORE, BATON_NO, BATON_YES };

static inline bool baton_bytes_have(const char *bytes, size_t n, const char *text)
{
    return memmem(bytes, n, text, strlen(text)) != NULL;
}

static inline bool baton_is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/* Returns the end of the white space at at. */
static inline size_t baton_skip_space(const struct baton_buf *held, size_t at)
{
    while (at < held->len && baton_is_space(held->data[at]))
        at++;
    return at;
}

/* Compares the bytes at at with text; MORE: they match as far as they go. */
static inline enum baton_verdict baton_begins_with(const struct baton_buf *held, size_t at,
                                                   const char *text)
{
    size_t n = strlen(text), left = held->len - at;
    if (left && memcmp(held->data + at, text, left < n ? left : n) != 0)
        return BATON_NO;
    return left < n ? BATON_MORE : BATON_YES;
}

/* Returns how many bytes at the end may begin text. */
static inline size_t baton_n_maybe_begin(const struct baton_buf *held, const char *text)
{
    size_t n = strlen(text) - 1;
    for (n = n < held->len ? n : held->len; n; n--)
        if (!memcmp(held->data + held->len - n, text, n))
            return n;
    return 0;
}

#endif
