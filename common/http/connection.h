/* A connection to an HTTP server, in clear or through TLS, whose waits a deadline, a signal or
 * another thread may end.
 *
 * Ownership: embedded; open to close. The pointers of a struct baton_http_wait are borrowed.
 * Threading: one thread, which blocks in the calls. Names are resolved without a time limit.
 * Errors:    NOT_FOUND (no such host), IO, TIMEOUT, CANCELED, PEER (its certificate is not
 *            trusted), INVALID (the file of authorities). After an error the connection must not be
 *            read or written.
 */
#ifndef BATON_COMMON_HTTP_CONNECTION_H
#define BATON_COMMON_HTTP_CONNECTION_H

#include <openssl/types.h>
#include <signal.h>
#include <stddef.h>

#include "common/base/doorbell.h"
#include "common/http/url.h"

/* The conditions that end a wait before the server does. */
struct baton_http_wait {
    int timeout_ms;   /* of each wait; -1: no limit */
    int64_t until_ns; /* of all waits, on the clock of baton_now_ns; 0: no limit */
    /* The handler of SIGINT sets it. The caller blocks SIGINT, which runs only while this waits.
     * May be NULL. */
    const volatile sig_atomic_t *stop;
    const struct baton_doorbell *stop_bell; /* rung by another thread, and never reset; or NULL */
};

/* The certificates that are trusted. */
struct baton_http_trust {
    bool anybody;       /* all of them, for any name */
    const char *cafile; /* PEM of the authorities; NULL or "": those of the system */
};

struct baton_http_connection {
    int fd;
    SSL_CTX *tls_context; /* NULL in clear */
    SSL *tls;
    struct baton_http_wait wait;
};

/* Connects and, over TLS, checks the server's certificate. */
enum baton_err baton_http_connection_open(struct baton_http_connection *conn,
                                          const struct baton_http_url *url,
                                          const struct baton_http_trust *trust,
                                          const struct baton_http_wait *wait,
                                          struct baton_why *why) BATON_MUST_CHECK;
void baton_http_connection_close(struct baton_http_connection *conn);

enum baton_err baton_http_connection_write(struct baton_http_connection *conn, const char *bytes,
                                           size_t n, struct baton_why *why) BATON_MUST_CHECK;
/* Reads some bytes. *n is 0 at the end. */
enum baton_err baton_http_connection_read(struct baton_http_connection *conn, char *bytes,
                                          size_t size, size_t *n,
                                          struct baton_why *why) BATON_MUST_CHECK;

#endif
