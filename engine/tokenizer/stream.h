/* Text that is shown token by token: whole UTF-8 characters only, and nothing after a stop string.
 *
 * The bytes of tokens go in. The longest prefix that can be shown comes out: an incomplete
 * character waits for its rest, and bytes that may begin a stop string wait until that is decided.
 * Bad bytes become U+FFFD: one for each part of a character, as with Python's errors="replace", or
 * one for each byte. The first stop string to be complete ends the text; of several that are
 * complete at the same byte, the longest counts. A line after the first one that is indented less
 * than min_indent ends the text too.
 *
 * Ownership: the stream owns the waiting bytes and copies of the stop strings.
 * Threading: one owner at a time.
 * Errors:    init: INVALID (an empty stop string, or one that is not UTF-8), LIMIT (too many or too
 *            long ones), NO_MEMORY. push, end: the out buffer's.
 */
#ifndef BATON_ENGINE_TOKENIZER_STREAM_H
#define BATON_ENGINE_TOKENIZER_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/buf.h"

enum { BATON_STOP_MAX = 16, BATON_STOP_MAX_BYTES = 256 };

/* A stop string and how much of it the text ends with (borders: see stream.c). */
struct baton_text_stop {
    char *text;
    uint16_t *borders;
    size_t n_bytes, n_matched;
};

struct baton_text_stream {
    struct baton_buf held; /* the end of the text that may begin a stop string */
    char begun[4];         /* an incomplete character */
    size_t n_begun;
    struct baton_text_stop *stops; /* [n_stops] */
    int n_stops;
    bool stopped;
    /* Spaces and tabs that each line after the first must begin with; 0: any; may be set before the
     * first byte. */
    uint32_t min_indent;
    uint32_t n_indent; /* of the line so far, while it has nothing else */
    bool in_indent;    /* only spaces and tabs followed the last newline */
    bool each_byte;    /* one U+FFFD for each bad byte; may be set at any time */
};

/* Creates a stream. stops[i] has stop_bytes[i] bytes; n_stops may be 0. */
enum baton_err baton_text_stream_init(struct baton_text_stream *stream, const char *const *stops,
                                      const size_t *stop_bytes, int n_stops) BATON_MUST_CHECK;
/* Frees the stop strings and the held text. */
void baton_text_stream_fini(struct baton_text_stream *stream);

/* Drops every byte so far; the stop strings stay. */
void baton_text_stream_restart(struct baton_text_stream *stream);

/* Adds n bytes and appends to out the text that may be shown. After a stop string is met or a line
 * is indented too little, stopped is true, out holds the text before it, and later bytes are
 * dropped. */
void baton_text_stream_push(struct baton_text_stream *stream, const char *bytes, size_t n,
                            struct baton_buf *out);

/* Returns the stop string that ended the text, borrowed; NULL when none did. */
const struct baton_text_stop *baton_text_stream_met(const struct baton_text_stream *stream);

/* Ends the text: appends the held text (an incomplete character as U+FFFD). */
void baton_text_stream_end(struct baton_text_stream *stream, struct baton_buf *out);

#endif
