/* Runs the draft model before a step: each round drafts one token for every sequence that plans
 * drafts.
 *
 *               input                                output
 *     round 1:  the text that is not computed yet    draft 1, for sequences that plan any
 *     round 2:  draft 1                              draft 2
 *     ...                                            draft n, which is never an input
 *
 * A draft is sampled as its token will be: with the same parameters and the same random draw of its
 * position. Two models with similar distributions then choose the same token at any temperature.
 *
 * Ownership: owns an engine beside the worker's, samplers and logits, reserved at creation; borrows
 *            the draft model.
 * Threading: engine thread; create and destroy on the main thread.
 * Errors:    create: as the engine's. A failed round only ends the drafts of its sequences.
 */
#ifndef BATON_DECODE_WORKER_DRAFTER_H
#define BATON_DECODE_WORKER_DRAFTER_H

#include "decode_worker/draft_model.h"
#include "decode_worker/scheduler.h"
#include "worker/pace.h"

struct dc_drafter;

struct dc_drafter_options {
    const struct dc_draft_model *draft;
    struct baton_engine *beside; /* the worker's engine, which outlives the drafter */
    int n_vocab;                 /* of the served model: no other token is drafted */
    int max_batch, n_threads;
};

enum baton_err dc_drafter_create(const struct dc_drafter_options *options,
                                 struct dc_drafter **drafter,
                                 struct baton_why *why) BATON_MUST_CHECK;
/* NULL is fine. */
void dc_drafter_destroy(struct dc_drafter *drafter);

/* Fills in the drafts that the step's sequences plan, and lets others catch up with their text. */
void dc_drafter_run(struct dc_drafter *drafter, const struct dc_step *step);

/* The cost of a round as a line in its rows; both 0: unknown. */
void dc_drafter_costs(const struct dc_drafter *drafter, double *base_s, double *row_s);

#endif
