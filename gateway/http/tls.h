/* TLS 1.2 and 1.3 of HTTP connections, by OpenSSL: it works on bytes in memory and knows no socket.
 *
 *     socket --gw_tls_feed--> | SSL | --gw_tls_read--> requests
 *     socket <--gw_tls_out--- | SSL | <--gw_tls_write-- responses
 *
 * Each call that returns leaves in gw_tls_out what must be sent to the peer: also gw_tls_handshake
 * and gw_tls_read have something to say. The protocol offered by ALPN (RFC 7301) is http/1.1. A
 * client that knows neither it nor http/1.0 is refused. There is no renegotiation, and a session is
 * resumed by tickets only, so that a connection costs nothing once it is closed.
 *
 * Ownership: a context belongs to its opener, and may be closed while its connections live.
 * Threading: one owner at a time.
 * Errors:    open: INVALID, with file and reason (no certificate, no key, a key of another one, a
 *            key with a password), NO_MEMORY. A connection: AGAIN (feed more), CLOSED (the peer
 *            said that it ends), PEER (no TLS, an alert, a wrong record), NO_MEMORY; after these
 *            three nothing works any more.
 */
#ifndef BATON_GATEWAY_HTTP_TLS_H
#define BATON_GATEWAY_HTTP_TLS_H

#include <stddef.h>

#include "common/base/buf.h"
#include "common/base/error.h"

struct gw_tls_context; /* a certificate and its key */
struct gw_tls;         /* the server's side of one connection */

/* certfile: PEM, the server's certificate and then those of its issuers. keyfile: PEM. */
enum baton_err gw_tls_context_open(const char *certfile, const char *keyfile,
                                   struct gw_tls_context **context,
                                   struct baton_why *why) BATON_MUST_CHECK;
/* NULL is none. */
void gw_tls_context_close(struct gw_tls_context *context);
/* How long the certificate is valid from now on; negative: it has expired. */
int gw_tls_context_days_left(const struct gw_tls_context *context);

/* NULL without memory. */
struct gw_tls *gw_tls_create(struct gw_tls_context *context);
/* NULL is none. */
void gw_tls_destroy(struct gw_tls *tls);

/* n bytes that the peer sent, borrowed until gw_tls_handshake or gw_tls_read says anything but OK:
 * then they are used up. */
void gw_tls_feed(struct gw_tls *tls, const char *bytes, size_t n);
/* OK: done; what is left of the bytes fed is for gw_tls_read. */
enum baton_err gw_tls_handshake(struct gw_tls *tls) BATON_MUST_CHECK;
/* OK: 1 to `size` bytes of what the peer wrote. */
enum baton_err gw_tls_read(struct gw_tls *tls, char *bytes, size_t size,
                           size_t *n) BATON_MUST_CHECK;
/* Encrypts all n bytes. */
enum baton_err gw_tls_write(struct gw_tls *tls, const char *bytes, size_t n) BATON_MUST_CHECK;
/* Says that nothing follows, so that a peer can tell a whole answer from one that was cut. */
void gw_tls_end(struct gw_tls *tls);

/* What is to be sent to the peer now; the caller takes it out. */
struct baton_buf *gw_tls_out(struct gw_tls *tls);

#endif
