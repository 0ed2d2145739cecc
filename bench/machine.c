#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"

enum { RANDOM_SEED = 1 };

static const char shape_prefix[] = "shape:";

static const struct {
    const char *name;
    struct baton_model_shape shape;
} shapes[] = {
    {"distilgpt2",
     {.n_layers = 6,
      .n_embd = 768,
      .n_heads = 12,
      .n_kv_heads = 12,
      .head_dim = 64,
      .n_ff = 3072,
      .n_vocab = 50257,
      .n_context = 1024,
      .norm_epsilon = 1e-5F}},
    {"gpt2",
     {.n_layers = 12,
      .n_embd = 768,
      .n_heads = 12,
      .n_kv_heads = 12,
      .head_dim = 64,
      .n_ff = 3072,
      .n_vocab = 50257,
      .n_context = 1024,
      .norm_epsilon = 1e-5F}},
};

bool bench_is_shape(const char *model)
{
    return !strncmp(model, shape_prefix, sizeof shape_prefix - 1);
}

static enum baton_err open_model(const char *name, struct baton_model **model,
                                 struct baton_why *why)
{
    if (!bench_is_shape(name))
        return baton_model_open(name, model, why);
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        if (!strcmp(name + sizeof shape_prefix - 1, shapes[i].name))
            return baton_model_random(&shapes[i].shape, RANDOM_SEED, model, why);
    return baton_fail(why, BATON_INVALID, "--model %s: the shapes are distilgpt2 and gpt2", name);
}

enum baton_err bench_machine_init(struct bench_machine *machine, const char *model, int n_kv_tokens,
                                  const struct baton_engine_options *options, struct baton_why *why)
{
    struct bench_machine made = {0};
    enum baton_err err = open_model(model, &made.model, why);
    if (!err)
        err = baton_kv_create(made.model, baton_kv_blocks_for(n_kv_tokens), &made.kv, why);
    if (!err)
        err = baton_engine_create(made.model, options, &made.engine, why);
    if (!err) {
        size_t n_vocab = (size_t)baton_model_shape(made.model)->n_vocab;
        made.logits = calloc((size_t)options->max_batch * n_vocab, sizeof *made.logits);
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

enum baton_err bench_run(struct baton_config *config, void *options, int argc, char **argv,
                         enum baton_err (*run)(const void *options, struct baton_why *why),
                         struct baton_why *why)
{
    bool done = false;
    config->env_prefix = "BATON_BENCH";
    enum baton_err err = baton_config_load(config, options, argc, argv, &done, why);
    if (!err && !done)
        err = run(options, why);
    baton_config_fini(config);
    return err;
}

enum baton_err bench_print(struct baton_buf *json)
{
    enum baton_err err = baton_buf_err(json);
    if (!err && (puts(baton_buf_text(json)) == EOF || fflush(stdout)))
        err = BATON_IO;
    baton_buf_fini(json);
    return err;
}
