#include "tests/support/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/clock.h"

extern char **environ;

static bool spawn(struct process *process, const char *const *argv, int in, int out)
{
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out, STDERR_FILENO);
    int failed = posix_spawn(&process->pid, argv[0], &actions, NULL, (char *const *)argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    return !failed;
}

bool process_start(struct process *process, const char *const *argv)
{
    int in[2], out[2];
    memset(process, 0, sizeof *process);
    if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC))
        return false;
    bool started = spawn(process, argv, in[0], out[1]);
    close(in[0]);
    close(out[1]);
    process->in = in[1];
    process->out = out[0];
    return started;
}

/* Takes one line out of the buffer; false when it holds none. */
static bool take_line(struct process *process, char *line, size_t size)
{
    char *end = memchr(process->buffer, '\n', process->n);
    if (!end)
        return false;
    *end = 0;
    size_t used = (size_t)(end - process->buffer) + 1;
    memcpy(line, process->buffer, used < size ? used : size);
    line[size - 1] = 0;
    process->n -= used;
    memmove(process->buffer, end + 1, process->n);
    return true;
}

static bool read_more(struct process *process, int64_t until_ns)
{
    int64_t left_ns = until_ns - baton_now_ns();
    struct pollfd readable = {.fd = process->out, .events = POLLIN};
    if (left_ns <= 0 || poll(&readable, 1, (int)(left_ns / BATON_MS) + 1) != 1)
        return false;
    ssize_t n =
        read(process->out, process->buffer + process->n, sizeof process->buffer - process->n);
    process->n += n > 0 ? (size_t)n : 0;
    return n > 0;
}

bool process_expect(struct process *process, const char *text, char *line, size_t size,
                    int timeout_ms)
{
    int64_t until_ns = baton_now_ns() + timeout_ms * BATON_MS;
    char one[2048];
    do {
        while (take_line(process, one, sizeof one)) {
            if (!strstr(one, text))
                continue;
            if (line)
                (void)snprintf(line, size, "%s", one);
            return true;
        }
    } while (read_more(process, until_ns));
    return false;
}

void process_order(struct process *process, const char *line)
{
    ssize_t n = write(process->in, line, strlen(line));
    (void)n; /* a child that is gone shows in what it does not say */
}

void process_end(struct process *process)
{
    if (process->pid <= 0)
        return;
    (void)kill(process->pid, SIGKILL);
    (void)waitpid(process->pid, NULL, 0);
    close(process->in);
    close(process->out);
    process->pid = 0;
}
