#include "tools/plan/calibrate/probe.h"

#include <math.h>

#include "common/base/array.h"
#include "tools/plan/costs/costs_file.h"

enum { SHORT_PROMPT = 16, MIN_LONG_CHUNKS = 2, MAX_LONG_CHUNKS = 4, ANSWER_TOKENS = 128 };
enum { LONG_BATCH = 4, MOST_MEASURED = 64 };
/* Sizes are measured in turn, and the median round of each counts, because the load of other
 * programs on the machine varies. */
enum { N_ROUNDS = 3 };

/* ---- the plan ---- */

/* Returns the length of the longest prompt, which leaves some context for an answer. */
static int long_prompt(const struct plan_calibrate_options *options)
{
    int64_t n_chunks = (options->context_tokens - ANSWER_TOKENS) / options->chunk;
    return (int)((n_chunks < MAX_LONG_CHUNKS ? n_chunks : MAX_LONG_CHUNKS) * options->chunk);
}

int sim_probe_context(int chunk)
{
    return MIN_LONG_CHUNKS * chunk + ANSWER_TOKENS;
}

static enum baton_err check_sizes(const struct plan_calibrate_options *options,
                                  struct baton_why *why)
{
    if (options->chunk >= 2 * SHORT_PROMPT &&
        long_prompt(options) >= MIN_LONG_CHUNKS * options->chunk)
        return BATON_OK;
    return baton_fail(why, BATON_INVALID,
                      "--chunk: must be from 32 to half of --context-tokens less 128 to calibrate, "
                      "not %lld with %lld",
                      (long long)options->chunk, (long long)options->context_tokens);
}

/* Fills in ascending lengths up to a chunk, and a long one. */
static int prompt_lengths(const struct plan_calibrate_options *options, int *lengths)
{
    static const int usual[] = {SHORT_PROMPT, 32, 64, 96, 128, 256, 512};
    int n = 0;
    for (size_t i = 0; i < BATON_N_OF(usual) && usual[i] < options->chunk; i++)
        lengths[n++] = usual[i];
    lengths[n++] = (int)options->chunk;
    lengths[n++] = long_prompt(options);
    return n;
}

static double middle(double a, double b, double c)
{
    return fmax(fmin(a, b), fmin(fmax(a, b), c));
}

static struct sim_prompt_point middle_prompt(const struct sim_prompt_point *a,
                                             const struct sim_prompt_point *b,
                                             const struct sim_prompt_point *c)
{
    return (struct sim_prompt_point){.n_tokens = a->n_tokens,
                                     .compute_s = middle(a->compute_s, b->compute_s, c->compute_s),
                                     .before_s = middle(a->before_s, b->before_s, c->before_s),
                                     .after_s = middle(a->after_s, b->after_s, c->after_s),
                                     .second_s = middle(a->second_s, b->second_s, c->second_s)};
}

static enum baton_err measure_prompts(struct sim_probe *probe, struct sim_measured *measured,
                                      struct baton_why *why)
{
    struct sim_prompt_point rounds[N_ROUNDS][SIM_MAX_POINTS];
    int lengths[SIM_MAX_POINTS];
    int n = prompt_lengths(probe->options, lengths);
    for (int round = 0; round < N_ROUNDS; round++)
        for (int i = 0; i < n; i++) {
            enum baton_err err = probe->measure_prompt(probe, lengths[i], &rounds[round][i], why);
            if (err)
                return err;
        }
    for (int i = 0; i < n; i++)
        measured->prompts[i] = middle_prompt(&rounds[0][i], &rounds[1][i], &rounds[2][i]);
    measured->n_prompts = n;
    return BATON_OK;
}

/* Fills in batches of 1, 2, 4, ... and last, a few sequences with long contexts. As much context is
 * left for their answers, which must last until all sequences have begun. */
static int step_sizes(const struct plan_calibrate_options *options, struct sim_step_point *points)
{
    int max_batch = (int)options->max_batch, n = 0;
    for (int size = 1; size <= max_batch && size <= MOST_MEASURED; size *= 2)
        points[n++] = (struct sim_step_point){.n = size, .positions = SHORT_PROMPT};
    points[n++] = (struct sim_step_point){.n = max_batch < LONG_BATCH ? 1 : LONG_BATCH,
                                          .positions = (double)(options->context_tokens / 2)};
    return n;
}

static enum baton_err measure_steps(struct sim_probe *probe, struct sim_measured *measured,
                                    struct baton_why *why)
{
    struct sim_step_point rounds[N_ROUNDS][SIM_MAX_POINTS], sizes[SIM_MAX_POINTS];
    int n = step_sizes(probe->options, sizes);
    for (int round = 0; round < N_ROUNDS; round++)
        for (int i = 0; i < n; i++) {
            enum baton_err err = probe->measure_step(
                probe, (int)sizes[i].n, (int)sizes[i].positions, &rounds[round][i], why);
            if (err)
                return err;
        }
    for (int i = 0; i < n; i++) {
        rounds[0][i].step_s = middle(rounds[0][i].step_s, rounds[1][i].step_s, rounds[2][i].step_s);
        measured->steps[i] = rounds[0][i];
    }
    measured->n_steps = n - 1;
    measured->long_step = rounds[0][n - 1]; /* step_sizes() puts it last */
    return BATON_OK;
}

/* ---- from measurements to costs ---- */

static enum baton_err set_spread(struct ld_samples *samples, struct sim_spread *spread)
{
    bool failed = samples->failed;
    *spread = samples->n ? sim_spread_of(samples->values, (int)samples->n) : sim_spread_none();
    ld_samples_fini(samples);
    return failed ? BATON_NO_MEMORY : BATON_OK;
}

static enum baton_err set_spreads(struct sim_probe *probe, struct sim_core_costs *entry,
                                  struct sim_costs *costs)
{
    struct sim_spread way;
    enum baton_err pass_err = set_spread(&probe->pass, &entry->pass.spread);
    enum baton_err step_err = set_spread(&probe->step, &entry->step.spread);
    enum baton_err way_err = set_spread(&probe->way, &way);
    if (probe->has_ways)
        costs->way = way;
    return pass_err ? pass_err : step_err ? step_err : way_err;
}

static enum baton_err fit(struct sim_probe *probe, const struct sim_measured *measured,
                          struct sim_costs *costs, struct baton_why *why)
{
    struct sim_core_costs *entry = sim_costs_file_entry(costs, (int)probe->options->worker_cores);
    struct sim_beside beside = {1, 1};
    enum baton_err err = BATON_OK;
    if (!entry)
        return baton_fail(why, BATON_LIMIT, "--worker-cores: %s has costs for %d kinds already",
                          probe->options->calibration, SIM_MAX_CORES);
    sim_fit_costs(measured, entry);
    if (probe->has_ways)
        sim_fit_ways(measured, entry, costs);
    if (probe->measure_beside)
        err = probe->measure_beside(probe, entry, &beside, why);
    /* Noise must not make a worker faster beside another: the factor is at least 1. */
    entry->pass.beside = fmax(beside.pass, 1);
    entry->step.beside = fmax(beside.step, 1);
    return err ? err : set_spreads(probe, entry, costs);
}

enum baton_err sim_probe_run(struct sim_probe *probe, struct sim_costs *costs,
                             struct baton_why *why)
{
    struct sim_measured measured = {.chunk = (int)probe->options->chunk, .window = costs->window};
    enum baton_err err = check_sizes(probe->options, why);
    if (!err)
        err = measure_prompts(probe, &measured, why);
    if (!err)
        err = measure_steps(probe, &measured, why);
    if (!err)
        err = fit(probe, &measured, costs, why);
    ld_samples_fini(&probe->pass);
    ld_samples_fini(&probe->step);
    ld_samples_fini(&probe->way);
    return err;
}
