/* Bounds the reasoning of an answer: makes the budget of common/params/thinking_budget.h in the
 * form of the model's reasoning.
 *
 * Reasoning that nobody wants, and that the template cannot switch off, gets a budget of 0 tokens.
 *
 * Ownership: everything is borrowed; the params own the budget.
 * Threading: loop thread.
 * Errors:    in fields->problem.
 */
#ifndef BATON_GATEWAY_API_COMPLETION_THINKING_BOUND_H
#define BATON_GATEWAY_API_COMPLETION_THINKING_BOUND_H

#include "common/params/sampling.h"
#include "gateway/api/fields.h"
#include "gateway/chat/chat.h"

struct gw_thinking_bound {
    bool is_given;
    uint32_t max_tokens;
    const char *message; /* before the end of reasoning that is cut off; NULL: none */
};

/* Call once the grammar of the params is known. */
void gw_thinking_bound_set(const struct gw_thinking_bound *bound, struct baton_tokenizer *tokenizer,
                           const struct baton_answer_form *form, struct gw_fields *fields,
                           struct baton_sampling_params *params);

#endif
