/* Ends accepted TCP connections from underneath NNG.
 *
 * NNG up to 1.5.2 can lose track of a connection that it closes while data arrives: one operation
 * never completes, and the thread that reports every lost connection of the process waits for it
 * for ever (nanomsg/nng#1636). A connection that the kernel ends takes a path without that flaw,
 * and the peer sees the same thing either way.
 *
 * Ownership: nothing is kept; descriptors stay NNG's.
 * Threading: any thread; safe against the descriptor being closed meanwhile.
 * Errors:    the result counts the connections ended, 0 when there was none.
 */
#ifndef BATON_WIRE_HANG_UP_H
#define BATON_WIRE_HANG_UP_H

#include <stddef.h>
#include <sys/socket.h>

/* Shuts down the connections accepted on local_port; with peer not NULL, only the one from there.
 */
size_t baton_hang_up(int local_port, const struct sockaddr_storage *peer);

#endif
