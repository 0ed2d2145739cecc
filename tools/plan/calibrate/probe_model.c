#include "tools/plan/calibrate/probe_model.h"

#include <math.h>
#include <stdlib.h>

#include "common/base/clock.h"
#include "tools/support/cli.h"
#include "tools/support/machine/machine.h"

enum { N_PASSES = 7, N_STEPS = 32, MAX_BATCH = 64 };

struct model_probe {
    struct sim_probe probe;
    struct bench_machine machine;
    uint32_t *ids;          /* [context] */
    struct baton_seq *seqs; /* [MAX_BATCH] */
    struct baton_seq **batch;
};

static void add_over_median(const double *values, int n, double median, struct ld_samples *samples)
{
    for (int i = 0; i < n; i++)
        ld_samples_add(samples, values[i] / median);
}

/* ---- passes ---- */

/* Times the whole prompt, in the passes that a worker would make of it. */
static enum baton_err time_prompt(struct model_probe *model, int n_tokens, double *seconds)
{
    struct baton_seq *seq = &model->seqs[0];
    int chunk = (int)model->probe.options->chunk;
    int64_t begin_ns = baton_now_ns();
    enum baton_err err = BATON_OK;
    seq->n_tokens = 0;
    while (seq->n_tokens < n_tokens && !err) {
        int left = n_tokens - seq->n_tokens;
        err = baton_engine_prefill(model->machine.engine, seq, model->ids,
                                   left < chunk ? left : chunk, NULL, NULL, model->machine.logits);
    }
    *seconds = baton_seconds(baton_now_ns() - begin_ns);
    return err;
}

static enum baton_err measure_prompt(struct sim_probe *probe, int n_tokens,
                                     struct sim_prompt_point *point, struct baton_why *why)
{
    struct model_probe *model = (struct model_probe *)probe;
    double seconds[N_PASSES], warm_s;
    enum baton_err err = baton_seq_init(&model->seqs[0], model->machine.kv, n_tokens);
    if (err)
        return baton_fail(why, err, "no KV blocks for a prompt of %d tokens", n_tokens);
    /* The first run touches memory and code for the first time, and does not count. */
    err = time_prompt(model, n_tokens, &warm_s);
    for (int i = 0; i < N_PASSES && !err; i++)
        err = time_prompt(model, n_tokens, &seconds[i]);
    baton_seq_fini(&model->seqs[0]);
    if (err)
        return err;
    *point =
        (struct sim_prompt_point){.n_tokens = n_tokens, .compute_s = cli_median(seconds, N_PASSES)};
    add_over_median(seconds, N_PASSES, point->compute_s, &probe->pass);
    return BATON_OK;
}

/* ---- steps ---- */

/* Times steps. K and V may hold any values: the work does not depend on them. */
static enum baton_err time_steps(struct model_probe *model, int n, int n_prompt, double *seconds)
{
    enum baton_err err = BATON_OK;
    for (int i = 0; i < n; i++)
        model->seqs[i].n_tokens = n_prompt;
    for (int i = 0; i < N_STEPS && !err; i++) {
        int64_t begin_ns = baton_now_ns();
        err = baton_engine_decode(model->machine.engine, model->batch, model->ids, n,
                                  model->machine.logits);
        seconds[i] = baton_seconds(baton_now_ns() - begin_ns);
    }
    return err;
}

static enum baton_err measure_step(struct sim_probe *probe, int n, int n_prompt,
                                   struct sim_step_point *point, struct baton_why *why)
{
    struct model_probe *model = (struct model_probe *)probe;
    double seconds[N_STEPS];
    enum baton_err err = BATON_OK;
    int n_held = 0;
    for (; n_held < n && !err; n_held += !err)
        err = baton_seq_init(&model->seqs[n_held], model->machine.kv, n_prompt + N_STEPS);
    if (err)
        (void)baton_fail(why, err, "no KV blocks for %d sequences", n);
    else
        err = time_steps(model, n, n_prompt, seconds);
    for (int i = 0; i < n_held; i++)
        baton_seq_fini(&model->seqs[i]);
    if (err)
        return err;
    *point = (struct sim_step_point){
        .n = n, .positions = n_prompt + N_STEPS / 2.0, .step_s = cli_median(seconds, N_STEPS)};
    if (n == 1)
        add_over_median(seconds, N_STEPS, point->step_s, &probe->step);
    return BATON_OK;
}

/* ---- set up ---- */

static enum baton_err init(struct model_probe *model, struct baton_why *why)
{
    const struct plan_calibrate_options *options = model->probe.options;
    int max_rows = (int)(options->chunk > MAX_BATCH ? options->chunk : MAX_BATCH);
    int n_threads = (int)options->worker_cores;
    /* The KV cache holds the largest measurement: long contexts, or a full batch of short ones. */
    int n_long = 4 * (int)options->context_tokens, n_short = MAX_BATCH * 64;
    const struct bench_machine_options machine = {
        .name = options->model,
        .model = {.dtype = options->dtype, .n_threads = n_threads, .show_progress = true},
        .kv_dtype = "auto",
        .n_kv_tokens = n_long > n_short ? n_long : n_short,
        .engine = {.max_rows = max_rows, .n_threads = n_threads},
        .max_logits = MAX_BATCH};
    enum baton_err err = bench_machine_init(&model->machine, &machine, why);
    if (err)
        return err;
    int n_context = baton_model_info(model->machine.model)->n_context;
    if (options->context_tokens > n_context)
        return baton_fail(why, BATON_INVALID, "--context-tokens: must be at most %d, the model's",
                          n_context);
    model->ids = calloc((size_t)options->context_tokens + MAX_BATCH, sizeof *model->ids);
    model->seqs = calloc(MAX_BATCH, sizeof *model->seqs);
    model->batch = calloc(MAX_BATCH, sizeof *model->batch);
    if (!model->ids || !model->seqs || !model->batch)
        return BATON_NO_MEMORY;
    for (int i = 0; i < MAX_BATCH; i++)
        model->batch[i] = &model->seqs[i];
    return BATON_OK;
}

enum baton_err sim_probe_model(const struct plan_calibrate_options *options,
                               struct sim_costs *costs, struct baton_why *why)
{
    struct model_probe model = {.probe = {.options = options,
                                          .measure_prompt = measure_prompt,
                                          .measure_step = measure_step}};
    enum baton_err err = init(&model, why);
    if (!err)
        err = sim_probe_run(&model.probe, costs, why);
    free(model.ids);
    free(model.seqs);
    free(model.batch);
    bench_machine_fini(&model.machine);
    return err;
}
