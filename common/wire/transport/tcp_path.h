/* Whether the host at the other end of a connection is still there, as TCP knows it.
 *
 * A process that is stopped says nothing, but its host's kernel goes on to acknowledge what it is
 * sent. Behind a cut path, or a host that is gone, nobody does. NNG does not tell the one from the
 * other; the kernel's TCP_INFO does.
 *
 * Ownership: nothing is kept; descriptors stay NNG's.
 * Threading: any thread; safe against the connection being closed meanwhile.
 * Errors:    a connection that is not found acknowledged nothing.
 */
#ifndef BATON_COMMON_WIRE_TRANSPORT_TCP_PATH_H
#define BATON_COMMON_WIRE_TRANSPORT_TCP_PATH_H

#include <stdint.h>

struct tcp_info;

/* For how long the far kernel has acknowledged nothing, if our kernel has sent something twice for
 * want of an answer; else 0. Data that was sent a moment ago is not acknowledged either, and the
 * last acknowledgement may be as old as the pause before it. */
int64_t baton_tcp_path_judge(const struct tcp_info *info);

/* The same of the pipe (an id of NNG's); INT64_MAX when it has no connection. Looks at every
 * descriptor of the process: not for each message. */
int64_t baton_tcp_path_silent_ns(uint32_t pipe);

#endif
