#include "gateway/http/local.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gateway/http/conn.h"

const uint8_t *gw_local_key(const struct gw_exchange *exchange)
{
    return exchange->local ? exchange->local->request.key : NULL;
}

/* ---- begin ---- */

static struct gw_exchange *create(struct gw_http_server *server,
                                  const struct gw_local_request *request)
{
    size_t n = strlen(request->path) + 1;
    struct gw_exchange *exchange = calloc(1, sizeof *exchange + n);
    struct gw_local *local = exchange ? calloc(1, sizeof *local) : NULL;
    if (!local) {
        free(exchange);
        return NULL;
    }
    local->server = server;
    local->exchange = exchange;
    local->request = *request;
    local->status = 503; /* until it has an answer */
    baton_buf_init(&local->body, GW_LOCAL_ANSWER_MAX_BYTES);
    memcpy(exchange->text, request->path, n);
    exchange->local = local;
    exchange->method = "POST";
    exchange->path = exchange->text;
    exchange->query = exchange->headers = "";
    exchange->minor = 1;
    exchange->put_error = gw_error_put;
    if (request->mark)
        request->mark(exchange);
    exchange->arrived_ns = baton_now_ns();
    (void)snprintf(exchange->id, sizeof exchange->id, "%s", request->id);
    baton_buf_init(&exchange->body, request->body->len + 1);
    baton_buf_init(&exchange->added, GW_ADDED_HEADERS_MAX_BYTES);
    baton_buf_append(&exchange->body, request->body->data, request->body->len);
    exchange->body_bytes = exchange->body.len;
    return exchange;
}

static void release(struct gw_local *local)
{
    struct gw_exchange *exchange = local->exchange;
    if (local->due.next)
        gw_local_list_remove(&local->server->locals, local);
    gw_account_put(exchange->account);
    baton_buf_fini(&exchange->body);
    baton_buf_fini(&exchange->added);
    baton_buf_fini(&local->body);
    free(local);
    free(exchange);
}

struct gw_exchange *gw_local_begin(struct gw_http_server *server,
                                   const struct gw_local_request *request)
{
    struct gw_exchange *exchange = create(server, request);
    if (!exchange)
        return NULL;
    if (baton_buf_err(&exchange->body)) {
        release(exchange->local);
        return NULL;
    }
    server->options.on_request(server->options.arg, exchange);
    baton_buf_fini(&exchange->body); /* it may wait for its answer for minutes, with others */
    return exchange;
}

/* ---- the end ---- */

void gw_local_due(struct gw_exchange *exchange)
{
    struct gw_local *local = exchange->local;
    if (local->due.next)
        return;
    gw_local_list_push_back(&local->server->locals, local);
    gw_server_sweep(local->server);
}

void gw_local_answer(struct gw_exchange *exchange, int status, const char *body, size_t n)
{
    struct gw_local *local = exchange->local;
    baton_buf_append(&local->body, body, n);
    local->status = status;
    local->has_ended = true;
    gw_local_due(exchange);
}

void gw_local_refuse(struct gw_exchange *exchange, const struct gw_error *error)
{
    struct gw_local *local = exchange->local;
    local->retry_after_s = error->retry_after_s;
    baton_buf_reset(&local->body);
    exchange->put_error(&local->body, error);
    gw_local_answer(exchange, error->status, "", 0);
}

void gw_local_attend(struct gw_local *local)
{
    const struct gw_http_options *options = &local->server->options;
    if (!local->has_ended) {
        options->on_resume(options->arg, local->exchange);
        return;
    }
    struct gw_local_answer answer = {.status = local->status,
                                     .retry_after_s = local->retry_after_s,
                                     .request_id = local->exchange->id,
                                     .body = &local->body};
    if (baton_buf_err(&local->body)) {
        baton_buf_reset(&local->body);
        answer.status = 503;
    }
    local->request.answered(local->request.arg, &answer);
    release(local);
}

void gw_local_cancel(struct gw_exchange *exchange, const char *reason)
{
    struct gw_local *local = exchange->local;
    const struct gw_http_options *options = &local->server->options;
    if (!local->has_ended)
        options->on_gone(options->arg, exchange, reason);
    release(local);
}
