/* The load generator: reads the options, opens what is written to, runs, reports. */
#include <stdlib.h>
#include <string.h>

#include "bench/serve/client.h"
#include "bench/serve/report.h"

enum { JSON_MAX_BYTES = 16 << 20 };

struct outputs {
    FILE *json, *csv, *itl; /* NULL: not wanted */
    FILE *table;
};

struct bench {
    struct sv_command command;
    struct sv_client client;
    struct outputs outputs;
    struct sv_run runs[CLI_LIST_MAX];
    int n_runs;
};

/* ---- outputs ---- */

/* Before the run: a name that can not be written should not cost one. */
static enum baton_err open_outputs(const struct sv_options *options, struct outputs *outputs,
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
        sv_report_csv_head(outputs->csv);
    if (!err && outputs->itl)
        sv_report_itl_head(outputs->itl);
    return err;
}

static enum baton_err close_outputs(struct outputs *outputs, struct baton_why *why)
{
    FILE *files[] = {outputs->json, outputs->csv, outputs->itl, outputs->table};
    return cli_close_outputs(files, sizeof files / sizeof files[0], why);
}

static void report_run(struct bench *bench, struct sv_run *run)
{
    struct outputs *outputs = &bench->outputs;
    if (outputs->table) {
        sv_report_run(&bench->command, run, outputs->table);
        (void)fflush(outputs->table);
    }
    if (outputs->csv)
        sv_report_csv(&bench->command, run, outputs->csv);
    if (outputs->itl)
        sv_report_itl(run, outputs->itl);
}

static enum baton_err report_all(struct bench *bench)
{
    struct outputs *outputs = &bench->outputs;
    struct baton_buf json;
    if (outputs->table && bench->n_runs > 1)
        sv_report_runs(bench->runs, bench->n_runs, outputs->table);
    if (!outputs->json)
        return BATON_OK;
    baton_buf_init(&json, JSON_MAX_BYTES);
    sv_report_json(&bench->command, bench->runs, bench->n_runs, &json);
    enum baton_err err = baton_buf_err(&json);
    if (!err && fwrite(json.data, 1, json.len, outputs->json) != json.len)
        err = BATON_IO;
    baton_buf_fini(&json);
    return err;
}

/* ---- runs ---- */

static enum baton_err run_one(struct bench *bench, int concurrency, struct baton_why *why)
{
    struct sv_run *run = &bench->runs[bench->n_runs];
    enum baton_err err = sv_run(&bench->client.stand, bench->n_runs, concurrency, run, why);
    if (err)
        return err;
    bench->n_runs++;
    report_run(bench, run);
    sv_run_fini(run);
    return BATON_OK;
}

/* A script should notice a server that answers nothing. */
static enum baton_err check_answered(const struct bench *bench, struct baton_why *why)
{
    uint64_t n_sent = 0, n_failed = 0;
    for (int i = 0; i < bench->n_runs; i++) {
        n_sent += bench->runs[i].figures.n_sent;
        n_failed += bench->runs[i].figures.n_by_outcome[SV_FAILED];
    }
    if (!n_sent || n_failed < n_sent)
        return BATON_OK;
    return baton_fail(why, BATON_PEER, "all %llu requests failed, as with: %s",
                      (unsigned long long)n_sent, bench->runs[0].figures.failures[0].text);
}

static enum baton_err run_all(struct bench *bench, struct baton_why *why)
{
    const struct cli_list *concurrency = &bench->command.concurrency;
    enum baton_err err = BATON_OK;
    if (bench->outputs.table)
        sv_report_head(&bench->command, bench->outputs.table);
    if (!concurrency->n)
        err = run_one(bench, 0, why);
    for (int i = 0; i < concurrency->n && !err && !bench->client.stand.stopping; i++)
        err = run_one(bench, concurrency->values[i], why);
    if (!err)
        err = report_all(bench);
    return err ? err : check_answered(bench, why);
}

/* Who can not be reached is told of before files are opened. */
static enum baton_err serve(struct bench *bench, struct baton_why *why)
{
    const struct sv_command *command = &bench->command;
    enum baton_err err = sv_client_open(&bench->client, command, why);
    if (err)
        return err;
    err = open_outputs(command->options, &bench->outputs, why);
    if (!err)
        err = run_all(bench, why);
    sv_client_close(&bench->client);
    enum baton_err close_err = close_outputs(&bench->outputs, err ? NULL : why);
    return err ? err : close_err;
}

static enum baton_err run(const void *arg, struct baton_why *why)
{
    struct bench *bench = calloc(1, sizeof *bench);
    if (!bench)
        return BATON_NO_MEMORY;
    enum baton_err err = sv_command_init(&bench->command, arg, why);
    if (!err) {
        err = serve(bench, why);
        sv_command_fini(&bench->command);
    }
    free(bench);
    return err;
}

enum baton_err bench_serve(int argc, char **argv, struct baton_why *why)
{
    struct sv_options options = {0};
    struct baton_config config = {.process = "baton-bench serve",
                                  .env_prefix = "BATON_BENCH",
                                  .summary = "measures a server through HTTP, under load",
                                  .options = sv_option_table,
                                  .n_options = sv_n_options};
    return cli_run(&config, &options, argc, argv, run, why);
}
