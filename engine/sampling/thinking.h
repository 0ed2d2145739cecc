/* Follows the reasoning of a sequence, and names the tokens that close it when its budget is used
 * up (common/params/thinking_budget.h).
 *
 *     BEFORE --begin--> INSIDE --end--> OVER, or BEFORE again where begin counts everywhere
 *        \--other text----------------> OVER
 *
 * What it names depends only on the tokens so far: a worker that continues a sequence names the
 * same ones.
 *
 * Ownership: owns the matcher that it was created with, which knows the tokens' texts.
 * Threading: one owner at a time.
 * Errors:    create: NO_MEMORY.
 */
#ifndef BATON_ENGINE_SAMPLING_THINKING_H
#define BATON_ENGINE_SAMPLING_THINKING_H

#include "common/params/thinking_budget.h"
#include "engine/grammar/masks/matcher.h"

struct baton_thinking;

/* At the start of an output. Borrows the budget's ids, and takes over texts
 * (baton_grammar_set_texts), also on an error. */
enum baton_err baton_thinking_create(const struct baton_thinking_budget *budget,
                                     struct baton_matcher *texts,
                                     struct baton_thinking **thinking) BATON_MUST_CHECK;
/* Accepts NULL. */
void baton_thinking_destroy(struct baton_thinking *thinking);

/* Whether the texts are known: AGAIN while they are loaded; other errors: they cannot be. */
enum baton_err baton_thinking_state(const struct baton_thinking *thinking);

void baton_thinking_accept(struct baton_thinking *thinking, uint32_t token);
/* Takes back the last token; at most BATON_MATCHER_MAX_DROPS in a row. */
void baton_thinking_drop(struct baton_thinking *thinking);

/* True when the next token must be *token. */
bool baton_thinking_forces(struct baton_thinking *thinking, uint32_t *token);

#endif
