/* Parses answers in channels, gpt-oss's form (OpenAI's harmony format).
 *
 *     <|channel|>analysis<|message|>reasoning<|end|>
 *     <|start|>assistant<|channel|>final<|message|>text<|return|>
 *     <|start|>assistant<|channel|>commentary to=functions.f <|constrain|>json<|message|>{}<|call|>
 *
 * The prompt has written the first <|start|>assistant. commentary without a receiver is text before
 * calls. Tokens that end the turn never arrive, and the markers of other messages do not become
 * text. A call whose arguments are not a JSON object is text, with its header.
 *
 * Ownership: the parser owns what it holds; a sink borrows during its call.
 * Threading: one owner at a time.
 * Errors:    an answer without channels is text.
 */
#ifndef BATON_GATEWAY_CHAT_TOOLCALL_CHANNELS_H
#define BATON_GATEWAY_CHAT_TOOLCALL_CHANNELS_H

#include <stdbool.h>

#include "common/base/buf.h"
#include "gateway/chat/toolcall/teller.h"

enum { BATON_TOOL_CALL_MAX_BYTES = 1 << 20, BATON_TOOL_NAME_MAX_BYTES = 256 };

struct baton_tool_sink;

struct baton_channel_parser {
    bool tells_reasoning, tells_calls; /* false: such messages are text, with their headers */
    enum {
        BATON_CHANNEL_HEADER,
        BATON_CHANNEL_REASONING,
        BATON_CHANNEL_TEXT,
        BATON_CHANNEL_CALL,
    } state;
    struct baton_buf held;
    size_t body, scanned; /* of a call; held begins with its header */
    const struct baton_json *functions;
    struct baton_call_teller teller; /* of that call */
};

/* functions: see struct baton_answer_form. */
void baton_channel_parser_init(struct baton_channel_parser *parser, bool tells_reasoning,
                               bool tells_calls, const struct baton_json *functions);
void baton_channel_parser_fini(struct baton_channel_parser *parser);

void baton_channel_parser_push(struct baton_channel_parser *parser, const char *text, size_t n,
                               const struct baton_tool_sink *sink);
/* Ends the text. */
void baton_channel_parser_end(struct baton_channel_parser *parser,
                              const struct baton_tool_sink *sink);

#endif
