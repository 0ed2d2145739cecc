#include "bench/handoff/network.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { MAX_WORDS = 16, WORD_BYTES = 32 };

static enum baton_err write_file(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return BATON_IO;
    ssize_t n = write(fd, text, strlen(text));
    (void)close(fd);
    return n == (ssize_t)strlen(text) ? BATON_OK : BATON_IO;
}

/* Creates both namespaces: a user who may not create a network namespace may be root in a user
 * namespace that has one. */
static enum baton_err unshare_as_user(void)
{
    char users[64], groups[64];
    (void)snprintf(users, sizeof users, "0 %u 1\n", (unsigned)geteuid());
    (void)snprintf(groups, sizeof groups, "0 %u 1\n", (unsigned)getegid());
    /* user_namespaces(7) demands this order: setgroups must be denied before gid_map is written. */
    if (unshare(CLONE_NEWUSER | CLONE_NEWNET) || write_file("/proc/self/setgroups", "deny") ||
        write_file("/proc/self/gid_map", groups) || write_file("/proc/self/uid_map", users))
        return BATON_IO;
    return BATON_OK;
}

static enum baton_err bring_loopback_up(void)
{
    struct ifreq request = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return BATON_IO;
    int status = ioctl(fd, SIOCSIFFLAGS, &request);
    (void)close(fd);
    return status ? BATON_IO : BATON_OK;
}

/* Runs tc. Its own error message is dropped, because the caller's message names the cause. */
static enum baton_err run_tc(const char *const words[])
{
    posix_spawn_file_actions_t actions;
    pid_t pid;
    int status = 0;
    if (posix_spawn_file_actions_init(&actions))
        return BATON_NO_MEMORY;
    int err = posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    if (!err)
        err = posix_spawnp(&pid, "tc", &actions, NULL, (char *const *)(uintptr_t)words, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    if (err)
        return err == ENOENT ? BATON_NOT_FOUND : BATON_IO;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return BATON_IO;
    return WIFEXITED(status) && !WEXITSTATUS(status) ? BATON_OK : BATON_IO;
}

static enum baton_err add_netem(const struct ho_network *network)
{
    char delay[WORD_BYTES], rate[WORD_BYTES];
    /* netem's default of 1000 packets would drop some of a long, fast link. */
    const char *words[MAX_WORDS] = {"tc",    "qdisc", "add",    "dev",   "lo", "root",
                                    "netem", "limit", "100000", "delay", delay};
    (void)snprintf(delay, sizeof delay, "%.0fus", network->latency_s * 1e6);
    (void)snprintf(rate, sizeof rate, "%.0fbit", network->bytes_per_s * 8);
    if (network->bytes_per_s > 0) {
        words[11] = "rate";
        words[12] = rate;
    }
    return run_tc(words);
}

static enum baton_err add_tbf(const struct ho_network *network)
{
    char rate[WORD_BYTES];
    /* The burst must exceed a timer tick's worth of bytes, or the rate is not reached. */
    const char *words[MAX_WORDS] = {"tc",   "qdisc", "add",   "dev",   "lo",      "root", "tbf",
                                    "rate", rate,    "burst", "256kb", "latency", "1s"};
    (void)snprintf(rate, sizeof rate, "%.0fbit", network->bytes_per_s * 8);
    return run_tc(words);
}

enum baton_err ho_network_enter(const struct ho_network *network, struct baton_why *why)
{
    if (unshare(CLONE_NEWNET) && unshare_as_user())
        return baton_fail(why, BATON_IO, "a network namespace is not permitted: %s",
                          strerror(errno));
    if (bring_loopback_up())
        return baton_fail(why, BATON_IO, "the namespace's loopback does not come up: %s",
                          strerror(errno));
    enum baton_err err = add_netem(network);
    if (err == BATON_NOT_FOUND)
        return baton_fail(why, err, "there is no program tc here (package iproute2)");
    if (err && !(network->latency_s > 0))
        err = add_tbf(network);
    return err ? baton_fail(why, err, "tc refused: this kernel has no netem") : BATON_OK;
}
