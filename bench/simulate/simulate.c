/* The simulator's command: reads the options, runs every layout under every load, reports. */
#include <stdlib.h>
#include <string.h>

#include "bench/simulate/calibrate.h"
#include "bench/simulate/report.h"

enum { JSON_MAX_BYTES = 64 << 20 };

struct bench {
    struct sim_command command;
    FILE *json, *csv, *table; /* NULL: not wanted */
    struct sim_run *runs;
    int n_runs;
};

/* ---- outputs ---- */

static enum baton_err open_outputs(struct bench *bench, struct baton_why *why)
{
    const struct sim_options *options = bench->command.options;
    bool json_to_stdout = options->json && !strcmp(options->json, "-");
    enum baton_err err = BATON_OK;
    bench->table = json_to_stdout ? NULL : stdout;
    if (json_to_stdout)
        bench->json = stdout;
    else
        err = cli_open_output("--json", options->json, &bench->json, why);
    if (!err)
        err = cli_open_output("--csv", options->csv, &bench->csv, why);
    if (!err && bench->csv)
        sim_report_csv_head(bench->csv);
    if (!err && bench->table)
        sim_report_text_head(&bench->command, bench->table);
    return err;
}

static enum baton_err close_outputs(struct bench *bench, struct baton_why *why)
{
    FILE *files[] = {bench->json, bench->csv, bench->table};
    return cli_close_outputs(files, sizeof files / sizeof files[0], why);
}

static enum baton_err write_json(struct bench *bench)
{
    struct baton_buf json;
    if (!bench->json)
        return BATON_OK;
    baton_buf_init(&json, JSON_MAX_BYTES);
    sim_report_json(&bench->command, bench->runs, bench->n_runs, &json);
    enum baton_err err = baton_buf_err(&json);
    if (!err && fwrite(json.data, 1, json.len, bench->json) != json.len)
        err = BATON_IO;
    baton_buf_fini(&json);
    return err;
}

/* ---- runs ---- */

static enum baton_err run_one(struct bench *bench, const struct sim_layout *layout, int concurrency,
                              struct baton_why *why)
{
    struct sim_command *command = &bench->command;
    struct sim_run *run = &bench->runs[bench->n_runs];
    command->settings.load.concurrency = concurrency;
    run->concurrency = concurrency;
    enum baton_err err = sim_run(&command->settings, layout, &run->results, why);
    if (err)
        return err;
    bench->n_runs++;
    if (bench->table) {
        sim_report_text(run, ld_slo_is_set(&command->settings.slo), bench->table);
        (void)fflush(bench->table);
    }
    if (bench->csv)
        sim_report_csv(command, run, bench->csv);
    return BATON_OK;
}

static enum baton_err run_all(struct bench *bench, struct baton_why *why)
{
    const struct sim_command *command = &bench->command;
    enum baton_err err = BATON_OK;
    for (int i = 0; i < command->layouts.n && !err; i++) {
        const struct sim_layout *layout = &command->layouts.items[i];
        if (!command->concurrency.n)
            err = run_one(bench, layout, 0, why);
        for (int k = 0; k < command->concurrency.n && !err; k++)
            err = run_one(bench, layout, command->concurrency.values[k], why);
    }
    return err ? err : write_json(bench);
}

static enum baton_err simulate(struct bench *bench, struct baton_why *why)
{
    enum { MAX_RUNS = SIM_MAX_LAYOUTS * CLI_LIST_MAX };
    bench->runs = calloc(MAX_RUNS, sizeof *bench->runs);
    if (!bench->runs)
        return BATON_NO_MEMORY;
    enum baton_err err = open_outputs(bench, why);
    if (!err)
        err = run_all(bench, why);
    enum baton_err close_err = close_outputs(bench, err ? NULL : why);
    free(bench->runs);
    return err ? err : close_err;
}

static enum baton_err run(const void *arg, struct baton_why *why)
{
    const struct sim_options *options = arg;
    struct bench bench = {.n_runs = 0};
    if (options->calibrate)
        return sim_calibrate(options, why);
    enum baton_err err = sim_command_init(&bench.command, options, why);
    if (err)
        return err;
    err = simulate(&bench, why);
    sim_command_fini(&bench.command);
    return err;
}

enum baton_err bench_simulate(int argc, char **argv, struct baton_why *why)
{
    struct sim_options options = {0};
    struct baton_config config = {.process = "baton-bench simulate",
                                  .env_prefix = "BATON_BENCH",
                                  .summary = "predicts fleets that this machine can not run, from "
                                             "costs measured on it",
                                  .options = sim_option_table,
                                  .n_options = sim_n_options};
    return cli_run(&config, &options, argc, argv, run, why);
}
