/* Takes reasoning and the calls of tools out of an answer that comes in pieces.
 *
 *     answer --reasoning.h--> reasoning out
 *                 \--the rest, held while it may be a call--> text out, calls out, in its order
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
#include "common/toolcall/reasoning.h"

enum { BATON_TOOL_CALL_MAX_BYTES = 1 << 20, BATON_TOOL_NAME_MAX_BYTES = 256 };

/* How an answer is written. */
struct baton_answer_form {
    const struct baton_tool_format *tools;          /* NULL: calls are text */
    const struct baton_reasoning_format *reasoning; /* NULL: reasoning is text */
    bool opens_reasoning;                           /* the prompt did */
};

/* Where the parts go. */
struct baton_tool_sink {
    void *user;
    void (*text)(void *user, const char *text, size_t n);
    /* Comes before everything else, in pieces; NULL only for a form without. */
    void (*reasoning)(void *user, const char *text, size_t n);
    /* arguments: a JSON object. */
    void (*call)(void *user, const char *name, size_t n_name, const char *arguments, size_t n);
};

struct baton_tool_parser {
    struct baton_reasoning_parser reasoning;
    const struct baton_tool_format *format; /* NULL: the rest is text */
    struct baton_buf held;
    bool in_call; /* held has a call's begin at call_at, and space before it */
    size_t call_at;
    bool begun; /* text came out */
    bool trims; /* no text since the start, or since a call */
    size_t scanned, value_begin;
    int depth;
    bool in_string, escaped, value_ended;
};

void baton_tool_parser_init(struct baton_tool_parser *parser, const struct baton_answer_form *form);
void baton_tool_parser_fini(struct baton_tool_parser *parser);
/* Forgets every byte so far. */
void baton_tool_parser_restart(struct baton_tool_parser *parser);

void baton_tool_parser_push(struct baton_tool_parser *parser, const char *text, size_t n,
                            const struct baton_tool_sink *sink);
/* Whether the next byte belongs to reasoning, as far as is known. */
bool baton_tool_parser_in_reasoning(const struct baton_tool_parser *parser);
/* No more text comes. */
void baton_tool_parser_end(struct baton_tool_parser *parser, const struct baton_tool_sink *sink);

#endif
