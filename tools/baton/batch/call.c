#include "tools/baton/batch/call.h"

enum { REQUEST_MAX_BYTES = 64 << 20, BODY_MAX_BYTES = 32 << 20, READ_BYTES = 16 << 10 };

void bt_caller_init(struct bt_caller *caller, const struct bt_server *server, int timeout_ms)
{
    *caller = (struct bt_caller){.server = server, .timeout_ms = timeout_ms};
    baton_http_response_init(&caller->response);
    baton_buf_init(&caller->request, REQUEST_MAX_BYTES);
    baton_buf_init(&caller->body, BODY_MAX_BYTES);
}

static void hang_up(struct bt_caller *caller)
{
    if (caller->is_open)
        baton_http_connection_close(&caller->conn);
    caller->is_open = false;
}

void bt_caller_fini(struct bt_caller *caller)
{
    hang_up(caller);
    baton_http_response_fini(&caller->response);
    baton_buf_fini(&caller->request);
    baton_buf_fini(&caller->body);
}

static enum baton_err dial(struct bt_caller *caller, struct baton_why *why)
{
    /* Our own server's certificate may be for another address than the one that we use. */
    const struct baton_http_trust trust = {.anybody = caller->server->is_ours};
    const struct baton_http_wait wait = {.timeout_ms = caller->timeout_ms};
    enum baton_err err =
        baton_http_connection_open(&caller->conn, &caller->server->url, &trust, &wait, why);
    caller->is_open = !err;
    return err;
}

static enum baton_err put_request(struct bt_caller *caller, const char *path, const char *id,
                                  const struct baton_buf *json)
{
    const struct bt_server *server = caller->server;
    struct baton_buf *out = &caller->request;
    baton_buf_reset(out);
    baton_buf_printf(out, "POST %s%s HTTP/1.1\r\nHost: %s\r\nX-Request-Id: %s\r\n",
                     server->url.path, path, server->url.authority, id);
    if (*server->key)
        baton_buf_printf(out, "Authorization: Bearer %s\r\n", server->key);
    baton_buf_printf(out, "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n",
                     json->len);
    baton_buf_append(out, json->data, json->len);
    return baton_buf_err(out);
}

/* Receives the answer. *is_silent stays true if the connection ended before the first byte. */
static enum baton_err receive(struct bt_caller *caller, bool *is_silent, struct baton_why *why)
{
    char bytes[READ_BYTES];
    size_t n = 0, n_used;
    enum baton_err err = BATON_AGAIN;
    while (err == BATON_AGAIN) {
        err = baton_http_connection_read(&caller->conn, bytes, sizeof bytes, &n, why);
        if (err)
            return err;
        *is_silent &= !n;
        if (n)
            err =
                baton_http_response_feed(&caller->response, bytes, n, &n_used, &caller->body, why);
        else if (baton_http_response_eof(&caller->response))
            return baton_fail(why, BATON_IO,
                              "the connection was closed in the middle of an answer");
        else
            return BATON_OK;
    }
    /* These describe the server's answer, not the request. */
    return err == BATON_INVALID || err == BATON_LIMIT ? BATON_PEER : err;
}

static enum baton_err exchange(struct bt_caller *caller, bool *is_silent, struct baton_why *why)
{
    baton_http_response_reset(&caller->response);
    baton_buf_reset(&caller->body);
    enum baton_err err =
        baton_http_connection_write(&caller->conn, caller->request.data, caller->request.len, why);
    if (!err)
        err = receive(caller, is_silent, why);
    /* A body that lasts until the end of the connection leaves none to use again. */
    if (err || !caller->response.keep_alive || caller->response.body == BATON_HTTP_BODY_UNTIL_EOF)
        hang_up(caller);
    return err;
}

enum baton_err bt_caller_post(struct bt_caller *caller, const char *path, const char *id,
                              const struct baton_buf *json, struct baton_why *why)
{
    bool was_open = caller->is_open, is_silent = true;
    enum baton_err err = put_request(caller, path, id, json);
    if (!err && !was_open)
        err = dial(caller, why);
    if (!err)
        err = exchange(caller, &is_silent, why);
    if (err != BATON_IO || !was_open || !is_silent)
        return err;
    /* The server may have closed the connection because it was idle: without a byte of an answer,
     * the request was not processed, and can be sent again. */
    err = dial(caller, why);
    return err ? err : exchange(caller, &is_silent, why);
}
