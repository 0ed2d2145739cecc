/* Shortens a conversation that is longer than a prompt may be, as Ollama does: its oldest messages
 * are dropped; system messages and the last one stay. Where these are too long as well, the middle
 * of their tokens is dropped.
 *
 * Only starts with another role than "tool" are tried, so that no result is left without its call.
 * Their number grows from the end by doubling, so that the work is in proportion to what fits and
 * not to what is dropped.
 *
 * Ownership: tokens go to the caller's array; form borrows the input's tools.
 * Threading: loop thread.
 * Errors:    those of baton_chat_encode, with its sentence in why; never LIMIT.
 */
#ifndef BATON_GATEWAY_API_PARAMS_SHORTEN_H
#define BATON_GATEWAY_API_PARAMS_SHORTEN_H

#include "gateway/api/api.h"

/* How prompts that are too long are shortened, and what was dropped of them. */
struct gw_shortening {
    bool wanted;
    int64_t n_answer;            /* tokens that the client wants as answer; 0: not given */
    size_t n_keep;               /* tokens that stay at the begin where tokens are dropped */
    size_t n_messages, n_tokens; /* dropped */
};

/* The tokens that a prompt of a shortened conversation may have at most, which leaves room for an
 * answer: the tokens that the client wants, or a quarter of the context if that is less. */
size_t gw_shortening_target(const struct gw_shortening *shortening, size_t max_tokens);

/* Drops tokens behind the first n_keep until n_max are left, and counts them. */
void gw_shorten_tokens(struct gw_shortening *shortening, struct baton_tokens *tokens, size_t n_max);

/* Encodes the conversation, shortened if it has more than max_tokens. borders may be NULL; they are
 * those of the whole conversation, and none of a shortened one, which changes with each message. */
enum baton_err gw_shorten_chat(const struct gw_api *api, const struct baton_chat_input *input,
                               size_t max_tokens, struct gw_shortening *shortening,
                               struct baton_tokens *tokens, struct baton_answer_form *form,
                               struct baton_chat_borders *borders,
                               struct baton_why *why) BATON_MUST_CHECK;

#endif
