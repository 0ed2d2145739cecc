/* Sends requests one after the other to a gateway over one connection.
 *
 * Ownership: a caller is embedded; the body of its answer is valid until the next post.
 * Threading: one thread, which blocks in the calls.
 * Errors:    as bt_http_do. A connection that the server closed while it was idle is opened again.
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
    struct baton_http_response response; /* with the status and Retry-After */
    struct baton_buf request, body;
};

/* Borrows the server. timeout_ms limits each wait. */
void bt_caller_init(struct bt_caller *caller, const struct bt_server *server, int timeout_ms);
void bt_caller_fini(struct bt_caller *caller);

/* Posts JSON; the answer is in response and body. id names the request in the server's logs. */
enum baton_err bt_caller_post(struct bt_caller *caller, const char *path, const char *id,
                              const struct baton_buf *json, struct baton_why *why) BATON_MUST_CHECK;

#endif
