/* baton status: shows processes, readiness and workers, and sums them up in its exit status. */
#include <stdio.h>
#include <string.h>

#include "common/base/array.h"
#include "common/base/json.h"
#include "tools/baton/commands.h"
#include "tools/baton/fleet/proc.h"
#include "tools/baton/fleet/readiness.h"
#include "tools/support/cli.h"

enum {
    HTTP_OK = 200,
    MINUTE_S = 60,
    HOUR_S = 3600,
    DAY_S = 86400,
    TIME_BYTES = 32,
    JSON_MAX_BYTES = 32 << 20
};

int bt_exit_status;

struct options {
    const char *state;
    bool json;
};

static const struct baton_option option_table[] = {
    BATON_ROW_TEXT(struct options, state, "state", NULL,
                   "state directory of the fleet, as given to `baton up`"),
    BATON_ROW_BOOL(struct options, json, "json", "false",
                   "one JSON object: the processes, and the gateway's answer to GET /workers"),
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

/* ---- what the gateway says ---- */

struct view {
    struct bt_fleet_file file;
    struct bt_server server;
    struct bt_answer ready, workers;
    struct baton_json *root; /* of workers; NULL when there is no answer */
    struct baton_why why;    /* the reason when the gateway cannot be reached */
    bool is_ready;           /* all workers are */
};

static enum baton_err ask(struct view *view, const struct bt_state *state)
{
    enum baton_err err = bt_fleet_file_read(state, &view->file, &view->why);
    if (!err)
        err = bt_fleet_server(&view->file, &view->server, &view->why);
    if (!err)
        err = bt_fleet_get(&view->server, "/ready", &view->ready, &view->why);
    if (!err)
        err = bt_fleet_get(&view->server, "/workers", &view->workers, &view->why);
    if (!err)
        err = baton_json_parse(baton_buf_text(&view->workers.body), view->workers.body.len,
                               &view->root, &view->why);
    return err;
}

static void open_view(struct view *view, const struct bt_state *state)
{
    *view = (struct view){.root = NULL};
    bt_answer_init(&view->ready);
    bt_answer_init(&view->workers);
    view->is_ready =
        !ask(view, state) && view->ready.status == HTTP_OK && view->workers.status == HTTP_OK &&
        bt_count_workers(&view->workers, "ready") >= view->file.n_prefill + view->file.n_decode;
}

static void close_view(struct view *view)
{
    baton_json_free(view->root);
    bt_answer_fini(&view->ready);
    bt_answer_fini(&view->workers);
}

static const struct baton_json *find_worker(const struct view *view, const char *name)
{
    const struct baton_json *workers = baton_json_get(view->root, "workers");
    for (size_t i = 0; i < baton_json_size(workers); i++) {
        const struct baton_json *worker = baton_json_at(workers, i);
        const char *id = baton_json_string(baton_json_get(worker, "id"), NULL);
        if (id && !strcmp(id, name))
            return worker;
    }
    return NULL;
}

/* ---- the table ---- */

static void put_bytes(double bytes)
{
    if (bytes >= 1e9)
        (void)printf(" %6.2f GB", bytes / 1e9);
    else
        (void)printf(" %6.1f MB", bytes / 1e6);
}

/* Load, memory and speed of a worker, as GET /workers tells them. */
static void put_worker(const struct baton_json *worker)
{
    static const char *const sizes[] = {"weight_bytes", "kv_used_bytes", "kv_backed_bytes",
                                        "kv_cap_bytes"};
    const struct baton_json *speed = baton_json_get(worker, "tokens_per_s");
    (void)printf(" %4lld %4lld", (long long)baton_json_int(baton_json_get(worker, "running")),
                 (long long)baton_json_int(baton_json_get(worker, "queued")));
    for (size_t i = 0; i < BATON_N_OF(sizes); i++)
        put_bytes(baton_json_number(baton_json_get(worker, sizes[i])));
    if (baton_json_number(speed) > 0)
        (void)printf(" %7.1f", baton_json_number(speed));
    else
        (void)printf(" %7s", "-");
}

/* A gateway with several models tells of each. */
static bool has_models(const struct view *view)
{
    return baton_json_size(baton_json_get(view->root, "models")) > 0;
}

/* Ends the line of a worker, with its model if there are several. */
static void put_model(const struct view *view, const struct baton_json *worker)
{
    const char *model = baton_json_string(baton_json_get(worker, "served_model"), NULL);
    if (model && has_models(view))
        (void)printf("  %s", model);
    (void)putchar('\n');
}

static const char *state_of(const struct view *view, const char *name,
                            const struct baton_json *worker)
{
    const char *state = baton_json_string(baton_json_get(worker, "state"), NULL);
    if (!strcmp(name, "gateway"))
        return view->root ? view->is_ready ? "ready" : "short" : "silent";
    return state ? state : "absent";
}

/* True when the process runs. */
static bool show_process(const struct bt_state *state, const struct view *view, const char *name)
{
    struct bt_proc proc;
    char up[TIME_BYTES];
    int n_restarts = 0;
    const struct baton_json *worker = find_worker(view, name);
    pid_t pid = bt_state_process(state, name, &n_restarts);
    if (!pid || !bt_proc_get(pid, &proc)) {
        (void)printf("%-10s %7s %-8s %11s %8d\n", name, "-", "ended", "", n_restarts);
        return false;
    }
    put_time(proc.age_s, up);
    (void)printf("%-10s %7d %-8s %11s %8d", name, (int)pid, state_of(view, name, worker), up,
                 n_restarts);
    put_bytes((double)proc.memory_bytes);
    if (worker)
        put_worker(worker);
    put_model(view, worker);
    return true;
}

static bool is_named(const struct bt_names *names, const char *name)
{
    for (int i = 0; i < names->n; i++)
        if (!strcmp(names->names[i], name))
            return true;
    return false;
}

/* Workers that joined from elsewhere have no process of the supervisor's. */
static void show_others(const struct view *view, const struct bt_names *names)
{
    const struct baton_json *workers = baton_json_get(view->root, "workers");
    for (size_t i = 0; i < baton_json_size(workers); i++) {
        const struct baton_json *worker = baton_json_at(workers, i);
        const char *id = baton_json_string(baton_json_get(worker, "id"), NULL);
        if (!id || is_named(names, id))
            continue;
        (void)printf("%-10s %7s %-8s %11s %8s %9s", id, "-", state_of(view, id, worker), "", "",
                     "");
        put_worker(worker);
        put_model(view, worker);
    }
}

/* Says in a line whether the fleet serves, and where. */
static void show_summary(const struct view *view)
{
    char reason[200];
    if (!view->root) {
        (void)printf("the gateway cannot be reached: %s\n", view->why.text);
        return;
    }
    (void)printf("%s://%s: ", view->server.url.tls ? "https" : "http", view->server.url.authority);
    bt_answer_reason(&view->ready, reason, sizeof reason);
    if (view->is_ready)
        (void)puts("ready");
    else if (view->ready.status != HTTP_OK)
        (void)printf("not ready: %s\n", reason);
    else
        (void)puts("serves, with fewer workers than it began with");
}

static bool show_table(const struct bt_state *state, const struct view *view)
{
    struct bt_names names;
    bool well = true;
    show_summary(view);
    (void)printf("%-10s %7s %-8s %11s %8s %9s %4s %4s %9s %9s %9s %9s %7s%s\n", "NAME", "PID",
                 "STATE", "UP", "RESTARTS", "MEMORY", "RUN", "WAIT", "WEIGHTS", "KV USED", "BACKED",
                 "CAP", "TOK/S", has_models(view) ? "  MODEL" : "");
    bt_state_names(state, &names);
    for (int i = 0; i < names.n; i++)
        well &= show_process(state, view, names.names[i]);
    show_others(view, &names);
    return well;
}

/* ---- as JSON ---- */

static bool put_process(struct baton_json_out *out, const struct bt_state *state, const char *name)
{
    struct bt_proc proc;
    int n_restarts = 0;
    pid_t pid = bt_state_process(state, name, &n_restarts);
    bool runs = pid && bt_proc_get(pid, &proc);
    baton_json_open(out, NULL, '{');
    baton_json_put_string(out, "name", name);
    baton_json_put_int(out, "pid", runs ? pid : 0);
    baton_json_put_int(out, "restarts", n_restarts);
    baton_json_put_int(out, "up_s", runs ? proc.age_s : 0);
    baton_json_put_int(out, "memory_bytes", runs ? proc.memory_bytes : 0);
    baton_json_close(out, '}');
    return runs;
}

/* Writes the processes, and the gateway's answers as they are. */
static bool show_json(const struct bt_state *state, const struct view *view)
{
    struct bt_names names;
    struct baton_buf text;
    bool well = true;
    baton_buf_init(&text, JSON_MAX_BYTES);
    struct baton_json_out out = baton_json_out(&text);
    baton_json_open(&out, NULL, '{');
    baton_json_put_string(&out, "state", state->dir);
    baton_json_put_bool(&out, "ready", view->is_ready);
    baton_json_open(&out, "processes", '[');
    bt_state_names(state, &names);
    for (int i = 0; i < names.n; i++)
        well &= put_process(&out, state, names.names[i]);
    baton_json_close(&out, ']');
    if (view->root)
        baton_json_put_raw(&out, "gateway", baton_buf_text(&view->workers.body),
                           view->workers.body.len);
    else
        baton_json_put_null(&out, "gateway");
    baton_json_close(&out, '}');
    return !cli_print(&text) && well;
}

static enum baton_err run(const void *arg, struct baton_why *why)
{
    const struct options *options = arg;
    struct bt_state state;
    struct view view;
    enum baton_err err = bt_state_find(options->state, &state, why);
    if (err)
        return err;
    if (!bt_state_is_running(&state)) {
        if (options->json)
            (void)puts("null");
        else
            (void)printf("nothing is running with --state %s; \"%s up\" starts a fleet\n",
                         state.dir, bt_called_as());
        bt_exit_status = BATON_EXIT_NOT_RUNNING;
        return BATON_OK;
    }
    bool well = bt_state_pid(&state, "supervisor", NULL) > 0;
    if (!well)
        (void)fputs("the supervisor is gone: processes that end are not restarted\n", stderr);
    open_view(&view, &state);
    well &= view.is_ready;
    well &= options->json ? show_json(&state, &view) : show_table(&state, &view);
    close_view(&view);
    bt_exit_status = well ? BATON_EXIT_OK : BATON_EXIT_DEGRADED;
    return BATON_OK;
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
