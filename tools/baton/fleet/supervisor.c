#include "tools/baton/fleet/supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "tools/baton/fleet/supervisor_parts.h"

enum { READY_POLL_MS = 100 };

static const int signal_numbers[BT_N_SIGNALS] = {SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGUSR1};

/* As PID 1 we are also the parent of orphans, which nobody else waits for. */
static void reap(struct bt_supervisor *sv)
{
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
        for (int i = 0; i < sv->n; i++)
            if (sv->processes[i].pid == pid)
                bt_process_ended(&sv->processes[i], status);
}

/* ---- readiness ---- */

static void probe(uv_work_t *work)
{
    struct bt_supervisor *sv = work->data;
    /* On a thread of libuv's pool: the requests block for up to seconds. */
    sv->probe_says_ready = bt_fleet_is_ready(&sv->supervision->fleet->file, sv->model);
}

static void after_probe(uv_work_t *work, int status)
{
    struct bt_supervisor *sv = work->data;
    sv->is_probing = false;
    if (status || !sv->probe_says_ready || sv->phase != BT_STARTING)
        return;
    sv->phase = BT_SERVING;
    sv->ready_ns = baton_now_ns() - sv->processes[0].started_ns;
    (void)uv_timer_stop(&sv->poll);
    (void)uv_timer_stop(&sv->patience);
    baton_log(BATON_LOG_INFO, "fleet_ready", BATON_I("processes", sv->n));
    sv->supervision->on_ready(sv->supervision->arg, sv->model);
}

static void on_poll(uv_timer_t *timer)
{
    struct bt_supervisor *sv = timer->data;
    if (sv->is_probing)
        return;
    sv->probe.data = sv;
    sv->is_probing = !uv_queue_work(&sv->loop, &sv->probe, probe, after_probe);
}

static void on_patience(uv_timer_t *timer)
{
    struct bt_supervisor *sv = timer->data;
    double seconds = bt_patience_s(sv->supervision->fleet->model);
    baton_log(BATON_LOG_ERROR, "fleet_not_ready", BATON_F("after_s", seconds));
    sv->err = baton_fail(&sv->why, BATON_TIMEOUT, "not ready after %.0f s; the logs say why%s%s",
                         seconds, sv->supervision->detached ? ": " : "",
                         sv->supervision->detached ? sv->supervision->fleet->state.dir : "");
    bt_begin_stop(sv);
}

/* ---- signals ---- */

/* True when our terminal is gone: SIGHUP then means the end, otherwise "reload". */
static bool has_lost_terminal(void)
{
    struct pollfd out = {.fd = STDOUT_FILENO};
    return poll(&out, 1, 0) == 1 && (out.revents & (POLLHUP | POLLERR));
}

static void on_signal(uv_signal_t *handle, int number)
{
    struct bt_supervisor *sv = handle->data;
    if (number == SIGCHLD)
        reap(sv);
    else if (number == SIGTERM || number == SIGINT)
        bt_on_stop_request(sv, number == SIGTERM ? "SIGTERM" : "SIGINT");
    else if (number == SIGHUP && !sv->supervision->detached && has_lost_terminal())
        bt_on_stop_request(sv, "SIGHUP");
    else
        bt_signal_processes(sv, number, 0, sv->n);
}

/* ---- set-up ---- */

/* Opens a pipe whose lines appear in our log; *fd is its writing end. */
static enum baton_err open_log_pipe(struct bt_supervisor *sv, struct bt_log_input *input,
                                    const char *name, int *fd, struct baton_why *why)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC))
        return baton_fail(why, BATON_IO, "pipe: %s", strerror(errno));
    *fd = ends[1];
    return bt_log_input_open(input, &sv->loop, &sv->output, name, ends[0], why);
}

static enum baton_err add_process(struct bt_supervisor *sv, const struct bt_command *command,
                                  struct baton_why *why)
{
    struct bt_process *process = &sv->processes[sv->n++];
    int width = (int)strlen(command->name);
    process->supervisor = sv;
    process->command = command;
    process->out_fd = -1;
    process->again.data = process;
    (void)uv_timer_init(&sv->loop, &process->again); /* cannot fail */
    if (width > sv->output.name_width)
        sv->output.name_width = width;
    if (sv->supervision->detached)
        return bt_state_open_log(&sv->supervision->fleet->state, command->name, &process->out_fd,
                                 why);
    return open_log_pipe(sv, &process->log, command->name, &process->out_fd, why);
}

/* Sends this process's own log the same way as the others'. */
static enum baton_err redirect_own_log(struct bt_supervisor *sv, struct baton_why *why)
{
    int fd = -1;
    sv->old_stderr = -1;
    if (sv->supervision->detached)
        return BATON_OK;
    enum baton_err err = open_log_pipe(sv, &sv->own_log, "baton", &fd, why);
    if (err)
        return err;
    /* Our own loop reads this pipe: a blocking write to a full one would never return. */
    (void)fcntl(fd, F_SETFL, O_NONBLOCK);
    sv->old_stderr = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
    (void)dup2(fd, STDERR_FILENO);
    (void)close(fd);
    return BATON_OK;
}

static void init_timers(struct bt_supervisor *sv)
{
    sv->poll.data = sv->patience.data = sv->stop_timeout.data = sv;
    (void)uv_timer_init(&sv->loop, &sv->poll);
    (void)uv_timer_init(&sv->loop, &sv->patience);
    (void)uv_timer_init(&sv->loop, &sv->stop_timeout);
}

static enum baton_err watch_signals(struct bt_supervisor *sv, struct baton_why *why)
{
    (void)signal(SIGPIPE, SIG_IGN);
    for (int i = 0; i < BT_N_SIGNALS; i++) {
        sv->signals[i].data = sv;
        (void)uv_signal_init(&sv->loop, &sv->signals[i]);
        int status = uv_signal_start(&sv->signals[i], on_signal, signal_numbers[i]);
        if (status)
            return baton_fail(why, BATON_IO, "signals: %s", uv_strerror(status));
    }
    return BATON_OK;
}

static enum baton_err set_up(struct bt_supervisor *sv, struct baton_why *why)
{
    const struct bt_fleet *fleet = sv->supervision->fleet;
    sv->output = (struct bt_log_output){.fd = STDOUT_FILENO,
                                        .is_json = sv->supervision->as_json,
                                        .name_width = (int)strlen("baton")};
    init_timers(sv);
    enum baton_err err = watch_signals(sv, why);
    if (!err)
        err = redirect_own_log(sv, why);
    for (int i = 0; i < fleet->n && !err; i++)
        err = add_process(sv, &fleet->commands[i], why);
    return err;
}

/* ---- the end ---- */

static void close_handle(uv_handle_t *handle, void *arg)
{
    (void)arg;
    if (!uv_is_closing(handle))
        uv_close(handle, NULL);
}

static void tear_down(struct bt_supervisor *sv)
{
    for (int i = 0; i < sv->n; i++) {
        bt_log_input_close(&sv->processes[i].log);
        if (sv->processes[i].out_fd >= 0)
            (void)close(sv->processes[i].out_fd);
    }
    bt_log_input_close(&sv->own_log);
    if (sv->old_stderr >= 0) {
        /* Later messages must not go to a pipe that nobody reads. */
        (void)dup2(sv->old_stderr, STDERR_FILENO);
        (void)close(sv->old_stderr);
    }
    uv_walk(&sv->loop, close_handle, NULL);
    (void)uv_run(&sv->loop, UV_RUN_DEFAULT);
    (void)uv_loop_close(&sv->loop);
}

static void run(struct bt_supervisor *sv)
{
    double patience_s = bt_patience_s(sv->supervision->fleet->model);
    for (int i = 0; i < sv->n && sv->phase == BT_STARTING; i++)
        bt_process_start(&sv->processes[i]);
    (void)uv_timer_start(&sv->poll, on_poll, READY_POLL_MS, READY_POLL_MS);
    (void)uv_timer_start(&sv->patience, on_patience, (uint64_t)(patience_s * 1e3), 0);
    (void)uv_run(&sv->loop, UV_RUN_DEFAULT);
}

enum baton_err bt_supervise(const struct bt_supervision *supervision, struct baton_why *why)
{
    struct bt_supervisor *sv = calloc(1, sizeof *sv);
    if (!sv)
        return BATON_NO_MEMORY;
    sv->supervision = supervision;
    sv->old_stderr = -1;
    if (uv_loop_init(&sv->loop)) {
        free(sv);
        return BATON_NO_MEMORY;
    }
    enum baton_err err = set_up(sv, why);
    if (!err)
        run(sv);
    tear_down(sv);
    if (!err && sv->err)
        err = baton_fail(why, sv->err, "%s", sv->why.text);
    free(sv);
    return err;
}
