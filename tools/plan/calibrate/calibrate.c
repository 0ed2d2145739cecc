/* baton-plan calibrate: measures the costs of passes, steps, hand-offs and a request's way through
 * the gateway, on a server or in this process, and writes them to a file. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "common/base/array.h"
#include "engine/arch/spec_cost.h"
#include "engine/checkpoint/checkpoint.h"
#include "engine/kv/state.h"
#include "engine/model/model.h"
#include "tools/plan/calibrate/probe_model.h"
#include "tools/plan/calibrate/probe_url.h"
#include "tools/plan/costs/costs_file.h"
#include "tools/plan/plan.h"
#include "tools/support/machine/shapes.h"

enum { OUTPUT_MAX_BYTES = 1 << 20, USUAL_CONTEXT = 1024 };

typedef struct plan_calibrate_options options_type;

#define TEXT(field, name, fallback, help) BATON_ROW_TEXT(options_type, field, name, fallback, help)
#define INT(field, name, fallback, min, max, unit, help)                                           \
    BATON_ROW_INT(options_type, field, name, fallback, min, max, unit, help)

static const struct baton_option table[] = {
    TEXT(url, "url", NULL, "URL of an idle server with one prefill and one decode worker"),
    TEXT(model, "model", NULL,
         "model directory or shape:NAME: without --url measured in this process; with --url the "
         "model that is served, for the size of its context"),
    TEXT(dtype, "dtype", NULL, BATON_DTYPE_HELP),
    TEXT(cores, "cores", "own",
         "cores of the server's workers: own, pinned (each is also measured beside the other) or "
         "elastic"),
    INT(worker_cores, "worker-cores", "1", 1, 256, "",
        "cores of each worker while the other is idle"),
    INT(chunk, "chunk", "0", 0, 1 << 16, "tokens",
        "prompt tokens per prefill step; 0 = what a worker takes for --model, or 128 without one"),
    INT(max_batch, "max-batch", "64", 1, 1024, "sequences", "most sequences per decode step"),
    INT(context_tokens, "context-tokens", "0", 0, 1 << 24, "tokens",
        "the model's context; 0 = 1024, or what two chunks need"),
    INT(seed, "seed", "1", 1, 9e15, "", "seed of the prompts"),
    TEXT(calibration, "calibration", NULL,
         "file of costs for other core counts, to which these are added"),
    TEXT(out, "out", NULL, "file for the costs; unset: stdout"),
};

/* ---- the model ---- */

/* Reads a model's spec, and the dtype that it has by default. */
static enum baton_err read_spec(const char *path, struct baton_spec *spec, const char **dtype,
                                struct baton_why *why)
{
    struct baton_checkpoint *checkpoint = NULL;
    enum baton_err err = baton_checkpoint_open(path, &checkpoint, why);
    if (!err)
        err = baton_model_spec_of(checkpoint, spec, why);
    if (!err)
        *dtype = baton_model_default_dtype(checkpoint);
    baton_checkpoint_close(checkpoint);
    return err;
}

/* Reads the model's name, its context's size and its workers' chunk from its shape. */
static enum baton_err describe(const struct plan_calibrate_options *options,
                               struct sim_costs *costs, struct baton_why *why)
{
    const char *model = options->model ? options->model : options->url;
    const char *shape_name = options->model ? bench_shape_name(options->model) : NULL;
    const struct baton_arch *arch;
    const char *dtype = "f32";
    struct baton_spec spec;
    enum baton_err err = BATON_OK;
    /* Without a model the chunk of dense models holds. */
    costs->chunk = BATON_DENSE_CHUNK;
    if (shape_name)
        err = bench_shape_find("--model", shape_name, &arch, &spec, why);
    else if (options->model)
        err = read_spec(options->model, &spec, &dtype, why);
    if (err)
        return err;
    if (options->dtype)
        dtype = options->dtype;
    (void)snprintf(costs->model, sizeof costs->model, "%s %s", model, dtype);
    if (!options->model)
        return BATON_OK;
    int n_bytes = strcmp(dtype, "f32") ? 2 : 4; /* of a KV element, as with --kv-dtype auto */
    costs->chunk = baton_spec_chunk(&spec);
    costs->n_layers = 0;
    /* Some layers use the K and V of another one. */
    for (int i = 0; i < spec.n_layers; i++)
        costs->n_layers += baton_spec_stores_kv(&spec, i);
    costs->kv_token_bytes = baton_spec_kv_elements(&spec) * n_bytes;
    for (int i = 0; i < spec.n_layers; i++)
        if (baton_spec_has_state(&spec, i))
            costs->state_bytes += (double)baton_state_bytes(&spec.state);
    costs->window = (struct sim_window){.n_tokens = baton_spec_window(&spec),
                                        .share = baton_spec_windowed_share(&spec)};
    return BATON_OK;
}

/* ---- the command ---- */

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

/* Sets the sizes that were left to the model. */
static void choose_sizes(struct plan_calibrate_options *options, struct sim_costs *costs)
{
    if (options->chunk)
        costs->chunk = (int)options->chunk;
    options->chunk = costs->chunk;
    if (options->context_tokens)
        return;
    options->context_tokens = sim_probe_context(costs->chunk);
    if (options->context_tokens < USUAL_CONTEXT)
        options->context_tokens = USUAL_CONTEXT;
}

static enum baton_err run(const void *arg, struct baton_why *why)
{
    struct plan_calibrate_options sized = *(const struct plan_calibrate_options *)arg;
    const struct plan_calibrate_options *options = &sized;
    struct sim_costs costs = {.way = sim_spread_none()};
    enum baton_err err = BATON_OK;
    if (!options->url && !options->model)
        return baton_fail(why, BATON_INVALID, "give --url or --model");
    if (options->calibration)
        err = sim_costs_file_read(options->calibration, &costs, why);
    if (!err)
        err = describe(options, &costs, why);
    choose_sizes(&sized, &costs);
    if (!err)
        err = options->url ? sim_probe_url(options, &costs, why)
                           : sim_probe_model(options, &costs, why);
    return err ? err : write_costs(&costs, options->out, why);
}

enum baton_err plan_calibrate(int argc, char **argv, struct baton_why *why)
{
    struct plan_calibrate_options options = {0};
    struct baton_config config = {.process = "baton-plan calibrate",
                                  .env_prefix = "BATON_PLAN",
                                  .summary = "measures the costs with which fleets are simulated",
                                  .options = table,
                                  .n_options = BATON_N_OF(table)};
    return cli_run(&config, &options, argc, argv, run, why);
}
