/* A model, its KV cache and an engine in this process, to be measured.
 *
 * Ownership: the machine owns all three, and the logits.
 * Threading: one owner, plus the engine's compute pool.
 * Errors:    init returns those of opening a model and of creating an engine, and then leaves
 *            nothing open.
 */
#ifndef BATON_TOOLS_SUPPORT_MACHINE_MACHINE_H
#define BATON_TOOLS_SUPPORT_MACHINE_MACHINE_H

#include "engine/engine.h"

struct bench_machine {
    struct baton_model *model;
    struct baton_kv *kv;
    struct baton_engine *engine;
    float *logits; /* [max_logits][V] */
};

struct bench_machine_options {
    const char *name; /* a model directory, or "shape:NAME" for random weights (shapes.h) */
    /* directory of packed weights, as workers share them; NULL or "": no packing */
    const char *pack_dir;
    struct baton_model_options model;
    const char *kv_dtype;
    int n_kv_tokens;
    struct baton_engine_options engine;
    int max_logits; /* rows of logits at a time */
};

enum baton_err bench_machine_init(struct bench_machine *machine,
                                  const struct bench_machine_options *options,
                                  struct baton_why *why) BATON_MUST_CHECK;
void bench_machine_fini(struct bench_machine *machine);

#endif
