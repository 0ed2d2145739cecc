/* The tokens that follow the rows of one step, chosen on the compute pool, a sampler per thread.
 *
 * Ownership: owns samplers and a slot per row, all reserved at creation.
 * Threading: engine thread.
 * Errors:    create: NO_MEMORY.
 */
#ifndef BATON_DECODE_CHOICES_H
#define BATON_DECODE_CHOICES_H

#include "common/worker/choice.h"
#include "decode_worker/lineup.h"

struct dc_choices;

struct dc_choices *dc_choices_create(int n_rows, int n_threads, int n_vocab);
void dc_choices_destroy(struct dc_choices *choices);

/* One choice per row of logits [step->n_rows][V], by the plan of the row's context. What is
 * returned is valid until the next call. */
struct baton_choice *dc_choices_make(struct dc_choices *choices, struct baton_engine *engine,
                                     const struct dc_step *step, const float *logits);

#endif
