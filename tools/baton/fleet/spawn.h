/* Starts a process of the fleet.
 *
 * The process gets its own process group, out of Ctrl-C's reach, but not its own session: Linux
 * shares a core first among sessions (autogroups), so one of two workers could stall for seconds.
 * When the supervisor dies, the process receives SIGTERM, because nobody would supervise it.
 *
 * Ownership: the descriptor stays the caller's.
 * Threading: the main thread, which must outlive the processes that it starts.
 * Errors:    IO names the program.
 */
#ifndef BATON_TOOLS_BATON_FLEET_SPAWN_H
#define BATON_TOOLS_BATON_FLEET_SPAWN_H

#include <sys/types.h>

#include "common/base/error.h"

/* words is NULL-terminated and begins with the program's path. Both outputs go to out_fd. A program
 * that cannot be executed writes the reason there and ends with status 127. */
enum baton_err bt_spawn(const char *const *words, int out_fd, pid_t *pid,
                        struct baton_why *why) BATON_MUST_CHECK;

#endif
