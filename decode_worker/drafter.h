/* Runs the draft model: before a step, the sequences that plan drafts get them here, one token of
 * each in a round.
 *
 *            the text's end        drafts
 *     round 1:  what of the text is not computed yet  -> draft 1, for those that plan any
 *     round 2:  draft 1                               -> draft 2
 *     ...                                                last of all: draft n, computed never
 *
 * A draft is drawn as its token will be: by the same parameters and the same draw of its position.
 * Two models that think alike then choose alike, at any temperature.
 *
 * Ownership: owns an engine beside the worker's, samplers and logits, reserved at creation; borrows
 *            the draft model.
 * Threading: engine thread; create and destroy on the main thread.
 * Errors:    create: as the engine's. A round that fails ends the drafts of its sequences alone.
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
    int n_vocab;                 /* of the worker's model: no other token is drafted */
    int max_batch, n_threads;
};

enum baton_err dc_drafter_create(const struct dc_drafter_options *options,
                                 struct dc_drafter **drafter,
                                 struct baton_why *why) BATON_MUST_CHECK;
/* NULL is harmless. */
void dc_drafter_destroy(struct dc_drafter *drafter);

/* Fills in the drafts that the sequences of step plan, and computes what they are to catch up. */
void dc_drafter_run(struct dc_drafter *drafter, const struct dc_step *step);

/* What a round costs by its sequences; both 0: not known yet. */
void dc_drafter_costs(const struct dc_drafter *drafter, double *base_s, double *row_s);

#endif
