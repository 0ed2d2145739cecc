/* baton down: asks the supervisor to stop, or stops what a dead supervisor left behind. */
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "common/base/array.h"
#include "common/base/clock.h"
#include "tools/baton/commands.h"
#include "tools/baton/fleet/state.h"
#include "tools/support/cli.h"

enum { POLL_MS = 20, DEFAULT_TIMEOUT_S = 15, MARGIN_S = 5 };

struct options {
    const char *state;
};

static const struct baton_option option_table[] = {
    BATON_ROW_TEXT(struct options, state, "state", NULL,
                   "state directory of the fleet, as given to `baton up`"),
};

static void pause_ms(long ms)
{
    const struct timespec pause = {ms / 1000, ms % 1000 * 1000000L};
    (void)nanosleep(&pause, NULL);
}

/* Waits until the process of that pid file is gone. False after the given seconds. */
static bool wait_gone(const struct bt_state *state, const char *file, double seconds)
{
    int64_t until_ns = baton_now_ns() + (int64_t)(seconds * 1e9);
    while (bt_state_pid(state, file, NULL)) {
        if (baton_now_ns() >= until_ns)
            return false;
        pause_ms(POLL_MS);
    }
    return true;
}

/* Waits until no supervisor holds the lock, and removes the files while no other can begin. A
 * supervisor removes its own pid file before it ends. False after the given seconds, or when one
 * has begun to run. */
static bool clear(const struct bt_state *state, double seconds)
{
    char path[PATH_MAX];
    int lock = -1;
    int64_t until_ns = baton_now_ns() + (int64_t)(seconds * 1e9);
    if (bt_state_path(state, "lock", path, NULL) || access(path, F_OK))
        return true; /* no fleet ever ran there */
    while (bt_state_lock(state, &lock, NULL) == BATON_AGAIN) {
        if (baton_now_ns() >= until_ns || bt_state_is_running(state))
            return false;
        pause_ms(POLL_MS);
    }
    bt_state_clear(state, false);
    if (lock >= 0)
        (void)close(lock);
    return true;
}

static void signal_process(const struct bt_state *state, const char *name, int number)
{
    pid_t pid = bt_state_process(state, name, NULL);
    if (pid)
        (void)kill(pid, number);
}

/* Stops the processes [from, to) together. */
static void stop_some(const struct bt_state *state, const struct bt_names *names, int from, int to,
                      double timeout_s)
{
    char file[BT_NAME_BYTES + 8];
    for (int i = from; i < to; i++)
        signal_process(state, names->names[i], SIGTERM);
    for (int i = from; i < to; i++) {
        (void)snprintf(file, sizeof file, "%s.pid", names->names[i]);
        if (wait_gone(state, file, timeout_s))
            continue;
        (void)fprintf(stderr, "baton: %s did not stop in %g s: killed\n", names->names[i],
                      timeout_s);
        signal_process(state, names->names[i], SIGKILL);
        (void)wait_gone(state, file, timeout_s);
    }
}

/* The gateway goes first: its clients' last tokens still come from the workers. */
static void stop_all(const struct bt_state *state, double timeout_s)
{
    struct bt_names names;
    bt_state_names(state, &names);
    /* Only a gateway's name begins with g, and it is the first. */
    bool has_gateway = names.n && names.names[0][0] == 'g';
    stop_some(state, &names, 0, has_gateway, timeout_s);
    stop_some(state, &names, has_gateway, names.n, timeout_s);
}

static enum baton_err run(const void *arg, struct baton_why *why)
{
    const struct options *options = arg;
    struct bt_state state;
    struct bt_fleet_file fleet = {.stop_timeout_s = DEFAULT_TIMEOUT_S};
    enum baton_err err = bt_state_find(options->state, &state, why);
    if (err)
        return err;
    /* A lock without processes is that of a supervisor that begins or ends. */
    if (!bt_state_is_running(&state) && clear(&state, fleet.stop_timeout_s)) {
        (void)printf("nothing is running with --state %s\n", state.dir);
        return BATON_OK;
    }
    (void)!bt_fleet_file_read(&state, &fleet, NULL); /* without it the default timeout holds */
    double patience_s = 2 * fleet.stop_timeout_s + MARGIN_S;
    pid_t supervisor = bt_state_pid(&state, "supervisor", NULL);
    /* The supervisor stops the gateway and then the workers: each step may take the timeout. */
    if (supervisor && !kill(supervisor, SIGTERM))
        (void)wait_gone(&state, "supervisor", patience_s);
    stop_all(&state, fleet.stop_timeout_s);
    /* Another fleet may have begun in the directory by now. */
    if (!clear(&state, patience_s) && supervisor &&
        bt_state_pid(&state, "supervisor", NULL) == supervisor)
        return baton_fail(why, BATON_TIMEOUT, "the supervisor, process %d, did not stop in %g s",
                          (int)supervisor, patience_s);
    (void)puts("stopped");
    return BATON_OK;
}

enum baton_err bt_down(int argc, char **argv, struct baton_why *why)
{
    struct options options;
    struct baton_config config = {.process = "baton down",
                                  .summary = "stops what `baton up` started",
                                  .env_prefix = "BATON",
                                  .options = option_table,
                                  .n_options = BATON_N_OF(option_table)};
    return cli_run(&config, &options, argc, argv, run, why);
}
