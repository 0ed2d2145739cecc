#include "tools/baton/fleet/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { NOT_EXECUTED = 127 };

/* In the child of a process with threads only async-signal-safe calls are allowed. */
static void say(const char *text)
{
    ssize_t written = write(STDERR_FILENO, text, strlen(text));
    (void)written;
}

static void restore_signals(void)
{
    sigset_t none;
    for (int number = 1; number < NSIG; number++)
        (void)signal(number, SIG_DFL);
    /* A process that knows nothing of it must not end by what others reopen their files for. */
    (void)signal(SIGUSR1, SIG_IGN);
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

_Noreturn static void become(const char *const *words, int out_fd, pid_t parent)
{
    int null_fd = open("/dev/null", O_RDONLY);
    (void)setpgid(0, 0);
    (void)dup2(null_fd, STDIN_FILENO);
    (void)dup2(out_fd, STDOUT_FILENO);
    (void)dup2(out_fd, STDERR_FILENO);
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    restore_signals();
    if (getppid() == parent)
        (void)execv(words[0], (char *const *)words);
    say(words[0]);
    say(": ");
    say(errno == ENOENT ? "no such program\n" : "cannot be executed\n");
    _exit(NOT_EXECUTED);
}

enum baton_err bt_spawn(const char *const *words, int out_fd, pid_t *pid, struct baton_why *why)
{
    sigset_t all, before;
    pid_t parent = getpid();
    /* Our handlers must not run in the child: they would tell our loop. */
    (void)sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, &before);
    pid_t child = fork();
    int failure = errno;
    if (child == 0)
        become(words, out_fd, parent);
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    if (child < 0)
        return baton_fail(why, BATON_IO, "%s: fork: %s", words[0], strerror(failure));
    *pid = child;
    return BATON_OK;
}
