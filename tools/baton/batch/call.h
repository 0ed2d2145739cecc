/* One request after the other to a gateway, over a connection that is kept.
 *
 * Ownership: a caller is embedded; its answer's body is good until the next post.
 * Threading: one thread, which the calls keep waiting.
 * Errors:    as bt_http_do; a connection that the server had closed meanwhile is opened anew.
 */
#ifndef BATON_TOOLS_BATON_BATCH_CALL_H
#define BATON_TOOLS_BATON_BATCH_CALL_H

#include "common/http/connection.h"
#include "common/http/response.h"
#include "tools/baton/http.h"

struct bt_caller {
    const struct bt_server *server;
    int timeout_ms;
    bool is_open;
    struct baton_http_connection conn;
    struct baton_http_response response; /* status, Retry-After */
    struct baton_buf request, body;
};

/* Borrows the server. timeout_ms: of each wait. */
void bt_caller_init(struct bt_caller *caller, const struct bt_server *server, int timeout_ms);
void bt_caller_fini(struct bt_caller *caller);

/* Posts JSON; the answer is in response and body. id: the request's, for the server's logs. */
enum baton_err bt_caller_post(struct bt_caller *caller, const char *path, const char *id,
                              const struct baton_buf *json, struct baton_why *why) BATON_MUST_CHECK;

#endif
