/* Listening and dialling, with this process's identity if it has one
 * (common/wire/transport/peer_tls.h).
 *
 * Ownership: the socket is the caller's, and closes what was made here.
 * Threading: any thread.
 * Errors:    NNG's numbers; 0 is success.
 */
#ifndef BATON_COMMON_WIRE_TRANSPORT_PEER_SOCKET_H
#define BATON_COMMON_WIRE_TRANSPORT_PEER_SOCKET_H

#include <nng/nng.h>

int baton_peer_listen(nng_socket socket, const char *url, nng_listener *listener);
/* In the background. */
int baton_peer_dial(nng_socket socket, const char *url);

#endif
