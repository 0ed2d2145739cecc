#include "tools/baton/supervisor.h"

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
#include "common/base/file.h"
#include "common/base/log.h"
#include "tools/baton/log_output.h"
#include "tools/baton/patience.h"
#include "tools/baton/readiness.h"
#include "tools/baton/spawn.h"

enum {
    FIRST_DELAY_MS = 500,
    MAX_DELAY_MS = 30000,
    READY_POLL_MS = 100,
    TAIL_BYTES = 4096,
    TEXT_BYTES = 48
};

/* A process that ran for so long ends for the first time again. */
#define STEADY_NS (60 * BATON_SECOND)

enum phase { STARTING, SERVING, STOPPING_GATEWAY, STOPPING_WORKERS, OVER };

static const int signal_numbers[] = {SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGUSR1};
enum { N_SIGNALS = sizeof signal_numbers / sizeof signal_numbers[0] };

struct process {
    struct supervisor *supervisor;
    const struct bt_command *command;
    pid_t pid; /* 0 while it does not run */
    int out_fd;
    int n_restarts, n_failures; /* in all; in a row */
    int64_t started_ns;
    uv_timer_t again;
    struct bt_log_input log;
};

struct supervisor {
    const struct bt_supervision *supervision;
    uv_loop_t loop;
    uv_signal_t signals[N_SIGNALS];
    uv_timer_t poll, patience, stop_timeout;
    uv_work_t probe;
    bool is_probing, probe_says_ready;
    enum phase phase;
    struct process processes[BT_MAX_PROCESSES]; /* the gateway first */
    int n;
    struct bt_log_output output;
    struct bt_log_input own_log; /* what this process logs, in the foreground */
    int old_stderr;
    enum baton_err err;
    struct baton_why why;
};

int64_t bt_restart_delay_ms(int n)
{
    int64_t delay = FIRST_DELAY_MS;
    for (; n > 0 && delay < MAX_DELAY_MS; n--)
        delay *= 2;
    return delay < MAX_DELAY_MS ? delay : MAX_DELAY_MS;
}

/* ---- stopping ---- */

static void signal_all(struct supervisor *sv, int number, int from, int to)
{
    for (int i = from; i < to; i++)
        if (sv->processes[i].pid)
            (void)kill(sv->processes[i].pid, number);
}

static bool is_any_running(const struct supervisor *sv, int from, int to)
{
    for (int i = from; i < to; i++)
        if (sv->processes[i].pid)
            return true;
    return false;
}

static void on_stop_timeout(uv_timer_t *timer)
{
    struct supervisor *sv = timer->data;
    int to = sv->phase == STOPPING_GATEWAY ? 1 : sv->n;
    for (int i = 0; i < to; i++)
        if (sv->processes[i].pid)
            baton_log(BATON_LOG_WARN, "process_killed",
                      BATON_S("name", sv->processes[i].command->name),
                      BATON_F("not_stopped_in_s", sv->supervision->fleet->file.stop_timeout_s));
    signal_all(sv, SIGKILL, 0, to);
}

static void arm_stop_timeout(struct supervisor *sv)
{
    double seconds = sv->supervision->fleet->file.stop_timeout_s;
    (void)uv_timer_start(&sv->stop_timeout, on_stop_timeout, (uint64_t)(seconds * 1e3), 0);
}

/* Goes on to the next step when this one's processes are gone. */
static void advance(struct supervisor *sv)
{
    if (sv->phase == STOPPING_GATEWAY && !sv->processes[0].pid) {
        sv->phase = STOPPING_WORKERS;
        signal_all(sv, SIGTERM, 1, sv->n);
        arm_stop_timeout(sv);
    }
    if (sv->phase == STOPPING_WORKERS && !is_any_running(sv, 0, sv->n)) {
        sv->phase = OVER;
        uv_stop(&sv->loop);
    }
}

static void begin_stop(struct supervisor *sv)
{
    sv->phase = STOPPING_GATEWAY;
    (void)uv_timer_stop(&sv->poll);
    (void)uv_timer_stop(&sv->patience);
    for (int i = 0; i < sv->n; i++)
        (void)uv_timer_stop(&sv->processes[i].again);
    signal_all(sv, SIGTERM, 0, 1);
    arm_stop_timeout(sv);
    advance(sv);
}

static void asked_to_stop(struct supervisor *sv, const char *who)
{
    if (sv->phase >= STOPPING_GATEWAY) {
        baton_log(BATON_LOG_WARN, "fleet_killed", BATON_S("by", who));
        signal_all(sv, SIGKILL, 0, sv->n);
        return;
    }
    if (sv->phase == STARTING)
        sv->err = baton_fail(&sv->why, BATON_CANCELED, "stopped by %s before it was ready", who);
    baton_log(BATON_LOG_INFO, "fleet_stopping", BATON_S("by", who));
    begin_stop(sv);
}

/* ---- starting ---- */

static void write_pid(struct process *process)
{
    struct baton_why why = {.text = ""};
    char file[BT_NAME_BYTES + 8];
    (void)snprintf(file, sizeof file, "%s.pid", process->command->name);
    if (bt_state_write_pid(&process->supervisor->supervision->fleet->state, file, process->pid,
                           process->n_restarts, &why))
        baton_log(BATON_LOG_WARN, "pid_not_written", BATON_S("name", process->command->name),
                  BATON_S("why", why.text));
}

static void start_later(struct process *process, const char *how);

static void start(struct process *process)
{
    struct baton_why why = {.text = ""};
    process->started_ns = baton_now_ns();
    if (bt_spawn(process->command->words, process->out_fd, &process->pid, &why)) {
        start_later(process, why.text);
        return;
    }
    write_pid(process);
    baton_log(BATON_LOG_INFO, "process_started", BATON_S("name", process->command->name),
              BATON_I("child", process->pid), BATON_I("restarts", process->n_restarts));
}

static void on_again(uv_timer_t *timer)
{
    struct process *process = timer->data;
    process->n_restarts++;
    start(process);
}

static void start_later(struct process *process, const char *how)
{
    if (baton_now_ns() - process->started_ns >= STEADY_NS)
        process->n_failures = 0;
    int64_t delay_ms = bt_restart_delay_ms(process->n_failures++);
    baton_log(BATON_LOG_WARN, "process_ended", BATON_S("name", process->command->name),
              BATON_S("how", how), BATON_F("again_in_s", (double)delay_ms * 1e-3),
              BATON_I("restarts", process->n_restarts));
    (void)uv_timer_start(&process->again, on_again, (uint64_t)delay_ms, 0);
}

/* The end of a process's log file, for whoever waits for `up --detach`. */
static void put_tail(const char *path, struct baton_buf *text)
{
    struct baton_mapping log = {.data = NULL};
    if (baton_file_map(path, &log, NULL) || !log.n_bytes)
        return;
    size_t n = log.n_bytes < TAIL_BYTES ? log.n_bytes : TAIL_BYTES;
    const char *from = (const char *)log.data + log.n_bytes - n;
    for (const char *end = from + n; from < end;) {
        const char *line_end = memchr(from, '\n', (size_t)(end - from));
        size_t n_line = line_end ? (size_t)(line_end - from) : (size_t)(end - from);
        baton_buf_printf(text, "\n    %.*s", (int)n_line, from);
        from += n_line + 1;
    }
    baton_file_unmap(&log);
}

static void fail_start(struct process *process, const char *how)
{
    struct supervisor *sv = process->supervisor;
    const char *name = process->command->name;
    char file[BT_NAME_BYTES + 16], path[PATH_MAX];
    struct baton_buf text;
    baton_log(BATON_LOG_ERROR, "fleet_not_started", BATON_S("name", name), BATON_S("how", how));
    if (!sv->supervision->detached) {
        sv->err =
            baton_fail(&sv->why, BATON_PEER,
                       "%s ended with %s before the fleet was ready; its lines say why", name, how);
    } else {
        (void)snprintf(file, sizeof file, "log/%s.log", name);
        path[0] = '\0';
        (void)!bt_state_path(&sv->supervision->fleet->state, file, path, NULL);
        baton_buf_init(&text, sizeof sv->why.text);
        put_tail(path, &text);
        sv->err = baton_fail(&sv->why, BATON_PEER, "%s ended; the end of %s:%s", name, path,
                             baton_buf_text(&text));
        baton_buf_fini(&text);
    }
    begin_stop(sv);
}

static void describe_end(int status, char text[TEXT_BYTES])
{
    if (WIFSIGNALED(status))
        (void)snprintf(text, TEXT_BYTES, "signal %d (%s)", WTERMSIG(status),
                       strsignal(WTERMSIG(status)));
    else
        (void)snprintf(text, TEXT_BYTES, "status %d", WEXITSTATUS(status));
}

static void on_end(struct process *process, int status)
{
    struct supervisor *sv = process->supervisor;
    char how[TEXT_BYTES];
    describe_end(status, how);
    process->pid = 0;
    if (sv->phase == STARTING) {
        fail_start(process, how);
    } else if (sv->phase == SERVING) {
        start_later(process, how);
    } else {
        baton_log(BATON_LOG_INFO, "process_stopped", BATON_S("name", process->command->name),
                  BATON_S("how", how));
        advance(sv);
    }
}

/* As PID 1 we are also the parent of processes that nobody else waits for. */
static void reap(struct supervisor *sv)
{
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
        for (int i = 0; i < sv->n; i++)
            if (sv->processes[i].pid == pid)
                on_end(&sv->processes[i], status);
}

/* ---- readiness ---- */

static void probe(uv_work_t *work)
{
    struct supervisor *sv = work->data;
    sv->probe_says_ready = bt_fleet_is_ready(&sv->supervision->fleet->file);
}

static void after_probe(uv_work_t *work, int status)
{
    struct supervisor *sv = work->data;
    sv->is_probing = false;
    if (status || !sv->probe_says_ready || sv->phase != STARTING)
        return;
    sv->phase = SERVING;
    (void)uv_timer_stop(&sv->poll);
    (void)uv_timer_stop(&sv->patience);
    baton_log(BATON_LOG_INFO, "fleet_ready", BATON_I("processes", sv->n));
    sv->supervision->on_ready(sv->supervision->arg);
}

static void on_poll(uv_timer_t *timer)
{
    struct supervisor *sv = timer->data;
    if (sv->is_probing)
        return;
    sv->probe.data = sv;
    sv->is_probing = !uv_queue_work(&sv->loop, &sv->probe, probe, after_probe);
}

static void on_patience(uv_timer_t *timer)
{
    struct supervisor *sv = timer->data;
    double seconds = bt_patience_s(sv->supervision->fleet->model);
    baton_log(BATON_LOG_ERROR, "fleet_not_ready", BATON_F("after_s", seconds));
    sv->err = baton_fail(&sv->why, BATON_TIMEOUT, "not ready after %.0f s; the logs say why%s%s",
                         seconds, sv->supervision->detached ? ": " : "",
                         sv->supervision->detached ? sv->supervision->fleet->state.dir : "");
    begin_stop(sv);
}

/* ---- signals ---- */

/* The terminal that we write to is gone: SIGHUP then means the end, and else "read again". */
static bool has_lost_terminal(void)
{
    struct pollfd out = {.fd = STDOUT_FILENO};
    return poll(&out, 1, 0) == 1 && (out.revents & (POLLHUP | POLLERR));
}

static void on_signal(uv_signal_t *handle, int number)
{
    struct supervisor *sv = handle->data;
    if (number == SIGCHLD)
        reap(sv);
    else if (number == SIGTERM || number == SIGINT)
        asked_to_stop(sv, number == SIGTERM ? "SIGTERM" : "SIGINT");
    else if (number == SIGHUP && !sv->supervision->detached && has_lost_terminal())
        asked_to_stop(sv, "SIGHUP");
    else
        signal_all(sv, number, 0, sv->n);
}

/* ---- set-up ---- */

static enum baton_err open_log_file(const struct bt_state *state, const char *name, int *fd,
                                    struct baton_why *why)
{
    char file[BT_NAME_BYTES + 16], path[PATH_MAX];
    (void)snprintf(file, sizeof file, "log/%s.log", name);
    enum baton_err err = bt_state_path(state, file, path, why);
    if (err)
        return err;
    *fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    return *fd < 0 ? baton_fail(why, BATON_IO, "%s: %s", path, strerror(errno)) : BATON_OK;
}

/* A pipe whose lines appear in our log; *fd is its writing end. */
static enum baton_err open_log_pipe(struct supervisor *sv, struct bt_log_input *input,
                                    const char *name, int *fd, struct baton_why *why)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC))
        return baton_fail(why, BATON_IO, "pipe: %s", strerror(errno));
    *fd = ends[1];
    return bt_log_input_open(input, &sv->loop, &sv->output, name, ends[0], why);
}

static enum baton_err add_process(struct supervisor *sv, const struct bt_command *command,
                                  struct baton_why *why)
{
    struct process *process = &sv->processes[sv->n++];
    int width = (int)strlen(command->name);
    process->supervisor = sv;
    process->command = command;
    process->out_fd = -1;
    process->again.data = process;
    (void)uv_timer_init(&sv->loop, &process->again); /* cannot fail */
    if (width > sv->output.name_width)
        sv->output.name_width = width;
    if (sv->supervision->detached)
        return open_log_file(&sv->supervision->fleet->state, command->name, &process->out_fd, why);
    return open_log_pipe(sv, &process->log, command->name, &process->out_fd, why);
}

/* What this process logs goes the same way as what the others do. */
static enum baton_err redirect_own_log(struct supervisor *sv, struct baton_why *why)
{
    int fd = -1;
    sv->old_stderr = -1;
    if (sv->supervision->detached)
        return BATON_OK;
    enum baton_err err = open_log_pipe(sv, &sv->own_log, "baton", &fd, why);
    if (err)
        return err;
    (void)fcntl(fd, F_SETFL, O_NONBLOCK);
    sv->old_stderr = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
    (void)dup2(fd, STDERR_FILENO);
    (void)close(fd);
    return BATON_OK;
}

static void init_timers(struct supervisor *sv)
{
    sv->poll.data = sv->patience.data = sv->stop_timeout.data = sv;
    (void)uv_timer_init(&sv->loop, &sv->poll);
    (void)uv_timer_init(&sv->loop, &sv->patience);
    (void)uv_timer_init(&sv->loop, &sv->stop_timeout);
}

static enum baton_err watch_signals(struct supervisor *sv, struct baton_why *why)
{
    (void)signal(SIGPIPE, SIG_IGN);
    for (int i = 0; i < N_SIGNALS; i++) {
        sv->signals[i].data = sv;
        (void)uv_signal_init(&sv->loop, &sv->signals[i]);
        int status = uv_signal_start(&sv->signals[i], on_signal, signal_numbers[i]);
        if (status)
            return baton_fail(why, BATON_IO, "signals: %s", uv_strerror(status));
    }
    return BATON_OK;
}

static enum baton_err set_up(struct supervisor *sv, struct baton_why *why)
{
    const struct bt_fleet *fleet = sv->supervision->fleet;
    sv->output = (struct bt_log_output){.fd = STDOUT_FILENO, .name_width = (int)strlen("baton")};
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

static void tear_down(struct supervisor *sv)
{
    for (int i = 0; i < sv->n; i++) {
        bt_log_input_close(&sv->processes[i].log);
        if (sv->processes[i].out_fd >= 0)
            (void)close(sv->processes[i].out_fd);
    }
    bt_log_input_close(&sv->own_log);
    if (sv->old_stderr >= 0) {
        (void)dup2(sv->old_stderr, STDERR_FILENO);
        (void)close(sv->old_stderr);
    }
    uv_walk(&sv->loop, close_handle, NULL);
    (void)uv_run(&sv->loop, UV_RUN_DEFAULT);
    (void)uv_loop_close(&sv->loop);
}

static void run(struct supervisor *sv)
{
    double patience_s = bt_patience_s(sv->supervision->fleet->model);
    for (int i = 0; i < sv->n && sv->phase == STARTING; i++)
        start(&sv->processes[i]);
    (void)uv_timer_start(&sv->poll, on_poll, READY_POLL_MS, READY_POLL_MS);
    (void)uv_timer_start(&sv->patience, on_patience, (uint64_t)(patience_s * 1e3), 0);
    (void)uv_run(&sv->loop, UV_RUN_DEFAULT);
}

enum baton_err bt_supervise(const struct bt_supervision *supervision, struct baton_why *why)
{
    struct supervisor *sv = calloc(1, sizeof *sv);
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
