/* baton status: shows processes, readiness and workers, and sums them up in its exit status. */
#include <stdio.h>
#include <string.h>

#include "common/base/array.h"
#include "common/base/json.h"
#include "tools/baton/commands.h"
#include "tools/baton/fleet/proc.h"
#include "tools/baton/fleet/readiness.h"
#include "tools/support/cli.h"

enum { HTTP_OK = 200, MINUTE_S = 60, HOUR_S = 3600, DAY_S = 86400, TIME_BYTES = 32 };

int bt_exit_status;

struct options {
    const char *state;
};

static const struct baton_option option_table[] = {
    BATON_ROW_TEXT(struct options, state, "state", NULL,
                   "state directory of the fleet, as given to `baton up`"),
};

static void put_time(int64_t seconds, char text[TIME_BYTES])
{
    int used = 0;
    if (seconds >= DAY_S)
        used = snprintf(text, TIME_BYTES, "%d-", (int)(seconds / DAY_S));
    (void)snprintf(text + used, TIME_BYTES - (size_t)used, "%02d:%02d:%02d",
                   (int)(seconds % DAY_S / HOUR_S), (int)(seconds % HOUR_S / MINUTE_S),
                   (int)(seconds % MINUTE_S));
}

/* True when the process runs. */
static bool show_process(const struct bt_state *state, const char *name)
{
    struct bt_proc proc;
    char up[TIME_BYTES];
    int n_restarts = 0;
    pid_t pid = bt_state_process(state, name, &n_restarts);
    if (!pid || !bt_proc_get(pid, &proc)) {
        (void)printf("%-12s %8s %12s %12s %8d\n", name, "-", "ended", "", n_restarts);
        return false;
    }
    put_time(proc.age_s, up);
    (void)printf("%-12s %8d %12s %9lld MB %8d\n", name, (int)pid, up,
                 (long long)(proc.memory_bytes >> 20), n_restarts);
    return true;
}

/* Writes one worker a line. */
static void show_body(const struct bt_answer *answer)
{
    const char *body = baton_buf_text(&answer->body);
    (void)fputs("  ", stdout);
    for (const char *p = body; *p; p++) {
        (void)putchar(*p);
        if (p[0] == ',' && p > body && p[-1] == '}' &&
            strncmp(p + 1 + strspn(p + 1, " "), "{", 1) == 0)
            (void)fputs("\n  ", stdout);
    }
    (void)putchar('\n');
}

static void put_gigabytes(const struct baton_json *worker, const char *key)
{
    (void)printf(" %9.2f GB", baton_json_number(baton_json_get(worker, key)) / 1e9);
}

/* The memory of each worker's weights and KV cache. */
static void show_memory(const struct bt_answer *answer)
{
    static const char *const keys[] = {"weight_bytes", "kv_used_bytes", "kv_backed_bytes",
                                       "kv_cap_bytes"};
    struct baton_json *root = NULL;
    if (baton_json_parse(baton_buf_text(&answer->body), answer->body.len, &root, NULL))
        return;
    const struct baton_json *workers = baton_json_get(root, "workers");
    (void)printf("\n%-12s %12s %12s %12s %12s\n", "WORKER", "WEIGHTS", "KV USED", "KV BACKED",
                 "KV CAP");
    for (size_t i = 0; i < baton_json_size(workers); i++) {
        const struct baton_json *worker = baton_json_at(workers, i);
        const char *id = baton_json_string(baton_json_get(worker, "id"), NULL);
        (void)printf("%-12s", id ? id : "");
        for (size_t k = 0; k < BATON_N_OF(keys); k++)
            put_gigabytes(worker, keys[k]);
        (void)putchar('\n');
    }
    baton_json_free(root);
}

/* True when the gateway answered with 200. */
static bool show_answer(const struct bt_server *server, const char *path, struct bt_answer *answer)
{
    struct baton_why why = {.text = ""};
    enum baton_err err = bt_fleet_get(server, path, answer, &why);
    bool is_list = !strcmp(path, "/workers");
    (void)printf("GET %s:%s", path, is_list ? "\n" : " ");
    if (err)
        (void)printf("%s\n", *why.text ? why.text : baton_err_text(err));
    else if (!is_list)
        (void)printf("%s\n", baton_buf_text(&answer->body));
    else
        show_body(answer);
    return !err && answer->status == HTTP_OK;
}

/* True when the gateway reports all workers ready. */
static bool show_fleet(const struct bt_state *state)
{
    struct bt_fleet_file file;
    struct bt_server server;
    struct bt_answer answer;
    struct baton_why why = {.text = ""};
    enum baton_err err = bt_fleet_file_read(state, &file, &why);
    if (!err)
        err = bt_fleet_server(&file, &server, &why);
    if (err) {
        (void)printf("the gateway cannot be reached: %s\n", why.text);
        return false;
    }
    bt_answer_init(&answer);
    bool ready = show_answer(&server, "/ready", &answer);
    ready &= show_answer(&server, "/workers", &answer) &&
             bt_count_workers(&answer, "ready") >= file.n_prefill + file.n_decode;
    show_memory(&answer);
    bt_answer_fini(&answer);
    return ready;
}

static enum baton_err show(const char *state_option, int *status, struct baton_why *why)
{
    struct bt_state state;
    struct bt_names names;
    enum baton_err err = bt_state_find(state_option, &state, why);
    if (err)
        return err;
    if (!bt_state_is_running(&state)) {
        (void)printf("nothing is running with --state %s\n", state.dir);
        *status = BT_STATUS_NOT_RUNNING;
        return BATON_OK;
    }
    bool well = bt_state_pid(&state, "supervisor", NULL) > 0;
    if (!well)
        (void)puts("the supervisor is gone: processes that end are not restarted");
    (void)printf("%-12s %8s %12s %12s %8s\n", "NAME", "PID", "UP", "MEMORY", "RESTARTS");
    bt_state_names(&state, &names);
    for (int i = 0; i < names.n; i++)
        well &= show_process(&state, names.names[i]);
    (void)putchar('\n');
    well &= show_fleet(&state);
    *status = well ? 0 : BT_STATUS_DEGRADED;
    return BATON_OK;
}

static enum baton_err run(const void *arg, struct baton_why *why)
{
    const struct options *options = arg;
    return show(options->state, &bt_exit_status, why);
}

enum baton_err bt_status(int argc, char **argv, struct baton_why *why)
{
    struct options options;
    struct baton_config config = {
        .process = "baton status",
        .summary =
            "processes, readiness and workers of a fleet; exit status 3: not running, 4: in part",
        .env_prefix = "BATON",
        .options = option_table,
        .n_options = BATON_N_OF(option_table)};
    return cli_run(&config, &options, argc, argv, run, why);
}
