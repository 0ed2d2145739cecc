/* A connection to a server, in clear or through TLS, whose waits a signal may end.
 *
 * Ownership: embedded; open to close.
 * Threading: one thread.
 * Errors:    NOT_FOUND, IO, TIMEOUT, CANCELED; nothing is to be read or written after one.
 */
#ifndef BATON_PROGRAM_CONNECTION_H
#define BATON_PROGRAM_CONNECTION_H

#include <openssl/types.h>
#include <stddef.h>

#include "tools/baton/http.h"

struct bt_connection {
    int fd;
    SSL_CTX *tls_context; /* NULL in clear */
    SSL *tls;
    int timeout_ms;
    const volatile sig_atomic_t *stop;
};

/* Connected, and over TLS with the server's certificate checked. */
enum baton_err bt_connection_open(struct bt_connection *conn, const struct bt_server *server,
                                  int timeout_ms, const volatile sig_atomic_t *stop,
                                  struct baton_why *why) BATON_MUST_CHECK;
void bt_connection_close(struct bt_connection *conn);

enum baton_err bt_connection_write(struct bt_connection *conn, const char *bytes, size_t n,
                                   struct baton_why *why) BATON_MUST_CHECK;
/* *n is 0 at the end. */
enum baton_err bt_connection_read(struct bt_connection *conn, char *bytes, size_t size, size_t *n,
                                  struct baton_why *why) BATON_MUST_CHECK;

#endif
