/* A canary: a few fixed tokens that run through a worker's idle engine periodically, with a KV
 * block of their own. If the logits do not have the same bits each time, memory or a core is
 * faulty.
 *
 * Ownership: model and engine are borrowed.
 * Threading: create and destroy while the engine thread does not run; run on that thread.
 * Errors:    create: NO_MEMORY, INVALID. run: CANCELED when goes_on returned false, CORRUPT when
 *            the bits differ from those of the first run; else those of baton_engine_forward.
 */
#ifndef BATON_WORKER_CANARY_H
#define BATON_WORKER_CANARY_H

#include "engine/engine.h"

struct baton_canary;

/* kv_dtype: of the worker's KV cache, as baton_kv_dtype names it. */
enum baton_err baton_canary_create(const struct baton_model *model, struct baton_engine *engine,
                                   const char *kv_dtype, struct baton_canary **canary,
                                   struct baton_why *why) BATON_MUST_CHECK;
/* Harmless with NULL. */
void baton_canary_destroy(struct baton_canary *canary);

/* Runs once; canary is the struct baton_canary. goes_on is called after each layer that holds K and
 * V of its own; false ends the run with CANCELED. */
enum baton_err baton_canary_run(void *canary, baton_layer_fn goes_on, void *arg) BATON_MUST_CHECK;

#endif
