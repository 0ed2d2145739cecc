#include "tools/baton/fleet/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { NOT_EXECUTED = 127 }; /* the status that shells use */

/* Writes a text. In the child of a process with threads only async-signal-safe calls are
 * allowed. */
static void write_error(const char *text)
{
    ssize_t written = write(STDERR_FILENO, text, strlen(text));
    (void)written;
}

static void restore_signals(void)
{
    sigset_t none;
    for (int number = 1; number < NSIG; number++)
        (void)signal(number, SIG_DFL);
    /* Processes of Baton reopen their log on SIGUSR1; one that has no handler yet must not end. */
    (void)signal(SIGUSR1, SIG_IGN);
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

_Noreturn static void execute(const char *const *words, int out_fd, pid_t parent)
{
    int null_fd = open("/dev/null", O_RDONLY);
    (void)setpgid(0, 0);
    (void)dup2(null_fd, STDIN_FILENO);
    (void)dup2(out_fd, STDOUT_FILENO);
    (void)dup2(out_fd, STDERR_FILENO);
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    restore_signals();
    /* A parent that died before prctl leaves no signal behind: then the child ends at once. */
    if (getppid() == parent)
        (void)execv(words[0], (char *const *)words);
    write_error(words[0]);
    write_error(": ");
    write_error(errno == ENOENT ? "no such program\n" : "cannot be executed\n");
    _exit(NOT_EXECUTED);
}

enum baton_err bt_spawn(const char *const *words, int out_fd, pid_t *pid, struct baton_why *why)
{
    sigset_t all, before;
    pid_t parent = getpid();
    /* Our handlers must not run in the child: they would write to our loop's pipe. */
    (void)sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, &before);
    pid_t child = fork();
    int failure = errno;
    if (child == 0)
        execute(words, out_fd, parent);
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    if (child < 0)
        return baton_fail(why, BATON_IO, "%s: fork: %s", words[0], strerror(failure));
    *pid = child;
    return BATON_OK;
}
