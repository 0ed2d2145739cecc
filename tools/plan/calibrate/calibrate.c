#include "tools/plan/calibrate/calibrate.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/shapes.h"
#include "common/base/file.h"
#include "common/checkpoint/checkpoint.h"
#include "common/engine/model/model.h"
#include "tools/plan/costs/costs_file.h"

enum { OUTPUT_MAX_BYTES = 1 << 20, SHORT_PROMPT = 16, MIN_LONG_CHUNKS = 2, MAX_LONG_CHUNKS = 4 };
enum { LONG_BATCH = 4, MOST_MEASURED = 64 };
/* Sizes are measured in turn, and of every one the middle round counts: neighbours come and go. */
enum { N_ROUNDS = 3 };

/* ---- the plan ---- */

/* Room for some answer is left. */
static int long_prompt(const struct sim_options *options)
{
    int64_t n_chunks = (options->context_tokens - 128) / options->chunk;
    return (int)((n_chunks < MAX_LONG_CHUNKS ? n_chunks : MAX_LONG_CHUNKS) * options->chunk);
}

static enum baton_err check_sizes(const struct sim_options *options, struct baton_why *why)
{
    if (options->chunk >= 2 * SHORT_PROMPT &&
        long_prompt(options) >= MIN_LONG_CHUNKS * options->chunk)
        return BATON_OK;
    return baton_fail(why, BATON_INVALID,
                      "--chunk: must be from 32 to half of --context-tokens less 128 to calibrate, "
                      "not %lld with %lld",
                      (long long)options->chunk, (long long)options->context_tokens);
}

/* Ascending lengths up to a chunk, and a long one. */
static int prompt_lengths(const struct sim_options *options, int *lengths)
{
    static const int usual[] = {SHORT_PROMPT, 32, 64, 96, 128, 256, 512};
    int n = 0;
    for (size_t i = 0; i < sizeof usual / sizeof usual[0] && usual[i] < options->chunk; i++)
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

/* Batches of 1, 2, 4, ...; last, a few sequences with long contexts, and as much room again for
 * answers that last until all of them have begun. */
static int step_sizes(const struct sim_options *options, struct sim_step_point *points)
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
    measured->long_step = rounds[0][n - 1];
    return BATON_OK;
}

/* ---- to costs ---- */

static enum baton_err take_spread(struct ld_samples *samples, struct sim_spread *spread)
{
    bool failed = samples->failed;
    *spread = samples->n ? sim_spread_of(samples->values, (int)samples->n) : sim_spread_none();
    ld_samples_fini(samples);
    return failed ? BATON_NO_MEMORY : BATON_OK;
}

static enum baton_err take_spreads(struct sim_probe *probe, struct sim_core_costs *entry,
                                   struct sim_costs *costs)
{
    struct sim_spread way;
    enum baton_err pass_err = take_spread(&probe->pass, &entry->pass.spread);
    enum baton_err step_err = take_spread(&probe->step, &entry->step.spread);
    enum baton_err way_err = take_spread(&probe->way, &way);
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
    entry->pass.beside = fmax(beside.pass, 1);
    entry->step.beside = fmax(beside.step, 1);
    return err ? err : take_spreads(probe, entry, costs);
}

enum baton_err sim_probe_run(struct sim_probe *probe, struct sim_costs *costs,
                             struct baton_why *why)
{
    struct sim_measured measured = {.chunk = (int)probe->options->chunk};
    enum baton_err err = measure_prompts(probe, &measured, why);
    if (!err)
        err = measure_steps(probe, &measured, why);
    if (!err)
        err = fit(probe, &measured, costs, why);
    ld_samples_fini(&probe->pass);
    ld_samples_fini(&probe->step);
    ld_samples_fini(&probe->way);
    return err;
}

/* ---- the command ---- */

static enum baton_err read_shape(const char *path, struct baton_model_shape *shape,
                                 struct baton_why *why)
{
    struct baton_checkpoint *checkpoint = NULL;
    enum baton_err err = baton_checkpoint_open(path, &checkpoint, why);
    if (!err)
        err = baton_model_shape_of(checkpoint, shape, why);
    baton_checkpoint_close(checkpoint);
    return err;
}

/* What the model's shape tells: its name and its context's size. */
static enum baton_err describe(const struct sim_options *options, struct sim_costs *costs,
                               struct baton_why *why)
{
    const char *model = options->model ? options->model : options->url;
    const char *shape_name = options->model ? bench_shape_name(options->model) : NULL;
    struct baton_model_shape shape;
    enum baton_err err = BATON_OK;
    (void)snprintf(costs->model, sizeof costs->model, "%s %s", model, options->dtype);
    if (!options->model)
        return BATON_OK;
    if (shape_name)
        err = bench_shape_find("--model", shape_name, &shape, why);
    else
        err = read_shape(options->model, &shape, why);
    if (err)
        return err;
    int n_bytes = strcmp(options->dtype, "f32") ? 2 : 4; /* of a KV element, as --kv-dtype auto */
    costs->n_layers = shape.n_layers;
    costs->kv_token_bytes = 2.0 * shape.n_layers * shape.n_kv_heads * shape.head_dim * n_bytes;
    return BATON_OK;
}

static enum baton_err write_costs(const struct sim_costs *costs, const char *path,
                                  struct baton_why *why)
{
    struct baton_buf json;
    baton_buf_init(&json, OUTPUT_MAX_BYTES);
    struct baton_json_out out = baton_json_out(&json);
    sim_costs_file_put(costs, NULL, &out);
    if (!path)
        return cli_print(&json);
    baton_buf_putc(&json, '\n');
    FILE *file = fopen(path, "we");
    bool failed = !file || fwrite(json.data, 1, json.len, file) != json.len;
    if (file)
        failed |= fclose(file) != 0;
    enum baton_err err = baton_buf_err(&json);
    baton_buf_fini(&json);
    if (!err && failed)
        err = baton_fail(why, BATON_IO, "--out: %s could not be written", path);
    return err;
}

enum baton_err sim_calibrate(const struct sim_options *options, struct baton_why *why)
{
    struct sim_costs costs = {.way = sim_spread_none()};
    enum baton_err err = BATON_OK;
    if (!options->url && !options->model)
        return baton_fail(why, BATON_INVALID, "--calibrate: wants --url or --model");
    if (options->calibration)
        err = sim_costs_file_read(options->calibration, &costs, why);
    if (!err)
        err = check_sizes(options, why);
    if (!err)
        err = describe(options, &costs, why);
    if (!err)
        err = options->url ? sim_calibrate_url(options, &costs, why)
                           : sim_calibrate_model(options, &costs, why);
    return err ? err : write_costs(&costs, options->out, why);
}
