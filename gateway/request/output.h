/* The output of a request so far: its tokens, their text, and their times.
 *
 * The output belongs to the request and not to an attempt. When an attempt breaks before the client
 * saw a token, its tokens are dropped.
 *
 * Ownership: owns its tokens and buffers.
 * Threading: loop thread.
 * Errors:    init, reserve: NO_MEMORY. The rest cannot fail.
 */
#ifndef BATON_GATEWAY_REQUEST_OUTPUT_H
#define BATON_GATEWAY_REQUEST_OUTPUT_H

#include "common/base/buf.h"
#include "engine/tokenizer/detokenizer.h"
#include "engine/tokenizer/tokens.h"
#include "gateway/request/response_writer.h"

enum gw_finish {
    GW_FINISH_NONE,
    GW_FINISH_LENGTH,
    GW_FINISH_STOP,
    GW_FINISH_EOS,
    GW_FINISH_EMBEDDING
};

/* The gateway's own work on the tokens: detokenizing, formatting and flushing, as sums over
 * messages. */
struct gw_handling {
    int64_t since_ns, since_cpu_ns; /* of the last message */
    int64_t until_ns;               /* 0: the last message is being handled */
    int64_t total_ns, cpu_ns;
    int64_t overlap_ns; /* the part in which the request's worker was at work, too */
};

struct gw_output {
    struct baton_tokens tokens; /* all tokens, including stop ids */
    struct baton_detokenizer detokenizer;
    struct baton_text_stream text;   /* holds back parts of stop strings and of characters */
    struct baton_buf showable;       /* scratch: the text that the last token made showable */
    size_t shown_bytes, shown_chars; /* of the generated text */
    int64_t first_ns, last_token_ns; /* first_ns is 0 before the first token */
    double longest_gap_s;            /* between two tokens, or two messages with several */
    int64_t detokenize_ns, flush_ns; /* sums */
    struct gw_handling handling;
    uint64_t n_drafted, n_accepted; /* tokens guessed by speculation; of them, right ones */
    enum gw_finish finish;
};

void gw_output_init(struct gw_output *output);
void gw_output_fini(struct gw_output *output);

/* Reserves memory for n tokens before the first one comes, so that a later token cannot fail. */
enum baton_err gw_output_reserve(struct gw_output *output, size_t n) BATON_MUST_CHECK;

/* Forgets every token. The stop strings and the reserved memory stay. */
void gw_output_restart(struct gw_output *output);

/* Call before the first token. begins_text: no text precedes it, so a decoder that strips the space
 * at the start of a text does so. */
void gw_output_begin(struct gw_output *output, const struct baton_tokenizer *tokenizer,
                     bool begins_text);

/* Adds a token and returns it with its position in the text. Appends to showable its text, and text
 * that was held back and is now known to be no part of a stop string. A silent token adds nothing
 * to the text. Precondition: begun, and memory for it is reserved. */
struct gw_token gw_output_push(struct gw_output *output, uint32_t id, bool silent);

/* No more tokens follow: the text that is held back becomes showable. */
void gw_output_end(struct gw_output *output);

/* Tokens arrived at now_ns, and their worker had been at work on them since worked_since_ns, which
 * the caller computes from the durations that the worker measured: no two hosts' clocks are
 * compared. */
void gw_output_handle(struct gw_output *output, int64_t now_ns, int64_t worked_since_ns);

/* The gateway has handled the tokens. A second call changes nothing. */
void gw_output_handled(struct gw_output *output, int64_t now_ns);

/* Counts drafts [n], which speculation guessed for tokens [n_tokens]. Returns how many of the
 * tokens were compared with a draft: the accepted ones and the first rejected one. */
size_t gw_output_note_drafts(struct gw_output *output, const uint32_t *drafts, size_t n,
                             const uint32_t *tokens, size_t n_tokens);

/* Counts the showable text, which is about to be shown. The caller resets the buffer. */
void gw_output_note_shown(struct gw_output *output);

const char *gw_finish_name(enum gw_finish finish);

#endif
