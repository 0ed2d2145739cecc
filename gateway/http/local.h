/* Requests that the gateway sends to itself: the handler sees an exchange like a client's, and its
 * answer goes to a function instead of a connection.
 *
 *     begin --> on_request --> (on_resume) --> answered
 *       +--cancel--> on_gone
 *
 * Ownership: an exchange belongs to the server from its begin to its end.
 * Threading: loop thread. `answered` is called by the loop, never from inside another call.
 * Errors:    begin: NULL without memory. Without memory for the answer its status is 503.
 */
#ifndef BATON_GATEWAY_HTTP_LOCAL_H
#define BATON_GATEWAY_HTTP_LOCAL_H

#include "common/base/buf.h"
#include "gateway/http/server.h"

/* Texts are borrowed during the call of `answered`, after which the exchange is gone. */
struct gw_local_answer {
    int status;
    double retry_after_s; /* 0: none is told */
    const char *request_id;
    struct baton_buf *body;
};

struct gw_local_request {
    const char *path;
    const char *id;     /* as a client's X-Request-Id */
    const uint8_t *key; /* the digest of the API key it belongs to; zeros: none */
    void (*mark)(struct gw_exchange *exchange); /* sets the shape of its errors; NULL: the common */
    const struct baton_buf *body;
    void (*answered)(void *arg, const struct gw_local_answer *answer);
    void *arg;
};

/* Sends a POST. All is copied but the key's digest, which stays valid until its end. */
struct gw_exchange *gw_local_begin(struct gw_http_server *server,
                                   const struct gw_local_request *request);
/* Ends an exchange that was not answered yet; `answered` is not called. */
void gw_local_cancel(struct gw_exchange *exchange, const char *reason);

/* The digest of the key that a request of the gateway's own belongs to; NULL for a client's. */
const uint8_t *gw_local_key(const struct gw_exchange *exchange);

#endif
