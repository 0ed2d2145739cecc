/* baton-bench draft-head: a model with its own head that drafts, beside the same model without. The
 * weights are random, so the head's guesses are computed and then replaced: each is right with a
 * given probability. The costs are real, the share of right guesses is chosen.
 *
 * Steps of both take turns, and their medians are compared: other programs of the machine slow both
 * alike. */
#include <stdlib.h>

#include "bench/bench.h"
#include "common/base/array.h"
#include "common/base/clock.h"
#include "common/params/speculation.h"
#include "engine/arch/draft_head.h"
#include "engine/model/model.h"
#include "engine/sampling/philox.h"
#include "tools/support/machine/machine.h"
#include "tools/support/machine/shapes.h"

enum { N_PROMPT = 16, MAX_STEPS = 1024, ROWS = 1 + BATON_MAX_DRAFTS };

struct options {
    const char *model, *dtype, *kernels;
    int64_t threads, steps, drafts;
    double right;
};

static const struct baton_option table[] = {
    BATON_ROW_TEXT(struct options, model, "model", "shape:qwen3.5-4b", "shape:NAME of a model"),
    BATON_ROW_TEXT(struct options, dtype, "dtype", "q4", BATON_DTYPE_HELP),
    BATON_ROW_TEXT(struct options, kernels, "kernels", "auto", "kernel set"),
    BATON_ROW_INT(struct options, threads, "threads", "2", 1, 256, "", "compute threads"),
    BATON_ROW_INT(struct options, steps, "steps", "32", 1, MAX_STEPS, "", "steps of each"),
    BATON_ROW_INT(struct options, drafts, "drafts", "2", 1, BATON_MAX_DRAFTS, "tokens",
                  "guesses of a step"),
    BATON_ROW_REAL(struct options, right, "right", "0.7", 0, 1, "",
                   "probability that a guess is right if those before it are"),
};

struct stand {
    const struct options *options;
    struct bench_machine machine;
    struct baton_model *head;
    struct baton_engine *head_engine;
    struct baton_kv *head_kv;
    struct baton_seq plain, seq, draft; /* the latter two of the one that drafts */
    uint32_t text[N_PROMPT + (MAX_STEPS + 1) * ROWS];
    float *hidden, *head_hidden, *head_logits; /* [ROWS][C], [C], [V] */
    int n_pairs;
    uint64_t n_drawn;
    double plain_s[MAX_STEPS], drafting_s[MAX_STEPS];
};

/* The most positions of a sequence. */
static int most_tokens(const struct options *options)
{
    return N_PROMPT + (int)(options->steps + 1) * (1 + (int)options->drafts);
}

static enum baton_err open_head(struct stand *stand, struct baton_why *why)
{
    const struct options *options = stand->options;
    const struct baton_model *model = stand->machine.model;
    const struct baton_model_options kept = {
        .dtype = options->dtype, .kernels = options->kernels, .n_threads = (int)options->threads};
    const struct baton_engine_options compute = {
        .max_rows = ROWS, .n_threads = (int)options->threads, .beside = stand->machine.engine};
    const struct baton_kv_pool_options pool = {
        .n_blocks = baton_kv_blocks_for(most_tokens(options) + ROWS)};
    struct baton_spec spec;
    baton_spec_make_draft_head(baton_model_spec(model), &spec);
    enum baton_err err = baton_model_random(&spec, 2, &kept, &stand->head, why);
    if (err)
        return err;
    baton_model_borrow_vocabulary(stand->head, model);
    err = baton_engine_create(stand->head, &compute, &stand->head_engine, why);
    return err ? err : baton_kv_create(stand->head, &pool, &stand->head_kv, why);
}

static enum baton_err prepare(struct stand *stand, struct baton_why *why)
{
    const struct options *options = stand->options;
    int n = most_tokens(options);
    const struct bench_machine_options machine = {.name = options->model,
                                                  .model = {.dtype = options->dtype,
                                                            .kernels = options->kernels,
                                                            .n_threads = (int)options->threads},
                                                  .n_kv_tokens = 2 * (n + BATON_KV_BLOCK_TOKENS),
                                                  .engine = {.max_rows = N_PROMPT + ROWS,
                                                             .max_trial_rows = ROWS,
                                                             .n_threads = (int)options->threads},
                                                  .max_logits = ROWS};
    enum baton_err err = bench_machine_init(&stand->machine, &machine, why);
    if (!err)
        err = open_head(stand, why);
    if (err)
        return err;
    const struct baton_model_info *info = baton_model_info(stand->machine.model);
    size_t n_embd = (size_t)info->n_embd;
    stand->hidden = calloc(ROWS * n_embd, sizeof(float));
    stand->head_hidden = calloc(n_embd, sizeof(float));
    stand->head_logits = calloc((size_t)info->n_vocab, sizeof(float));
    for (int i = 0; i < n; i++)
        stand->text[i] = (uint32_t)(baton_philox_uniform(1, (uint64_t)i) * info->n_vocab);
    return stand->hidden && stand->head_hidden && stand->head_logits ? BATON_OK : BATON_NO_MEMORY;
}

static uint32_t best_of(const float *logits, int n_vocab)
{
    int best = 0;
    for (int i = 1; i < n_vocab; i++)
        best = logits[i] > logits[best] ? i : best;
    return (uint32_t)best;
}

/* A sequence behind the prompt, whose last state is the first pair's. */
static enum baton_err begin(struct stand *stand, struct baton_seq *seq)
{
    const struct baton_chunk prompt = {.seq = seq,
                                       .tokens = stand->text,
                                       .n_tokens = N_PROMPT,
                                       .n_logits = 1,
                                       .hidden = stand->hidden};
    enum baton_err err = baton_seq_init(seq, stand->machine.kv, most_tokens(stand->options));
    stand->n_pairs = 1;
    return err ? err
               : baton_engine_forward(stand->machine.engine, &prompt, 1, NULL, NULL,
                                      stand->machine.logits);
}

static enum baton_err step_plainly(struct stand *stand)
{
    struct baton_seq *one = &stand->plain;
    enum baton_err err = baton_engine_decode(stand->machine.engine, &one,
                                             &stand->text[one->n_tokens], 1, stand->machine.logits);
    (void)best_of(stand->machine.logits, baton_model_info(stand->machine.model)->n_vocab);
    return err;
}

/* The head's rounds. Its guesses count for their time alone. */
static enum baton_err guess(struct stand *stand)
{
    int n_given = stand->draft.n_tokens + stand->n_pairs;
    enum baton_err err = BATON_OK;
    uint32_t token = 0;
    for (int64_t i = 0; i < stand->options->drafts && !err; i++) {
        const uint32_t *pairs = &stand->text[stand->seq.n_tokens + 1 - stand->n_pairs];
        const struct baton_chunk chunk = {.seq = &stand->draft,
                                          .tokens = i ? &token : pairs,
                                          .n_tokens = i ? 1 : stand->n_pairs,
                                          .n_logits = 1,
                                          .states = i ? stand->head_hidden : stand->hidden,
                                          .hidden = stand->head_hidden};
        err = baton_engine_forward(stand->head_engine, &chunk, 1, NULL, NULL, stand->head_logits);
        token = best_of(stand->head_logits, baton_model_info(stand->head)->n_vocab);
    }
    stand->draft.n_tokens = n_given;
    return err;
}

/* One step: the next token of the text, and drafts, as many of which are right as are drawn. */
static enum baton_err step_drafting(struct stand *stand)
{
    int n = (int)stand->options->drafts, n_right = 0, n_vocab;
    uint32_t tokens[ROWS];
    n_vocab = baton_model_info(stand->machine.model)->n_vocab;
    while (n_right < n && baton_philox_uniform(3, stand->n_drawn++) < stand->options->right)
        n_right++;
    for (int i = 0; i <= n; i++)
        tokens[i] = (stand->text[stand->seq.n_tokens + i] + (i > n_right)) % (uint32_t)n_vocab;
    const struct baton_chunk chunk = {.seq = &stand->seq,
                                      .tokens = tokens,
                                      .n_tokens = n + 1,
                                      .n_logits = n + 1,
                                      .hidden = stand->hidden,
                                      .is_trial = true};
    enum baton_err err = guess(stand);
    if (!err)
        err = baton_engine_forward(stand->machine.engine, &chunk, 1, NULL, NULL,
                                   stand->machine.logits);
    for (int i = 0; i <= n_right && !err; i++)
        (void)best_of(stand->machine.logits + (size_t)i * (size_t)n_vocab, n_vocab);
    stand->seq.n_tokens -= n - n_right;
    baton_engine_settle(stand->machine.engine);
    stand->n_pairs = n_right + 1;
    return err;
}

static enum baton_err time_step(struct stand *stand, enum baton_err (*step)(struct stand *stand),
                                double *seconds)
{
    int64_t begin_ns = baton_now_ns();
    enum baton_err err = step(stand);
    *seconds = baton_seconds(baton_now_ns() - begin_ns);
    return err;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int64_t n)
{
    qsort(values, (size_t)n, sizeof *values, by_size);
    return values[n / 2];
}

/* 1 + p + p^2 + .. */
static double tokens_of_step(const struct options *options)
{
    double n = 1, p = 1;
    for (int64_t i = 0; i < options->drafts; i++)
        n += p *= options->right;
    return n;
}

static enum baton_err report(struct stand *stand)
{
    const struct options *options = stand->options;
    double plain = median(stand->plain_s, options->steps),
           drafting = median(stand->drafting_s, options->steps), n = tokens_of_step(options);
    struct baton_buf buf;
    baton_buf_init(&buf, 1 << 12);
    baton_buf_printf(&buf,
                     "%s in %s: a step %.1f ms, with %d drafts %.1f ms and %.2f tokens where each "
                     "is right in %.0f %%: %.2f x",
                     options->model, options->dtype, 1e3 * plain, (int)options->drafts,
                     1e3 * drafting, n, 100 * options->right, n * plain / drafting);
    return cli_print(&buf);
}

static enum baton_err measure(struct stand *stand)
{
    enum baton_err err = begin(stand, &stand->plain);
    if (!err)
        err = begin(stand, &stand->seq);
    if (!err)
        err = baton_seq_init(&stand->draft, stand->head_kv, most_tokens(stand->options));
    for (int64_t i = 0; i < stand->options->steps && !err; i++) {
        err = time_step(stand, step_plainly, &stand->plain_s[i]);
        if (!err)
            err = time_step(stand, step_drafting, &stand->drafting_s[i]);
    }
    return err ? err : report(stand);
}

static enum baton_err run(const void *arg, struct baton_why *why)
{
    struct stand *stand = calloc(1, sizeof *stand);
    if (!stand)
        return BATON_NO_MEMORY;
    stand->options = arg;
    enum baton_err err = prepare(stand, why);
    if (!err)
        err = measure(stand);
    baton_seq_fini(&stand->plain);
    baton_seq_fini(&stand->seq);
    baton_seq_fini(&stand->draft);
    baton_kv_destroy(stand->head_kv);
    baton_engine_destroy(stand->head_engine);
    baton_model_close(stand->head);
    bench_machine_fini(&stand->machine);
    free(stand->hidden);
    free(stand->head_hidden);
    free(stand->head_logits);
    free(stand);
    return err;
}

enum baton_err bench_draft_head(int argc, char **argv, struct baton_why *why)
{
    struct options options = {0};
    struct baton_config config = {.process = "baton-bench draft-head",
                                  .env_prefix = "BATON_BENCH",
                                  .summary = "measures a model's own head that drafts",
                                  .options = table,
                                  .n_options = BATON_N_OF(table)};
    return cli_run(&config, &options, argc, argv, run, why);
}
