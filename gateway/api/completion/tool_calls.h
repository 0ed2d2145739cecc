/* Separates a choice's answer into its parts, reasoning, text and tool calls, and gives calls ids.
 *
 * An id has nine letters and digits, because Mistral's templates accept no others. It depends only
 * on the request's id and the call's place, so a retry gives the same id.
 *
 * Ownership: an embedded struct that owns its buffers; parts are borrowed during their calls.
 * Threading: loop thread.
 * Errors:    see gateway/chat/toolcall/parser.h; without memory for a parser everything is text.
 */
#ifndef BATON_GATEWAY_API_COMPLETION_TOOL_CALLS_H
#define BATON_GATEWAY_API_COMPLETION_TOOL_CALLS_H

#include <stdint.h>

#include "gateway/chat/toolcall/parser.h"

enum { GW_TOOL_CALL_ID_BYTES = 10 };

struct gw_choice;

struct gw_tool_call {
    int index; /* among the choice's calls */
    const char *id;
    const char *name, *arguments; /* arguments: a JSON object as text */
    size_t n_name, n_arguments;
    bool is_cut; /* the output ended within the arguments */
};

struct gw_tool_calls {
    struct baton_tool_parser *parser; /* NULL: everything is text, as in most completions */
    struct baton_buf json;            /* for the writer: calls that it has not written yet */
    struct baton_buf name, arguments; /* of the call that arrives in pieces, so far */
    uint64_t seed;                    /* for the ids */
    int n;
    uint64_t n_reasoning_tokens;
    struct baton_buf thought; /* the reasoning, while nothing else came */
    bool has_answer;          /* text or a call came */
};

/* The receiver of the parts. reasoning comes first, in pieces, on a route that separates it
 * (gw_builder_extract_reasoning). */
struct gw_parts {
    void (*text)(struct gw_choice *choice, const char *text, size_t n);
    void (*reasoning)(struct gw_choice *choice, const char *text, size_t n);
    void (*call)(struct gw_choice *choice, const struct gw_tool_call *call);
    /* A call in pieces, see struct baton_tool_sink. call's arguments are empty, the next piece, and
     * all of them. */
    bool (*call_begin)(struct gw_choice *choice, const struct gw_tool_call *call);
    void (*call_more)(struct gw_choice *choice, const struct gw_tool_call *call);
    void (*call_end)(struct gw_choice *choice, const struct gw_tool_call *call);
};

/* request_id is the completion's. */
void gw_tool_calls_init(struct gw_tool_calls *calls, const struct baton_answer_form *form,
                        const char *request_id, int choice);
void gw_tool_calls_fini(struct gw_tool_calls *calls);
void gw_tool_calls_restart(struct gw_tool_calls *calls);

/* Whether the next token belongs to reasoning, as far as the parser knows. */
bool gw_tool_calls_in_reasoning(const struct gw_tool_calls *calls);

/* Takes the next piece of the text, in whole characters. */
void gw_tool_calls_push(struct gw_choice *choice, struct gw_tool_calls *calls, const char *text,
                        size_t n, const struct gw_parts *parts);
/* No more text follows. is_whole: the model ended the answer, so that reasoning whose end it forgot
 * is its answer too. */
void gw_tool_calls_end(struct gw_choice *choice, struct gw_tool_calls *calls, bool is_whole,
                       const struct gw_parts *parts);

#endif
