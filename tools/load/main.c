/* baton-load, the load generator: reads the options, opens the outputs, runs, and reports. */
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "tools/load/http/client.h"
#include "tools/load/report/report.h"

enum { JSON_MAX_BYTES = 16 << 20 };

struct outputs {
    FILE *json, *csv, *itl; /* NULL: not requested */
    FILE *table;
};

struct session {
    struct ld_command command;
    struct ld_client client;
    struct outputs outputs;
    struct ld_run runs[CLI_LIST_MAX];
    int n_runs;
};

/* ---- outputs ---- */

/* Opens the files before the run, so that a wrong name does not cost a run. */
static enum baton_err open_outputs(const struct ld_options *options, struct outputs *outputs,
                                   struct baton_why *why)
{
    bool json_to_stdout = options->json && !strcmp(options->json, "-");
    outputs->table = json_to_stdout ? NULL : stdout;
    enum baton_err err = BATON_OK;
    if (json_to_stdout)
        outputs->json = stdout;
    else
        err = cli_open_output("--json", options->json, &outputs->json, why);
    if (!err)
        err = cli_open_output("--csv", options->csv, &outputs->csv, why);
    if (!err)
        err = cli_open_output("--itl-csv", options->itl_csv, &outputs->itl, why);
    if (!err && outputs->csv)
        ld_report_csv_head(outputs->csv);
    if (!err && outputs->itl)
        ld_report_itl_head(outputs->itl);
    return err;
}

static enum baton_err close_outputs(struct outputs *outputs, struct baton_why *why)
{
    FILE *files[] = {outputs->json, outputs->csv, outputs->itl, outputs->table};
    return cli_close_outputs(files, BATON_N_OF(files), why);
}

static void report_run(struct session *session, struct ld_run *run)
{
    struct outputs *outputs = &session->outputs;
    if (outputs->table) {
        ld_report_run(&session->command, run, outputs->table);
        (void)fflush(outputs->table);
    }
    if (outputs->csv)
        ld_report_csv(&session->command, run, outputs->csv);
    if (outputs->itl)
        ld_report_itl(run, outputs->itl);
}

static enum baton_err report_all(struct session *session)
{
    struct outputs *outputs = &session->outputs;
    struct baton_buf json;
    if (outputs->table && session->n_runs > 1)
        ld_report_runs(session->runs, session->n_runs, outputs->table);
    if (!outputs->json)
        return BATON_OK;
    baton_buf_init(&json, JSON_MAX_BYTES);
    ld_report_json(&session->command, session->runs, session->n_runs, &json);
    enum baton_err err = baton_buf_err(&json);
    if (!err && fwrite(json.data, 1, json.len, outputs->json) != json.len)
        err = BATON_IO;
    baton_buf_fini(&json);
    return err;
}

/* ---- runs ---- */

static enum baton_err run_one(struct session *session, int concurrency, struct baton_why *why)
{
    struct ld_run *run = &session->runs[session->n_runs];
    enum baton_err err = ld_run(&session->client.stand, session->n_runs, concurrency, run, why);
    if (err)
        return err;
    session->n_runs++;
    report_run(session, run);
    ld_run_fini(run);
    return BATON_OK;
}

/* Fails when no request was answered, so that a script notices. */
static enum baton_err check_answered(const struct session *session, struct baton_why *why)
{
    uint64_t n_sent = 0, n_failed = 0;
    for (int i = 0; i < session->n_runs; i++) {
        n_sent += session->runs[i].figures.n_sent;
        n_failed += session->runs[i].figures.n_by_outcome[LD_FAILED];
    }
    if (!n_sent || n_failed < n_sent)
        return BATON_OK;
    return baton_fail(why, BATON_PEER, "all %llu requests failed, as with: %s",
                      (unsigned long long)n_sent, session->runs[0].figures.failures[0].text);
}

static enum baton_err run_all(struct session *session, struct baton_why *why)
{
    const struct cli_list *concurrency = &session->command.concurrency;
    enum baton_err err = BATON_OK;
    if (session->outputs.table)
        ld_report_head(&session->command, session->outputs.table);
    if (!concurrency->n)
        err = run_one(session, 0, why);
    for (int i = 0; i < concurrency->n && !err && !session->client.stand.stopping; i++)
        err = run_one(session, concurrency->values[i], why);
    if (!err)
        err = report_all(session);
    return err ? err : check_answered(session, why);
}

/* Resolves the server before files are opened: an unreachable server leaves no empty files. */
static enum baton_err measure(struct session *session, struct baton_why *why)
{
    const struct ld_command *command = &session->command;
    enum baton_err err = ld_client_open(&session->client, command, why);
    if (err)
        return err;
    err = open_outputs(command->options, &session->outputs, why);
    if (!err)
        err = run_all(session, why);
    ld_client_close(&session->client);
    enum baton_err close_err = close_outputs(&session->outputs, err ? NULL : why);
    return err ? err : close_err;
}

static enum baton_err run(const void *arg, struct baton_why *why)
{
    struct session *session = calloc(1, sizeof *session);
    if (!session)
        return BATON_NO_MEMORY;
    enum baton_err err = ld_command_init(&session->command, arg, why);
    if (!err) {
        err = measure(session, why);
        ld_command_fini(&session->command);
    }
    free(session);
    return err;
}

int main(int argc, char **argv)
{
    struct baton_why why = {.text = ""};
    struct ld_options options = {0};
    struct baton_config config = {.process = "baton-load",
                                  .env_prefix = "BATON_LOAD",
                                  .summary = "measures a server through HTTP, under load",
                                  .options = ld_option_table,
                                  .n_options = ld_n_options};
    return cli_status("baton-load", cli_run(&config, &options, argc, argv, run, &why), &why);
}
