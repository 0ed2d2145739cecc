/* Starts processes, reports their end, and starts them again. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/os/file.h"
#include "tools/baton/fleet/spawn.h"
#include "tools/baton/fleet/supervisor_parts.h"

enum { FIRST_DELAY_MS = 500, MAX_DELAY_MS = 30000, TAIL_BYTES = 4096, TEXT_BYTES = 48 };

/* After so long a run, the next end counts as the first failure again. */
#define STEADY_NS (60 * BATON_SECOND)

int64_t bt_restart_delay_ms(int n)
{
    int64_t delay = FIRST_DELAY_MS;
    for (; n > 0 && delay < MAX_DELAY_MS; n--)
        delay *= 2;
    return delay < MAX_DELAY_MS ? delay : MAX_DELAY_MS;
}

/* A worker may be asked to drain again and again, also while it starts. It must not be started
 * faster than it becomes ready. */
int64_t bt_drained_delay_ms(int64_t ran_ns, int64_t ready_ns)
{
    return ran_ns < ready_ns ? FIRST_DELAY_MS : 0;
}

static void write_pid(struct bt_process *process)
{
    struct baton_why why = {.text = ""};
    char file[BT_NAME_BYTES + 8];
    (void)snprintf(file, sizeof file, "%s.pid", process->command->name);
    if (bt_state_write_pid(&process->supervisor->supervision->fleet->state, file, process->pid,
                           process->n_restarts, &why))
        baton_log(BATON_LOG_WARN, "pid_not_written", BATON_S("name", process->command->name),
                  BATON_S("why", why.text));
}

static void start_later(struct bt_process *process, const char *how);

void bt_process_start(struct bt_process *process)
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
    struct bt_process *process = timer->data;
    process->n_restarts++;
    bt_process_start(process);
}

static void start_after(struct bt_process *process, const char *how, int64_t delay_ms)
{
    baton_log(BATON_LOG_WARN, "process_ended", BATON_S("name", process->command->name),
              BATON_S("how", how), BATON_F("again_in_s", (double)delay_ms * 1e-3),
              BATON_I("restarts", process->n_restarts));
    (void)uv_timer_start(&process->again, on_again, (uint64_t)delay_ms, 0);
}

static void start_later(struct bt_process *process, const char *how)
{
    if (baton_now_ns() - process->started_ns >= STEADY_NS)
        process->n_failures = 0;
    start_after(process, how, bt_restart_delay_ms(process->n_failures++));
}

/* A process ends with status 0 only when it was asked to: by SIGTERM, or by its gateway for an
 * operator (POST /workers/{id}/drain). That is no failure. */
static void start_drained(struct bt_process *process, const char *how)
{
    int64_t ran_ns = baton_now_ns() - process->started_ns;
    start_after(process, how, bt_drained_delay_ms(ran_ns, process->supervisor->ready_ns));
}

/* Appends the end of a process's log file, for the user of `up --detach`. */
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

static void fail_start(struct bt_process *process, const char *how)
{
    struct bt_supervisor *sv = process->supervisor;
    const char *name = process->command->name;
    char file[BT_NAME_BYTES + 16], path[PATH_MAX];
    struct baton_buf text;
    baton_log(BATON_LOG_ERROR, "fleet_not_started", BATON_S("name", name), BATON_S("how", how));
    /* In the foreground the process's last lines are already on the terminal. */
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
    bt_begin_stop(sv);
}

static void describe_end(int status, char text[TEXT_BYTES])
{
    if (WIFSIGNALED(status))
        (void)snprintf(text, TEXT_BYTES, "signal %d (%s)", WTERMSIG(status),
                       strsignal(WTERMSIG(status)));
    else
        (void)snprintf(text, TEXT_BYTES, "status %d", WEXITSTATUS(status));
}

void bt_process_ended(struct bt_process *process, int status)
{
    struct bt_supervisor *sv = process->supervisor;
    char how[TEXT_BYTES];
    describe_end(status, how);
    process->pid = 0;
    /* Before the fleet was ready, an end is most likely a mistake of the configuration, which a
     * restart cannot correct. */
    if (sv->phase == BT_STARTING) {
        fail_start(process, how);
    } else if (sv->phase == BT_SERVING && WIFEXITED(status) && !WEXITSTATUS(status)) {
        start_drained(process, how);
    } else if (sv->phase == BT_SERVING) {
        start_later(process, how);
    } else {
        baton_log(BATON_LOG_INFO, "process_stopped", BATON_S("name", process->command->name),
                  BATON_S("how", how));
        bt_advance_stop(sv);
    }
}
