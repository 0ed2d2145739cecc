/* Separates reasoning and tool calls from an answer that arrives in pieces.
 *
 *     answer --reasoning.h--> reasoning out
 *                 \--the rest, held while it may be a call--> text out, calls out, in its order
 *     answer --channels.h---> all three, of models that write channels
 *
 * Text that looks like a call but is none is passed on unchanged; so is a call that the end of the
 * text cuts off, and one of more than BATON_TOOL_CALL_MAX_BYTES. Only white space beside calls and
 * the markers around them are dropped. A call is passed on when it is complete, or in pieces
 * (teller.h); of one in pieces that the end of the text cuts off, the pieces so far are passed on.
 *
 * Ownership: the parser owns what it holds; a sink borrows during its call.
 * Threading: one owner at a time.
 * Errors:    without memory text is lost, as in any buffer.
 */
#ifndef BATON_GATEWAY_CHAT_TOOLCALL_PARSER_H
#define BATON_GATEWAY_CHAT_TOOLCALL_PARSER_H

#include <stdbool.h>

#include "common/base/buf.h"
#include "gateway/chat/toolcall/channels.h"
#include "gateway/chat/toolcall/format.h"
#include "gateway/chat/toolcall/reasoning.h"
#include "gateway/chat/toolcall/teller.h"

struct baton_json;

/* The form of an answer. */
struct baton_answer_form {
    const struct baton_tool_format *tools;          /* NULL: calls are text */
    const struct baton_reasoning_format *reasoning; /* NULL: reasoning is text */
    bool opens_reasoning;                           /* by the prompt */
    bool skips_reasoning;    /* the prompt has closed it, or the client does not want it */
    bool unwanted_reasoning; /* the client does not want it, and the prompt has not closed it */
    const char *behind_reasoning;       /* white space that follows its end; NULL: none */
    bool is_continued;                  /* the answer goes on with the text of a message */
    bool opens_call;                    /* the prompt ends with the begin of a call */
    const struct baton_json *functions; /* array of OpenAI's tools, of which some forms need the
                                           types of arguments; NULL: unknown */
};

/* The receiver of the parts. */
struct baton_tool_sink {
    void *user;
    void (*text)(void *user, const char *text, size_t n);
    /* Reasoning arrives in pieces; NULL only for a form without it. It precedes everything else,
     * except in channels, where a model may continue reasoning after text or a call. */
    void (*reasoning)(void *user, const char *text, size_t n);
    /* arguments is a JSON object. */
    void (*call)(void *user, const char *name, size_t n_name, const char *arguments, size_t n);
    /* A call whose arguments arrive in pieces, in place of `call`. call_begin returns false for a
     * call that is wanted whole. The pieces are a JSON object, unless the text ends within it
     * (is_cut). NULL: all are wanted whole. */
    bool (*call_begin)(void *user, const char *name, size_t n_name);
    void (*call_more)(void *user, const char *arguments, size_t n);
    void (*call_end)(void *user, bool is_cut);
};

/* The call being read; see call.h. */
struct baton_call {
    size_t at, body, scanned;
    size_t name, n_name; /* the position of the name, if it precedes the body */
    size_t value;        /* JSON, Python: the body's first bracket; tags: a value's first byte */
    bool has_body, has_value, is_whole;
    int depth;
    char quote;
    bool in_string, escaped;
    enum { BATON_CALL_NEXT, BATON_CALL_KEY, BATON_CALL_VALUE_BEGIN, BATON_CALL_VALUE } state;
    size_t call_end; /* Python: behind the last complete call of the list; 0: none */
    size_t key, n_key;
    bool is_string;               /* tags: the value is marked as a string */
    struct baton_json *arguments; /* tags: the arguments so far */
    struct baton_call_teller teller;
};

struct baton_tool_parser {
    struct baton_answer_form form;
    struct baton_reasoning_parser reasoning;
    struct baton_channel_parser
        channels; /* in place of all that follows, for formats of channels */
    struct baton_buf held;
    size_t n_opened; /* held begins with this many bytes of the prompt */
    bool in_call;    /* held has a call's begin at call.at, and white space before it */
    struct baton_call call;
    bool begun;       /* text has been shown */
    bool trims;       /* no text since the start, or since a call */
    bool behind_call; /* no text since a call */
    bool has_ended;   /* the turn is over, and what follows is dropped */
};

/* Starts a parser. The objects that form points to must outlive it. */
void baton_tool_parser_init(struct baton_tool_parser *parser, const struct baton_answer_form *form);
void baton_tool_parser_fini(struct baton_tool_parser *parser);
/* Drops every byte so far. */
void baton_tool_parser_restart(struct baton_tool_parser *parser);

void baton_tool_parser_push(struct baton_tool_parser *parser, const char *text, size_t n,
                            const struct baton_tool_sink *sink);
/* True when the next byte belongs to reasoning, as far as is known. */
bool baton_tool_parser_in_reasoning(const struct baton_tool_parser *parser);
/* Ends the text. */
void baton_tool_parser_end(struct baton_tool_parser *parser, const struct baton_tool_sink *sink);

#endif
