#include "common/wire/transport/stranger_judge.h"

#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/ioctl.h>

#include "common/base/clock.h"
#include "common/wire/transport/strangers.h"

/* Bytes that NNG has read from the connection; what the kernel holds is not in our memory. */
static uint64_t bytes_read(int fd)
{
    struct tcp_info info = {0};
    socklen_t size = sizeof info;
    int unread = 0;
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) || ioctl(fd, SIOCINQ, &unread))
        return 0;
    return info.tcpi_bytes_received > (uint64_t)unread ? info.tcpi_bytes_received - (uint64_t)unread
                                                       : 0;
}

/* A descriptor that is another connection's by now is forgotten. */
static void check_descriptors(const struct baton_stranger_judge *judge, struct baton_stranger *rows,
                              size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (rows[i].target.fd >= 0 && !baton_hang_up_is_here(&judge->hang_up, &rows[i].target))
            rows[i].target.fd = -1;
        if (rows[i].target.fd < 0 && rows[i].n_looks < BATON_MAX_STRANGER_LOOKS)
            rows[i].n_looks++;
    }
}

/* Bytes that unfinished first messages hold, and in *largest the pipe that holds most. */
static uint64_t bytes_held(const struct baton_stranger *rows, size_t n, size_t *largest)
{
    uint64_t sum = 0, most = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t held = rows[i].target.fd >= 0 && !rows[i].heard && !rows[i].ends
                            ? bytes_read(rows[i].target.fd)
                            : 0;
        sum += held;
        if (held > most) {
            most = held;
            *largest = i;
        }
    }
    return sum;
}

/* Counts from 0 again: however often its descriptor was looked up in vain, it is hung up now. */
static void end(struct baton_stranger *row)
{
    row->ends = true;
    row->n_looks = 0;
}

/* Ends strangers that are silent for too long, then those that hold most until all together are
 * within the bound. */
static void end_some(struct baton_stranger_judge *judge, struct baton_stranger *rows, size_t n,
                     bool is_waiting, struct baton_strangers_stats *ended)
{
    size_t largest = 0;
    int64_t now_ns = baton_now_ns(), passed_ns = now_ns - judge->last_pass_ns;
    int64_t oldest_ns = now_ns - judge->patience_ns;
    judge->last_pass_ns = now_ns;
    for (size_t i = 0; i < n; i++)
        if (is_waiting && rows[i].pipe) { /* the inbox's owner is behind, not the stranger */
            int64_t later_ns = rows[i].since_ns + passed_ns;
            rows[i].since_ns = later_ns < now_ns ? later_ns : now_ns;
        } else if (!rows[i].ends && rows[i].since_ns < oldest_ns) {
            end(&rows[i]);
            ended->n_silent++;
        }
    while (bytes_held(rows, n, &largest) > BATON_MAX_STRANGERS_BYTES) {
        end(&rows[largest]);
        ended->n_greedy++;
    }
}

void baton_stranger_judge_all(struct baton_stranger_judge *judge, struct baton_stranger *rows,
                              size_t n, bool is_waiting, struct baton_strangers_stats *ended)
{
    check_descriptors(judge, rows, n);
    end_some(judge, rows, n, is_waiting, ended);
    for (size_t i = 0; i < n; i++)
        if (rows[i].ends && rows[i].n_looks < BATON_MAX_STRANGER_LOOKS) {
            (void)baton_hang_up_one(&judge->hang_up, &rows[i].target);
            rows[i].n_looks++;
        }
}
