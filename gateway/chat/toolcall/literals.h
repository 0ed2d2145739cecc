/* Rewrites the arguments of a call in Python's or Gemma's literals as JSON, while they arrive.
 *
 *     (a=1, b="x", c=[True, None])      {"a":1,"b":"x","c":[true,null]}
 *     {a:1,b:<|"|>x<|"|>,c:[true]}      the same, of Gemma
 *
 * The JSON is as arguments.h reads it, which gives it its final form.
 *
 * Ownership: plain data, zeroed at the start; texts are borrowed during a call.
 * Threading: one owner at a time.
 * Errors:    push: is_wrong, the text is none of these.
 */
#ifndef BATON_GATEWAY_CHAT_TOOLCALL_LITERALS_H
#define BATON_GATEWAY_CHAT_TOOLCALL_LITERALS_H

#include <stdbool.h>

#include "common/base/buf.h"

enum { BATON_LITERALS_MAX_DEPTH = 64 };

struct baton_literals {
    bool is_gemma, is_wrong, is_over;
    enum {
        BATON_LITERALS_BEGIN,
        BATON_LITERALS_KEY,
        BATON_LITERALS_COLON,
        BATON_LITERALS_VALUE,
        BATON_LITERALS_BEHIND
    } expects;
    bool has_comma; /* before the next element; a last one is allowed, and left out */
    char quote;     /* of the open string; 'G': Gemma's mark; 0: none is open */
    bool is_key;    /* the open string is a key */
    int depth;
    char ends[BATON_LITERALS_MAX_DEPTH]; /* of the open brackets */
};

/* Appends what the next bytes add to out, and returns how many were read: bytes that more bytes
 * decide are not. */
size_t baton_literals_push(struct baton_literals *literals, const char *text, size_t n,
                           struct baton_buf *out);

#endif
