/* same_logits SHAPE DIR: exit status 0 when the directory's model and the random one of that shape
 * give the same bits for a prompt and a step. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/model/model.h"
#include "tools/support/machine/shapes.h"

enum { N_TOKENS = 21 };

static enum baton_err compute(const struct baton_model *model, float *logits, struct baton_why *why)
{
    const struct baton_engine_options options = {.max_rows = N_TOKENS, .n_threads = 1};
    int n_vocab = baton_model_info(model)->n_vocab;
    uint32_t tokens[N_TOKENS];
    struct baton_kv *kv = NULL;
    struct baton_engine *engine = NULL;
    struct baton_seq seq = {0}, *batch = &seq;
    for (int i = 0; i < N_TOKENS; i++)
        tokens[i] = (uint32_t)(i * i * 31 % n_vocab);
    enum baton_err err = baton_kv_create(
        model, &(struct baton_kv_pool_options){.n_blocks = baton_kv_blocks_for(N_TOKENS + 1)}, &kv,
        why);
    if (!err)
        err = baton_engine_create(model, &options, &engine, why);
    if (!err)
        err = baton_seq_init(&seq, kv, N_TOKENS + 1);
    if (!err)
        err = baton_engine_prefill(engine, &seq, tokens, N_TOKENS, NULL, NULL, logits);
    if (!err)
        err = baton_engine_decode(engine, &batch, tokens, 1, logits + n_vocab);
    baton_seq_fini(&seq);
    baton_engine_destroy(engine);
    baton_kv_destroy(kv);
    return err;
}

static enum baton_err compare(const char *shape_name, const char *dir, bool *same,
                              struct baton_why *why)
{
    const struct baton_model_options options = {.dtype = "f32"};
    struct baton_model *random = NULL, *stored = NULL;
    float *logits = NULL;
    const struct baton_arch *arch;
    struct baton_spec spec;
    enum baton_err err = bench_shape_find("SHAPE", shape_name, &arch, &spec, why);
    if (!err)
        err = baton_model_random(&spec, BENCH_SHAPE_SEED, &options, &random, why);
    if (!err)
        err = baton_model_open(dir, &options, &stored, why);
    if (!err) {
        size_t n = 2 * (size_t)spec.n_vocab;
        logits = calloc(2 * n, sizeof *logits);
        err = logits ? compute(random, logits, why) : BATON_NO_MEMORY;
        if (!err)
            err = compute(stored, logits + n, why);
        *same = !err && !memcmp(logits, logits + n, n * sizeof *logits);
    }
    free(logits);
    baton_model_close(stored);
    baton_model_close(random);
    return err;
}

int main(int argc, char **argv)
{
    struct baton_why why = {.text = ""};
    bool same = false;
    if (argc != 3)
        return 2;
    if (compare(argv[1], argv[2], &same, &why)) {
        (void)fprintf(stderr, "same_logits: %s\n", why.text);
        return 2;
    }
    return same ? 0 : 1;
}
