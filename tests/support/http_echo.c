/* The HTTP server with an echo for a handler, so that its manners can be tested without a model:
 *
 *     http_echo [PORT]     prints "listening on 127.0.0.1:PORT", runs until SIGTERM
 *
 *     POST /generate         JSON in, the same bytes out; other content types 415, bad JSON 400
 *     POST /generate/stream  the body as server-sent events, one for each of its lines
 *     GET  /health           {"status":"ok"}
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "common/base/json.h"
#include "gateway/http/server.h"
#include "gateway/http/sse.h"
#include "gateway/http/status.h"

enum { MAX_REPLY_BYTES = 16 << 20 };

static void respond_error(struct gw_exchange *exchange, int status, const char *message,
                          const char *allow)
{
    gw_exchange_respond_error(
        exchange, &(struct gw_error){
                      .status = status, .code = "refused", .message = message, .allow = allow});
}

static void echo(struct gw_exchange *exchange)
{
    size_t n;
    struct baton_why why;
    struct baton_json *root = NULL;
    const char *body = gw_exchange_body(exchange, &n);
    if (strncmp(gw_exchange_header(exchange, "content-type"), "application/json", 16) != 0) {
        respond_error(exchange, 415, "The body must be application/json.", NULL);
    } else if (baton_json_parse(body, n, &root, &why)) {
        respond_error(exchange, 400, why.text, NULL);
    } else {
        gw_exchange_respond(exchange, 200, "application/json", "", body, n);
        baton_json_free(root);
    }
}

static void stream(struct gw_exchange *exchange)
{
    size_t n;
    const char *line = gw_exchange_body(exchange, &n);
    const char *end = line + n;
    struct baton_buf event;
    baton_buf_init(&event, MAX_REPLY_BYTES);
    gw_exchange_stream_begin(exchange, 200, "text/event-stream", "Cache-Control: no-cache\r\n");
    while (line < end) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        size_t length = (size_t)((newline ? newline : end) - line);
        baton_buf_reset(&event);
        gw_sse_event(&event, "token", line, length);
        gw_exchange_stream_write(exchange, baton_buf_text(&event), event.len);
        line += length + 1;
    }
    gw_exchange_stream_end(exchange);
    baton_buf_fini(&event);
}

static const struct {
    const char *method, *path;
    void (*handle)(struct gw_exchange *exchange);
} routes[] = {{"POST", "/generate", echo}, {"POST", "/generate/stream", stream}};

static void health(struct gw_exchange *exchange)
{
    static const char body[] = "{\"status\":\"ok\"}";
    gw_exchange_respond(exchange, 200, "application/json", "", body, sizeof body - 1);
}

static void on_request(void *arg, struct gw_exchange *exchange)
{
    const char *method = gw_exchange_method(exchange), *path = gw_exchange_path(exchange);
    bool reads = !strcmp(method, "GET") || !strcmp(method, "HEAD");
    (void)arg;
    if (!strcmp(path, "/health")) {
        if (reads)
            health(exchange);
        else
            respond_error(exchange, 405, "GET this path.", "GET, HEAD");
        return;
    }
    for (size_t i = 0; i < BATON_N_OF(routes); i++)
        if (!strcmp(path, routes[i].path)) {
            if (!strcmp(method, routes[i].method))
                routes[i].handle(exchange);
            else
                respond_error(exchange, 405, "POST to this path.", "POST");
            return;
        }
    respond_error(exchange, 404, "There is nothing at this path.", NULL);
}

static void on_gone(void *arg, struct gw_exchange *exchange, const char *reason)
{
    (void)arg;
    (void)exchange;
    (void)reason;
}

static void on_full(void *arg, struct gw_exchange *exchange, bool full)
{
    (void)arg;
    (void)exchange;
    (void)full;
}

static void on_signal(uv_signal_t *handle, int number)
{
    (void)number;
    gw_http_stop(handle->data, NULL, NULL);
    uv_close((uv_handle_t *)handle, NULL);
}

int main(int argc, char **argv)
{
    static const struct gw_http_options options = {.host = "127.0.0.1",
                                                   .backlog = 128,
                                                   .max_connections = 1000,
                                                   .max_head_bytes = 16 << 10,
                                                   .max_body_bytes = 1 << 20,
                                                   .head_timeout_ms = 1000,
                                                   .body_timeout_ms = 1000,
                                                   .idle_timeout_ms = 10000,
                                                   .pause_bytes = 64 << 10,
                                                   .cancel_bytes = 4 << 20,
                                                   .on_request = on_request,
                                                   .on_gone = on_gone,
                                                   .on_full = on_full};
    struct gw_http_options chosen = options;
    struct gw_http_server *server;
    struct baton_why why;
    uv_signal_t term;
    uv_loop_t *loop = uv_default_loop();
    chosen.port = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 0;
    (void)signal(SIGPIPE, SIG_IGN);
    if (gw_http_start(loop, &chosen, &server, &why)) {
        (void)fprintf(stderr, "http_echo: %s\n", why.text);
        return 1;
    }
    uv_signal_init(loop, &term);
    term.data = server;
    uv_signal_start(&term, on_signal, SIGTERM);
    (void)printf("listening on 127.0.0.1:%d\n", gw_http_port(server));
    (void)fflush(stdout);
    (void)uv_run(loop, UV_RUN_DEFAULT);
    return uv_loop_close(loop) ? 1 : 0;
}
