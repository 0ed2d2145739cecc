/* Takes the calls of tools out of a text that comes in pieces.
 *
 *     text in --held while it may be a call--> text out, calls out, in the order of the text
 *
 * What looks like a call and is none comes out as text, every byte of it; so does a call that the
 * text's end cuts, and one of more than BATON_TOOL_CALL_MAX_BYTES. Only white space beside calls is
 * dropped. A call comes out once all of it is there.
 *
 * Ownership: the parser owns what it holds; a sink borrows during its call.
 * Threading: one owner at a time.
 * Errors:    without memory text is lost, as of any buffer.
 */
#ifndef BATON_TOOLCALL_PARSER_H
#define BATON_TOOLCALL_PARSER_H

#include <stdbool.h>

#include "common/base/buf.h"
#include "common/toolcall/format.h"

enum { BATON_TOOL_CALL_MAX_BYTES = 1 << 20, BATON_TOOL_NAME_MAX_BYTES = 256 };

/* Where the parts go. */
struct baton_tool_sink {
    void *user;
    void (*text)(void *user, const char *text, size_t n);
    /* arguments: a JSON object. */
    void (*call)(void *user, const char *name, size_t n_name, const char *arguments, size_t n);
};

struct baton_tool_parser {
    const struct baton_tool_format *format; /* NULL: everything is text */
    struct baton_buf held;
    bool in_call; /* held has a call's begin at call_at, and space before it */
    size_t call_at;
    bool begun; /* text came out */
    bool trims; /* no text since the start, or since a call */
    size_t scanned, value_begin;
    int depth;
    bool in_string, escaped, value_ended;
};

void baton_tool_parser_init(struct baton_tool_parser *parser,
                            const struct baton_tool_format *format);
void baton_tool_parser_fini(struct baton_tool_parser *parser);
/* Forgets every byte so far. */
void baton_tool_parser_restart(struct baton_tool_parser *parser);

void baton_tool_parser_push(struct baton_tool_parser *parser, const char *text, size_t n,
                            const struct baton_tool_sink *sink);
/* No more text comes. */
void baton_tool_parser_end(struct baton_tool_parser *parser, const struct baton_tool_sink *sink);

#endif
