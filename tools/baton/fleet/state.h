/* The state directory of a fleet: its processes, their start times, and its address.
 *
 *     lock            held by the supervisor as long as it lives; says that the rest is Baton's
 *     NAME.pid        pid, start time and number of restarts of a process
 *     supervisor      the same of the supervisor
 *     fleet.json      the gateway's address and keys, for `status`
 *     port            the HTTP port, for scripts
 *     cluster-token   the fleet's secret, for its owner alone
 *     log/NAME.log    of a fleet in the background
 *
 * Ownership: plain values; the lock is a file descriptor of the caller's.
 * Threading: one thread.
 * Errors:    IO with the path and the reason; AGAIN: the lock is held.
 */
#ifndef BATON_TOOLS_BATON_FLEET_STATE_H
#define BATON_TOOLS_BATON_FLEET_STATE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/base/error.h"

enum { BT_NAME_BYTES = 16, BT_MAX_WORKERS = 64 };

struct bt_state {
    char dir[PATH_MAX];
};

/* The address of a running fleet. */
struct bt_fleet_file {
    char host[64], api_keys[PATH_MAX];
    int64_t port, n_prefill, n_decode;
    double stop_timeout_s; /* for each of the two steps of an orderly stop */
    bool tls;
};

/* Finds the directory that --state names, as an absolute path; NULL or "" stands for Baton's own in
 * the user's state directory. */
enum baton_err bt_state_find(const char *option, struct bt_state *state,
                             struct baton_why *why) BATON_MUST_CHECK;
/* Writes DIR/name. */
enum baton_err bt_state_path(const struct bt_state *state, const char *name, char path[PATH_MAX],
                             struct baton_why *why) BATON_MUST_CHECK;

/* Creates the directory and log/ in it. INVALID: one of them is a link, of another user, or
 * writable for others. */
enum baton_err bt_state_make(const struct bt_state *state, struct baton_why *why) BATON_MUST_CHECK;
/* Takes the lock; *fd is closed on exec. INVALID: the directory has no lock of Baton's, and files
 * with names of Baton's, which would be overwritten. */
enum baton_err bt_state_lock(const struct bt_state *state, int *fd,
                             struct baton_why *why) BATON_MUST_CHECK;
/* Removes the files of an earlier fleet, and its logs if with_logs; without a lock of Baton's,
 * nothing. Other files stay. */
void bt_state_clear(const struct bt_state *state, bool with_logs);

/* Writes a file that readers see complete or not at all, with that mode. */
enum baton_err bt_state_write(const struct bt_state *state, const char *name, const char *text,
                              mode_t mode, struct baton_why *why) BATON_MUST_CHECK;
/* Opens log/NAME.log to append to it. */
enum baton_err bt_state_open_log(const struct bt_state *state, const char *name, int *fd,
                                 struct baton_why *why) BATON_MUST_CHECK;

/* Writes the pid file of a process or of the supervisor. */
enum baton_err bt_state_write_pid(const struct bt_state *state, const char *file, pid_t pid,
                                  int n_restarts, struct baton_why *why) BATON_MUST_CHECK;
/* Returns 0 when that very process is gone. n_restarts may be NULL. */
pid_t bt_state_pid(const struct bt_state *state, const char *file, int *n_restarts);

/* Names of the processes that have a pid file: gateway, prefill-N, decode-N, in that order. */
struct bt_names {
    char names[1 + 2 * BT_MAX_WORKERS][BT_NAME_BYTES];
    int n;
};
void bt_state_names(const struct bt_state *state, struct bt_names *names);
/* Returns the pid of the process of that name; 0 when it is gone. */
pid_t bt_state_process(const struct bt_state *state, const char *name, int *n_restarts);
/* True when the supervisor or one of the processes is alive. */
bool bt_state_is_running(const struct bt_state *state);

enum baton_err bt_fleet_file_write(const struct bt_state *state, const struct bt_fleet_file *fleet,
                                   struct baton_why *why) BATON_MUST_CHECK;
enum baton_err bt_fleet_file_read(const struct bt_state *state, struct bt_fleet_file *fleet,
                                  struct baton_why *why) BATON_MUST_CHECK;

#endif
