/* TLS 1.2 and 1.3 of HTTP connections, by OpenSSL: it works on bytes in memory, without a socket.
 *
 *     socket --gw_tls_feed--> | SSL | --gw_tls_read--> requests
 *     socket <--gw_tls_out--- | SSL | <--gw_tls_write-- responses
 *
 * After each call gw_tls_out holds the bytes to send to the peer: gw_tls_handshake and gw_tls_read
 * produce some too. ALPN (RFC 7301) offers http/1.1; a client that supports neither it nor http/1.0
 * is refused. There is no renegotiation, and sessions are resumed only by tickets, so that a closed
 * connection costs nothing.
 *
 * Ownership: a context belongs to its opener, and may be closed while its connections live.
 * Threading: one owner at a time.
 * Errors:    open: INVALID, with file and reason (no certificate, no key, a key of another one, a
 *            key with a password), NO_MEMORY. A connection: AGAIN (feed more), CLOSED (the peer
 *            announced its end), PEER (no TLS, an alert, a wrong record), NO_MEMORY; after these
 *            three the connection is unusable.
 */
#ifndef BATON_GATEWAY_HTTP_TLS_H
#define BATON_GATEWAY_HTTP_TLS_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/buf.h"
#include "common/base/error.h"

struct gw_tls_context; /* a certificate and its key */
struct gw_tls;         /* the server's side of one connection */

/* Opens a certificate. certfile: PEM, the server's certificate and then those of its issuers.
 * keyfile: PEM. */
enum baton_err gw_tls_context_open(const char *certfile, const char *keyfile,
                                   struct gw_tls_context **context,
                                   struct baton_why *why) BATON_MUST_CHECK;
/* Accepts NULL. */
void gw_tls_context_close(struct gw_tls_context *context);
/* Returns the days until the certificate expires; negative: it has expired. */
int gw_tls_context_days_left(const struct gw_tls_context *context);

/* True when n bytes from a client hold the whole first message of a handshake, the ClientHello, or
 * what cannot become one. */
bool gw_tls_is_whole_hello(const char *bytes, size_t n);

/* Returns NULL without memory. */
struct gw_tls *gw_tls_create(struct gw_tls_context *context);
/* Accepts NULL. */
void gw_tls_destroy(struct gw_tls *tls);

/* Feeds n bytes from the peer, borrowed until gw_tls_handshake or gw_tls_read returns anything but
 * OK: then they are used up. */
void gw_tls_feed(struct gw_tls *tls, const char *bytes, size_t n);
/* Continues the handshake. OK: done; the rest of the fed bytes is for gw_tls_read. */
enum baton_err gw_tls_handshake(struct gw_tls *tls) BATON_MUST_CHECK;
/* Decrypts. OK: 1 to `size` bytes of the peer's data. */
enum baton_err gw_tls_read(struct gw_tls *tls, char *bytes, size_t size,
                           size_t *n) BATON_MUST_CHECK;
/* Encrypts all n bytes. */
enum baton_err gw_tls_write(struct gw_tls *tls, const char *bytes, size_t n) BATON_MUST_CHECK;
/* Announces the end of the stream, so that a peer can tell a complete answer from one that was
 * cut. */
void gw_tls_end(struct gw_tls *tls);

/* Returns the bytes to send to the peer; the caller removes them. */
struct baton_buf *gw_tls_out(struct gw_tls *tls);

#endif
