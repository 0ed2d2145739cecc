#include "tools/support/machine/machine.h"

#include <stdio.h>
#include <stdlib.h>

#include "engine/checkpoint/cache_dir.h"
#include "engine/checkpoint/checkpoint.h"
#include "tools/support/machine/shape_model.h"
#include "tools/support/machine/shapes.h"

/* Opens the model as a worker does: packed once, then mapped. */
static enum baton_err open_shared(const struct bench_machine_options *options,
                                  struct baton_model **model, struct baton_why *why)
{
    struct baton_checkpoint *checkpoint = NULL;
    struct baton_cache_dirs cache;
    struct baton_fingerprint fingerprint;
    struct baton_model_options model_options = options->model;
    model_options.cache = &cache;
    model_options.fingerprint = &fingerprint;
    baton_cache_dirs_find(options->pack_dir, options->name, &cache);
    enum baton_err err = baton_checkpoint_open(options->name, &checkpoint, why);
    if (!err)
        err = baton_checkpoint_fingerprint(checkpoint, &cache, true, &fingerprint, why);
    if (!err)
        err = baton_model_load(checkpoint, &model_options, model, why);
    baton_checkpoint_close(checkpoint);
    return err;
}

static enum baton_err open_model(const struct bench_machine_options *options,
                                 struct baton_model **model, struct baton_why *why)
{
    const char *shape_name = bench_shape_name(options->name);
    const struct baton_arch *arch;
    struct baton_spec spec;
    if (!shape_name && options->pack_dir && *options->pack_dir)
        return open_shared(options, model, why);
    if (!shape_name)
        return baton_model_open(options->name, &options->model, model, why);
    enum baton_err err = bench_shape_find("--model", shape_name, &arch, &spec, why);
    return err ? err : bench_shape_model(&spec, &options->model, model, why);
}

enum baton_err bench_machine_init(struct bench_machine *machine,
                                  const struct bench_machine_options *options,
                                  struct baton_why *why)
{
    struct bench_machine made = {0};
    enum baton_err err = open_model(options, &made.model, why);
    if (!err)
        err = baton_kv_create(
            made.model,
            &(struct baton_kv_pool_options){.dtype = options->kv_dtype,
                                            .n_blocks = baton_kv_blocks_for(options->n_kv_tokens)},
            &made.kv, why);
    if (!err)
        err = baton_engine_create(made.model, &options->engine, &made.engine, why);
    if (!err) {
        size_t n_vocab = (size_t)baton_model_info(made.model)->n_vocab;
        made.logits = calloc((size_t)options->max_logits * n_vocab, sizeof *made.logits);
        if (!made.logits)
            err = baton_fail(why, BATON_NO_MEMORY, "logits: out of memory");
    }
    if (err)
        bench_machine_fini(&made);
    else
        *machine = made;
    return err;
}

void bench_machine_fini(struct bench_machine *machine)
{
    free(machine->logits);
    baton_engine_destroy(machine->engine);
    baton_kv_destroy(machine->kv);
    baton_model_close(machine->model);
    *machine = (struct bench_machine){0};
}
