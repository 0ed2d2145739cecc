#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/random.h"
#include "gateway/http/conn.h"

static size_t text_bytes(const struct gw_head *head)
{
    size_t n = head->method.n + GW_PATH_ROOM_BYTES + head->path.n + head->query.n + 3;
    for (size_t i = 0; i < head->n_headers; i++)
        n += head->headers[i].name.n + head->headers[i].value.n + 2;
    return n;
}

/* Copies the view with a terminating zero and moves *at past it. */
static char *put(char **at, struct gw_view view)
{
    char *text = *at;
    if (view.n)
        memcpy(text, view.p, view.n);
    text[view.n] = 0;
    *at += view.n + 1;
    return text;
}

static void lower(char *text)
{
    for (; *text; text++)
        if (*text >= 'A' && *text <= 'Z')
            *text = (char)(*text - 'A' + 'a');
}

static void put_headers(struct gw_exchange *exchange, char *at, const struct gw_head *head)
{
    exchange->headers = at;
    exchange->n_headers = head->n_headers;
    for (size_t i = 0; i < head->n_headers; i++) {
        lower(put(&at, head->headers[i].name));
        put(&at, head->headers[i].value);
    }
}

uint64_t gw_request_id(char id[GW_REQUEST_ID_BYTES])
{
    uint64_t number = baton_random_id();
    (void)snprintf(id, GW_REQUEST_ID_BYTES, "%016" PRIx64, number);
    return number;
}

/* Sets the id and the trace that the client names, or new ones. */
static void identify(struct gw_exchange *exchange)
{
    const char *id = gw_exchange_header(exchange, "x-request-id");
    if (baton_is_client_id(id))
        (void)snprintf(exchange->id, sizeof exchange->id, "%s", id);
    else
        exchange->number = gw_request_id(exchange->id);
    gw_trace_read(&exchange->trace, gw_exchange_header(exchange, "traceparent"));
    if (exchange->conn->server->options.traces && !*exchange->trace.id)
        gw_trace_begin(&exchange->trace);
}

struct gw_exchange *gw_exchange_create(struct gw_conn *conn, const struct gw_head *head)
{
    /* One block for the struct and its texts: a request costs one allocation. */
    struct gw_exchange *exchange = calloc(1, sizeof *exchange + text_bytes(head));
    if (!exchange)
        return NULL;
    char *at = exchange->text;
    exchange->conn = conn;
    exchange->arrived_ns = baton_now_ns();
    exchange->method = put(&at, head->method);
    at += GW_PATH_ROOM_BYTES;
    char *path = put(&at, head->path);
    gw_path_normalise(path);
    exchange->path = path;
    exchange->query = put(&at, head->query);
    put_headers(exchange, at, head);
    exchange->minor = head->minor;
    exchange->is_head = gw_view_equals(head->method, "HEAD");
    identify(exchange);
    baton_buf_init(&exchange->body, conn->server->options.max_body_bytes);
    baton_buf_init(&exchange->added, GW_ADDED_HEADERS_MAX_BYTES);
    exchange->put_error = gw_error_put;
    exchange->bad_request_status = 400;
    return exchange;
}

void gw_exchange_arrived(struct gw_exchange *exchange)
{
    struct gw_conn *conn = exchange->conn;
    conn->server->arriving_bytes -= exchange->arriving_bytes;
    if (conn->address)
        conn->address->arriving_bytes -= exchange->arriving_bytes;
    exchange->arriving_bytes = 0;
}

void gw_exchange_retire(struct gw_exchange *exchange)
{
    gw_exchange_arrived(exchange);
    if (exchange->handled)
        exchange->conn->server->n_exchanges--;
    gw_account_put(exchange->account);
    exchange->account = NULL;
    baton_buf_fini(&exchange->body);
    baton_buf_fini(&exchange->added);
    /* The exchange stays until its answer is sent, for its line in the log. */
    exchange->conn->answered = exchange;
}

struct gw_exchange_note *gw_exchange_note(struct gw_exchange *exchange)
{
    return &exchange->note;
}

const char *gw_exchange_method(const struct gw_exchange *exchange)
{
    return exchange->method;
}

const char *gw_exchange_path(const struct gw_exchange *exchange)
{
    return exchange->path;
}

void gw_exchange_prefix_path(struct gw_exchange *exchange, const char *prefix)
{
    size_t n = strlen(prefix);
    exchange->path -= n;
    memcpy((char *)(uintptr_t)exchange->path, prefix, n);
}

void gw_exchange_cut_path(struct gw_exchange *exchange, size_t n)
{
    exchange->path += n;
}

const char *gw_exchange_query(const struct gw_exchange *exchange)
{
    return exchange->query;
}

const char *gw_exchange_header(const struct gw_exchange *exchange, const char *name)
{
    const char *at = exchange->headers;
    for (size_t i = 0; i < exchange->n_headers; i++) {
        const char *value = at + strlen(at) + 1;
        if (!strcmp(at, name))
            return value;
        at = value + strlen(value) + 1;
    }
    return "";
}

const char *gw_exchange_body(const struct gw_exchange *exchange, size_t *n)
{
    *n = exchange->body.len;
    return baton_buf_text(&exchange->body);
}

char *gw_exchange_take_body(struct gw_exchange *exchange)
{
    return baton_buf_take(&exchange->body);
}

const char *gw_exchange_peer(const struct gw_exchange *exchange)
{
    return exchange->local ? "batch" : exchange->conn->peer;
}

const char *gw_exchange_id(const struct gw_exchange *exchange)
{
    return exchange->id;
}

uint64_t gw_exchange_number(const struct gw_exchange *exchange)
{
    return exchange->number;
}

const struct gw_trace *gw_exchange_trace(const struct gw_exchange *exchange)
{
    return &exchange->trace;
}

const struct gw_exchange_note *gw_exchange_note_of(const struct gw_exchange *exchange)
{
    return &exchange->note;
}

int gw_exchange_status(const struct gw_exchange *exchange)
{
    return exchange->status;
}

int64_t gw_exchange_arrived_ns(const struct gw_exchange *exchange)
{
    return exchange->arrived_ns;
}

void gw_exchange_resume(struct gw_exchange *exchange)
{
    exchange->resumes = true;
    if (exchange->local) {
        gw_local_due(exchange);
        return;
    }
    gw_server_resume(exchange->conn->server, exchange->conn);
}

void gw_exchange_set_data(struct gw_exchange *exchange, void *data)
{
    exchange->data = data;
}

void *gw_exchange_data(const struct gw_exchange *exchange)
{
    return exchange->data;
}
