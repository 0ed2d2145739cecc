#include "tools/baton/http.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/json.h"
#include "common/base/os/file.h"
#include "common/http/connection.h"
#include "common/http/response.h"

enum {
    BODY_MAX_BYTES = 16 << 20,
    REQUEST_MAX_BYTES = 64 << 20,
    KEYS_FILE_MAX_BYTES = 1 << 20,
    READ_BYTES = 16 << 10,
    HTTP_OK = 200
};

/* ---- the server ---- */

/* Other programs are given the address with the API's own path. */
static void cut_api_path(char *path)
{
    size_t n = strlen(path);
    if (n >= 3 && !strcmp(path + n - 3, "/v1"))
        path[n - 3] = '\0';
}

enum baton_err bt_server_parse(const char *option, const char *text, struct bt_server *server,
                               struct baton_why *why)
{
    char with_scheme[512];
    *server = (struct bt_server){.key = ""};
    bool is_bare = *text && !strstr(text, "://") && strlen(text) < sizeof with_scheme - 8;
    (void)snprintf(with_scheme, sizeof with_scheme, "http://%s", text);
    enum baton_err err =
        baton_http_url_parse_any(option, is_bare ? with_scheme : text, &server->url, why);
    if (!err)
        cut_api_path(server->url.path);
    return err;
}

enum baton_err bt_server_read_key(struct bt_server *server, const char *path, struct baton_why *why)
{
    struct baton_buf text;
    if (!*path)
        return BATON_OK;
    baton_buf_init(&text, KEYS_FILE_MAX_BYTES);
    enum baton_err err = baton_file_read(path, &text, why);
    for (const char *line = baton_buf_text(&text); !err && *line && !*server->key;) {
        size_t n = strcspn(line, " \t\r\n");
        if (n && *line != '#' && n < sizeof server->key)
            memcpy(server->key, line, n);
        line += strcspn(line, "\n");
        line += *line == '\n';
    }
    baton_buf_fini(&text);
    return err;
}

/* ---- an exchange ---- */

struct exchange {
    const struct bt_request *request;
    struct baton_http_connection conn;
    struct baton_http_response response;
    struct ld_sse sse;
    struct baton_buf *body;
};

static enum baton_err send_request(struct exchange *x, const struct bt_server *server,
                                   struct baton_why *why)
{
    const struct bt_request *request = x->request;
    struct baton_buf out;
    baton_buf_init(&out, REQUEST_MAX_BYTES);
    baton_buf_printf(&out, "%s %s%s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n", request->method,
                     server->url.path, request->path, server->url.authority);
    if (*server->key)
        baton_buf_printf(&out, "Authorization: Bearer %s\r\n", server->key);
    if (request->body)
        baton_buf_printf(&out, "Content-Type: application/json\r\nContent-Length: %zu\r\n",
                         strlen(request->body));
    baton_buf_puts(&out, "\r\n");
    if (request->body)
        baton_buf_puts(&out, request->body);
    enum baton_err err = baton_buf_err(&out);
    if (!err)
        err = baton_http_connection_write(&x->conn, out.data, out.len, why);
    baton_buf_fini(&out);
    return err;
}

static bool is_stream(const struct exchange *x)
{
    return x->response.has_head && x->response.is_events && x->response.status == HTTP_OK &&
           x->request->on_event;
}

/* Feeds n bytes; AGAIN until the answer is complete. */
static enum baton_err feed(struct exchange *x, const char *bytes, size_t n, struct baton_why *why)
{
    size_t n_used;
    enum baton_err err = n ? baton_http_response_feed(&x->response, bytes, n, &n_used, x->body, why)
                           : baton_http_response_eof(&x->response);
    if (!n && err)
        return baton_fail(why, BATON_IO, "the connection was closed in the middle of an answer");
    if (err && err != BATON_AGAIN)
        return baton_fail(why, BATON_PEER, "the answer is not HTTP: %.500s", why ? why->text : "");
    if (!is_stream(x))
        return err;
    enum baton_err event_err =
        ld_sse_feed(&x->sse, x->body->data, x->body->len, x->request->on_event, x->request->arg);
    baton_buf_reset(x->body);
    return event_err ? event_err : err;
}

static enum baton_err receive(struct exchange *x, struct baton_why *why)
{
    char bytes[READ_BYTES];
    size_t n = 0;
    enum baton_err err = BATON_AGAIN;
    struct baton_why reason = {.text = ""};
    while (err == BATON_AGAIN) {
        err = baton_http_connection_read(&x->conn, bytes, sizeof bytes, &n, &reason);
        if (!err)
            err = feed(x, bytes, n, &reason);
    }
    return err && *reason.text ? baton_fail(why, err, "%s", reason.text) : err;
}

void bt_answer_init(struct bt_answer *answer)
{
    answer->status = 0;
    baton_buf_init(&answer->body, BODY_MAX_BYTES);
}

void bt_answer_fini(struct bt_answer *answer)
{
    baton_buf_fini(&answer->body);
}

enum baton_err bt_http_do(const struct bt_server *server, const struct bt_request *request,
                          struct bt_answer *answer, struct baton_why *why)
{
    struct exchange x = {.request = request, .body = &answer->body};
    baton_buf_reset(&answer->body);
    answer->status = 0;
    /* Our own server's certificate may be for another address than the one that we use. */
    const struct baton_http_trust trust = {.anybody = server->is_ours};
    const struct baton_http_wait wait = {.timeout_ms = request->timeout_ms, .stop = request->stop};
    enum baton_err err = baton_http_connection_open(&x.conn, &server->url, &trust, &wait, why);
    if (err)
        return err;
    baton_http_response_init(&x.response);
    ld_sse_init(&x.sse);
    err = send_request(&x, server, why);
    if (!err)
        err = receive(&x, why);
    answer->status = x.response.status;
    ld_sse_fini(&x.sse);
    baton_http_response_fini(&x.response);
    baton_http_connection_close(&x.conn);
    return err;
}

void bt_answer_reason(const struct bt_answer *answer, char *text, size_t size)
{
    struct baton_json *root = NULL;
    const char *body = baton_buf_text(&answer->body), *message = NULL;
    if (!baton_json_parse(body, answer->body.len, &root, NULL)) {
        const struct baton_json *error = baton_json_get(root, "error");
        message = baton_json_string(baton_json_get(error, "message"), NULL);
    }
    (void)snprintf(text, size, "%s", message ? message : body);
    baton_json_free(root);
}
