/* baton ps: the fleets of this user that run here, whatever their state directories. */
#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "common/base/array.h"
#include "common/base/buf.h"
#include "common/base/json.h"
#include "common/base/os/file.h"
#include "tools/baton/commands.h"
#include "tools/baton/fleet/proc.h"
#include "tools/baton/fleet/readiness.h"
#include "tools/support/cli.h"

enum { ENVIRONMENT_MAX_BYTES = 4 << 20 };

/* The supervisor gives its gateway this variable, which so tells the state directory. */
static const char variable[] = "BATON_GATEWAY_CLUSTER_TOKEN_FILE=", file_name[] = "/cluster-token";

/* Reads /proc/PID/name into text. */
static bool read_fact(const char *pid, const char *name, struct baton_buf *text)
{
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/%.16s/%s", pid, name);
    return !baton_file_read(path, text, NULL);
}

/* Finds the state directory of a process that is a fleet's gateway. */
static bool find_state(const char *pid, struct bt_state *state)
{
    struct baton_buf text;
    bool found = false;
    baton_buf_init(&text, ENVIRONMENT_MAX_BYTES);
    if (read_fact(pid, "comm", &text) && !strcmp(baton_buf_text(&text), "baton-gateway\n")) {
        baton_buf_reset(&text);
        const char *end =
            read_fact(pid, "environ", &text) ? baton_buf_text(&text) + text.len : NULL;
        for (const char *at = baton_buf_text(&text); end && at < end && !found;
             at += strlen(at) + 1) {
            const char *value = at + strlen(variable), *tail = strrchr(at, '/');
            found = !strncmp(at, variable, strlen(variable)) && tail && !strcmp(tail, file_name);
            if (found)
                (void)snprintf(state->dir, sizeof state->dir, "%.*s", (int)(tail - value), value);
        }
    }
    baton_buf_fini(&text);
    return found;
}

/* ---- a line ---- */

static int64_t memory_of(const struct bt_state *state)
{
    struct bt_names names;
    struct bt_proc proc;
    int64_t bytes = 0;
    bt_state_names(state, &names);
    for (int i = 0; i < names.n; i++) {
        pid_t pid = bt_state_process(state, names.names[i], NULL);
        bytes += pid && bt_proc_get(pid, &proc) ? proc.memory_bytes : 0;
    }
    return bytes;
}

/* Counts the streams that decode workers run. */
static int64_t count_streams(const struct bt_answer *answer)
{
    struct baton_json *root = NULL;
    int64_t n = 0;
    if (baton_json_parse(baton_buf_text(&answer->body), answer->body.len, &root, NULL))
        return 0;
    const struct baton_json *workers = baton_json_get(root, "workers");
    for (size_t i = 0; i < baton_json_size(workers); i++) {
        const struct baton_json *worker = baton_json_at(workers, i);
        const char *role = baton_json_string(baton_json_get(worker, "role"), NULL);
        if (role && !strcmp(role, "decode"))
            n += baton_json_int(baton_json_get(worker, "running"));
    }
    baton_json_free(root);
    return n;
}

static void show(const struct bt_state *state)
{
    struct bt_fleet_file file;
    struct bt_server server;
    struct bt_answer workers;
    char model[BT_MODEL_BYTES], place[sizeof "255.255.255.255:65535" + 64];
    if (bt_fleet_file_read(state, &file, NULL) || bt_fleet_server(&file, &server, NULL))
        return;
    bt_answer_init(&workers);
    (void)!bt_fleet_get(&server, "/workers", &workers, NULL);
    bt_fleet_model(&server, model);
    (void)snprintf(place, sizeof place, "%.84s", server.url.authority);
    (void)printf("%-24s %-21s %4d/%-4lld %7lld %9.1f MB  %s\n", *model ? model : "(starting)",
                 place, bt_count_workers(&workers, "ready"),
                 (long long)(file.n_prefill + file.n_decode), (long long)count_streams(&workers),
                 (double)memory_of(state) / 1e6, state->dir);
    bt_answer_fini(&workers);
}

static enum baton_err run(const void *arg, struct baton_why *why)
{
    struct bt_state state;
    const struct dirent *entry;
    (void)arg;
    DIR *processes = opendir("/proc");
    if (!processes)
        return baton_fail(why, BATON_IO, "/proc cannot be read");
    (void)printf("%-24s %-21s %9s %7s %12s  %s\n", "MODEL", "ADDRESS", "WORKERS", "STREAMS",
                 "MEMORY", "STATE");
    while ((entry = readdir(processes)))
        if (strspn(entry->d_name, "0123456789") == strlen(entry->d_name) &&
            find_state(entry->d_name, &state) && bt_state_is_running(&state))
            show(&state);
    (void)closedir(processes);
    return BATON_OK;
}

enum baton_err bt_ps(int argc, char **argv, struct baton_why *why)
{
    char none[1];
    struct baton_config config = {.process = "baton ps",
                                  .summary = "the fleets that `baton up` runs on this machine",
                                  .env_prefix = "BATON"};
    return cli_run(&config, none, argc, argv, run, why);
}
