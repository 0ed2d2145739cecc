#include "bench/handoff/emulation.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* The child's answer, in one packet. */
struct answer {
    enum baton_err err;
    struct baton_why why;
    struct ho_times times[HO_MAX_LENGTHS];
};

static enum baton_err measure(const struct ho_order *order, struct answer *answer)
{
    struct ho_lane *lane = NULL;
    enum baton_err err = ho_lane_open(&order->geometry, &lane, &answer->why);
    for (int i = 0; i < order->n_lengths && !err; i++)
        err = ho_lane_measure(lane, order->n_blocks[i], order->chunk_bytes, order->n_runs,
                              &answer->times[i], &answer->why);
    ho_lane_close(lane);
    return err;
}

/* Runs the child: answers each order, and exits when the parent has gone. */
static void serve_orders(int fd)
{
    struct ho_order order;
    bool is_inside = false;
    while (recv(fd, &order, sizeof order, 0) == (ssize_t)sizeof order) {
        struct answer answer = {0};
        /* A namespace can be entered once, so the first order's network holds for all. */
        if (!is_inside)
            answer.err = ho_network_enter(&order.network, &answer.why);
        is_inside = !answer.err;
        if (is_inside)
            answer.err = measure(&order, &answer);
        (void)send(fd, &answer, sizeof answer, MSG_NOSIGNAL);
    }
    _exit(0);
}

enum baton_err ho_emulation_start(struct ho_emulation *emulation, struct baton_why *why)
{
    int fds[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds))
        return baton_fail(why, BATON_IO, "no socket pair: %s", strerror(errno));
    pid_t pid = fork();
    if (pid < 0) {
        (void)close(fds[0]);
        (void)close(fds[1]);
        return baton_fail(why, BATON_IO, "no child process: %s", strerror(errno));
    }
    (void)close(fds[pid ? 1 : 0]);
    if (!pid)
        serve_orders(fds[1]);
    *emulation = (struct ho_emulation){.pid = pid, .fd = fds[0]};
    return BATON_OK;
}

enum baton_err ho_emulation_run(struct ho_emulation *emulation, const struct ho_order *order,
                                struct ho_times *times, struct baton_why *why)
{
    struct answer answer;
    if (send(emulation->fd, order, sizeof *order, MSG_NOSIGNAL) != (ssize_t)sizeof *order ||
        recv(emulation->fd, &answer, sizeof answer, 0) != (ssize_t)sizeof answer)
        return baton_fail(why, BATON_PEER, "the measuring child process died");
    if (answer.err)
        return baton_fail(why, answer.err, "%s", answer.why.text);
    memcpy(times, answer.times, (size_t)order->n_lengths * sizeof *times);
    return BATON_OK;
}

void ho_emulation_stop(struct ho_emulation *emulation)
{
    if (!emulation->pid)
        return;
    (void)close(emulation->fd);
    (void)kill(emulation->pid, SIGKILL);
    (void)waitpid(emulation->pid, NULL, 0);
    *emulation = (struct ho_emulation){0};
}
