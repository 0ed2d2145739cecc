/* Starts a process of the fleet.
 *
 * In a process group of its own, out of Ctrl-C's reach, but not in a session of its own: Linux
 * shares a core first among sessions (autogroups), and one of two workers could stall for seconds.
 * When the supervisor dies, the process is asked to end: nobody would look after it.
 *
 * Ownership: the descriptor stays the caller's.
 * Threading: the main thread, which must outlive what it starts.
 * Errors:    IO names the program.
 */
#ifndef BATON_TOOLS_BATON_FLEET_SPAWN_H
#define BATON_TOOLS_BATON_FLEET_SPAWN_H

#include <sys/types.h>

#include "common/base/error.h"

/* words: NULL-terminated, the program's path first. Both outputs go to out_fd. A program that
 * cannot be executed says why there and ends with status 127. */
enum baton_err bt_spawn(const char *const *words, int out_fd, pid_t *pid,
                        struct baton_why *why) BATON_MUST_CHECK;

#endif
