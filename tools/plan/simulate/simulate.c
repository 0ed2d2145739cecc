/* baton-plan simulate: reads the options, runs every layout under every load, and reports. */
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "tools/plan/plan.h"
#include "tools/plan/simulate/report.h"

enum { JSON_MAX_BYTES = 64 << 20 };

struct session {
    struct sim_command command;
    FILE *json, *csv, *table; /* NULL: not requested */
    struct sim_run *runs;
    int n_runs;
};

/* ---- outputs ---- */

static enum baton_err open_outputs(struct session *session, struct baton_why *why)
{
    const struct sim_options *options = session->command.options;
    bool json_to_stdout = options->json && !strcmp(options->json, "-");
    enum baton_err err = BATON_OK;
    session->table = json_to_stdout ? NULL : stdout;
    if (json_to_stdout)
        session->json = stdout;
    else
        err = cli_open_output("--json", options->json, &session->json, why);
    if (!err)
        err = cli_open_output("--csv", options->csv, &session->csv, why);
    if (!err && session->csv)
        sim_report_csv_head(session->csv);
    if (!err && session->table)
        sim_report_text_head(&session->command, session->table);
    return err;
}

static enum baton_err close_outputs(struct session *session, struct baton_why *why)
{
    FILE *files[] = {session->json, session->csv, session->table};
    return cli_close_outputs(files, BATON_N_OF(files), why);
}

static enum baton_err write_json(struct session *session)
{
    struct baton_buf json;
    if (!session->json)
        return BATON_OK;
    baton_buf_init(&json, JSON_MAX_BYTES);
    sim_report_json(&session->command, session->runs, session->n_runs, &json);
    enum baton_err err = baton_buf_err(&json);
    if (!err && fwrite(json.data, 1, json.len, session->json) != json.len)
        err = BATON_IO;
    baton_buf_fini(&json);
    return err;
}

/* ---- runs ---- */

static enum baton_err run_one(struct session *session, const struct sim_layout *layout,
                              int concurrency, struct baton_why *why)
{
    struct sim_command *command = &session->command;
    struct sim_run *run = &session->runs[session->n_runs];
    command->settings.load.concurrency = concurrency;
    run->concurrency = concurrency;
    enum baton_err err = sim_run(&command->settings, layout, &run->results, why);
    if (err)
        return err;
    session->n_runs++;
    if (session->table) {
        sim_report_text(run, ld_slo_is_set(&command->settings.slo), session->table);
        (void)fflush(session->table);
    }
    if (session->csv)
        sim_report_csv(command, run, session->csv);
    return BATON_OK;
}

static enum baton_err run_all(struct session *session, struct baton_why *why)
{
    const struct sim_command *command = &session->command;
    enum baton_err err = BATON_OK;
    for (int i = 0; i < command->layouts.n && !err; i++) {
        const struct sim_layout *layout = &command->layouts.items[i];
        if (!command->concurrency.n)
            err = run_one(session, layout, 0, why);
        for (int k = 0; k < command->concurrency.n && !err; k++)
            err = run_one(session, layout, command->concurrency.values[k], why);
    }
    return err ? err : write_json(session);
}

static enum baton_err simulate(struct session *session, struct baton_why *why)
{
    enum { MAX_RUNS = SIM_MAX_LAYOUTS * CLI_LIST_MAX };
    session->runs = calloc(MAX_RUNS, sizeof *session->runs);
    if (!session->runs)
        return BATON_NO_MEMORY;
    enum baton_err err = open_outputs(session, why);
    if (!err)
        err = run_all(session, why);
    enum baton_err close_err = close_outputs(session, err ? NULL : why);
    free(session->runs);
    return err ? err : close_err;
}

static enum baton_err run(const void *arg, struct baton_why *why)
{
    const struct sim_options *options = arg;
    struct session session = {.n_runs = 0};
    enum baton_err err = sim_command_init(&session.command, options, why);
    if (err)
        return err;
    err = simulate(&session, why);
    sim_command_fini(&session.command);
    return err;
}

enum baton_err plan_simulate(int argc, char **argv, struct baton_why *why)
{
    struct sim_options options = {0};
    struct baton_config config = {.process = "baton-plan simulate",
                                  .env_prefix = "BATON_PLAN",
                                  .summary = "predicts fleets that this machine cannot run, from "
                                             "costs measured on it",
                                  .options = sim_option_table,
                                  .n_options = sim_n_options};
    return cli_run(&config, &options, argc, argv, run, why);
}
