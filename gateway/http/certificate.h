/* The certificate files of the server, read at start and again on demand.
 *
 * Ownership: a plain value that owns its context; the paths are borrowed.
 * Threading: one owner.
 * Errors:    open: INVALID (only one of the two files is named) and those of gw_tls_context_open.
 */
#ifndef BATON_GATEWAY_HTTP_CERTIFICATE_H
#define BATON_GATEWAY_HTTP_CERTIFICATE_H

#include "gateway/http/tls.h"

struct gw_certificate {
    const char *certfile, *keyfile;
    struct gw_tls_context *context; /* NULL: HTTP without TLS */
};

/* Opens the files. Two empty names mean no TLS. */
enum baton_err gw_certificate_open(struct gw_certificate *certificate, const char *certfile,
                                   const char *keyfile, struct baton_why *why) BATON_MUST_CHECK;
/* Reads the files again. After an error, which is logged, the old certificate stays. Open
 * connections keep theirs. */
void gw_certificate_reload(struct gw_certificate *certificate);
void gw_certificate_close(struct gw_certificate *certificate);

#endif
