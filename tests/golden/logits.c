/* Prints the logits of the last position, one a line: golden_logits MODEL_DIR prefill|decode|naive
 * ID... The reference script compares them with its own. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/engine/compute/engine.h"

enum { MAX_TOKENS = 4096, N_THREADS = 2 };

struct machine {
    struct baton_model *model;
    struct baton_kv *kv;
    struct baton_engine *engine;
    struct baton_seq seq;
    float *logits;
};

static enum baton_err set_up(struct machine *m, const char *dir, int n_tokens,
                             struct baton_why *why)
{
    const struct baton_engine_options options = {.max_rows = n_tokens, .n_threads = N_THREADS};
    enum baton_err err = baton_model_open(dir, NULL, &m->model, why);
    if (!err)
        err = baton_kv_create(baton_model_kv_layout(m->model), NULL, baton_kv_blocks_for(n_tokens),
                              &m->kv, why);
    if (!err)
        err = baton_engine_create(m->model, &options, &m->engine, why);
    if (!err)
        err = baton_seq_init(&m->seq, m->kv, n_tokens);
    if (!err)
        m->logits = calloc((size_t)baton_model_shape(m->model)->n_vocab, sizeof *m->logits);
    return err || m->logits ? err : BATON_NO_MEMORY;
}

static void tear_down(struct machine *m)
{
    free(m->logits);
    baton_seq_fini(&m->seq);
    baton_engine_destroy(m->engine);
    baton_kv_destroy(m->kv);
    baton_model_close(m->model);
}

static enum baton_err compute(struct machine *m, const char *mode, const uint32_t *tokens, int n)
{
    struct baton_seq *seq = &m->seq;
    enum baton_err err = BATON_OK;
    if (!strcmp(mode, "prefill"))
        return baton_engine_prefill(m->engine, seq, tokens, n, NULL, NULL, m->logits);
    if (!strcmp(mode, "naive"))
        return baton_engine_naive(m->engine, seq, tokens, n, m->logits);
    for (int i = 0; i < n && !err; i++)
        err = baton_engine_decode(m->engine, &seq, &tokens[i], 1, m->logits);
    return err;
}

int main(int argc, char **argv)
{
    static uint32_t tokens[MAX_TOKENS];
    struct baton_why why = {.text = ""};
    struct machine m = {0};
    int n = argc - 3;
    if (n < 1 || n > MAX_TOKENS) {
        (void)fprintf(stderr, "usage: golden_logits MODEL_DIR prefill|decode|naive ID...\n");
        return 2;
    }
    for (int i = 0; i < n; i++)
        tokens[i] = (uint32_t)strtoul(argv[i + 3], NULL, 10);
    enum baton_err err = set_up(&m, argv[1], n, &why);
    if (!err)
        err = compute(&m, argv[2], tokens, n);
    if (err)
        (void)fprintf(stderr, "%s: %s\n", baton_err_name(err), why.text);
    for (int i = 0; !err && i < baton_model_shape(m.model)->n_vocab; i++)
        (void)printf("%.9g\n", (double)m.logits[i]);
    tear_down(&m);
    return err ? 1 : 0;
}
