#include <stdio.h>
#include <string.h>
#include <time.h>

#include "gateway/http/conn.h"
#include "gateway/http/status.h"

enum { HEAD_MAX_BYTES = 16 << 10, ERROR_MAX_BYTES = 16 << 10, CHUNK_SIZE_BYTES = 20 };

/* Returns the Date header's value (RFC 9110 section 5.6.7), made once a second. Its names are
 * English because the process never leaves the C locale. */
static const char *http_date(struct gw_http_server *server)
{
    time_t now = time(NULL);
    struct tm t;
    if (now != server->date_s) {
        gmtime_r(&now, &t);
        (void)strftime(server->date, sizeof server->date, "%a, %d %b %Y %H:%M:%S GMT", &t);
        server->date_s = now;
    }
    return server->date;
}

static bool has_no_body(int status)
{
    return status < 200 || status == 204 || status == 304;
}

/* Writes the headers of every answer to this exchange; NULL for a head that could not be read. */
static void put_own_headers(struct baton_buf *out, const struct gw_exchange *exchange,
                            const char *fresh_id)
{
    char traceparent[GW_TRACEPARENT_BYTES];
    baton_buf_printf(out, "x-request-id: %s\r\n", exchange ? exchange->id : fresh_id);
    if (exchange && *exchange->trace.id)
        baton_buf_printf(out, "traceparent: %s\r\n", gw_trace_put(&exchange->trace, traceparent));
    if (exchange)
        baton_buf_puts(out, baton_buf_text(&exchange->added));
}

/* framing is "Content-Length: 3\r\n" and the like. */
static void put_head(struct baton_buf *out, struct gw_conn *conn, int status,
                     const char *content_type, const char *headers, const char *framing,
                     const char *fresh_id)
{
    struct gw_exchange *exchange = conn->exchange;
    if (exchange)
        exchange->status = status;
    baton_buf_printf(out, "HTTP/1.1 %d %s\r\nDate: %s\r\n", status, gw_status_reason(status),
                     http_date(conn->server));
    if (content_type && *content_type && !has_no_body(status))
        baton_buf_printf(out, "Content-Type: %s\r\n", content_type);
    baton_buf_puts(out, framing);
    if (!conn->keep_alive)
        baton_buf_puts(out, "Connection: close\r\n");
    else if (exchange && exchange->minor == 0)
        baton_buf_puts(out, "Connection: keep-alive\r\n");
    put_own_headers(out, exchange, fresh_id);
    baton_buf_puts(out, headers ? headers : "");
    baton_buf_puts(out, "\r\n");
}

static void send_whole(struct gw_conn *conn, const struct baton_buf *head, const char *body,
                       size_t n)
{
    uv_buf_t parts[2] = {gw_part(head->data, head->len), gw_part(body, n)};
    if (baton_buf_err(head))
        gw_conn_cut(conn, "the response's head is too large");
    else
        gw_conn_send(conn, parts, n ? 2 : 1);
}

static void put_length(char *text, size_t size, size_t n)
{
    (void)snprintf(text, size, "Content-Length: %zu\r\n", n);
}

static int status_of(const struct gw_conn *conn, const struct gw_error *error)
{
    bool is_of_field = conn->exchange && error->status == 400;
    return is_of_field && strcmp(error->code, "invalid_json") != 0
               ? conn->exchange->bad_request_status
               : error->status;
}

/* Answers with an error; nothing else does. The connection may have no exchange, if its head could
 * not be read. */
void gw_conn_send_error(struct gw_conn *conn, const struct gw_error *error)
{
    struct baton_buf head, body;
    char length[48], headers[GW_ERROR_HEADERS_BYTES], fresh_id[GW_REQUEST_ID_BYTES] = "";
    bool is_head = conn->exchange && conn->exchange->is_head;
    if (conn->exchange) {
        (void)snprintf(conn->exchange->code, sizeof conn->exchange->code, "%s", error->code);
    } else {
        (void)gw_request_id(fresh_id);
        gw_access_line_refused(conn, fresh_id, error);
    }
    baton_buf_init(&head, HEAD_MAX_BYTES);
    baton_buf_init(&body, ERROR_MAX_BYTES);
    if (conn->exchange)
        conn->exchange->put_error(&body, error);
    else
        gw_error_put(&body, error);
    put_length(length, sizeof length, body.len);
    put_head(&head, conn, status_of(conn, error), "application/json",
             gw_error_headers(error, headers), length, fresh_id);
    send_whole(conn, &head, body.data, is_head ? 0 : body.len);
    baton_buf_fini(&body);
    baton_buf_fini(&head);
}

void gw_exchange_set_error_writer(struct gw_exchange *exchange, gw_error_writer writer)
{
    exchange->put_error = writer;
}

void gw_exchange_set_bad_request_status(struct gw_exchange *exchange, int status)
{
    exchange->bad_request_status = status;
}

gw_error_writer gw_exchange_error_writer(const struct gw_exchange *exchange)
{
    return exchange->put_error;
}

static bool is_field_value(const char *value)
{
    for (; *value; value++)
        if (!baton_http_is_field_char(*value))
            return false;
    return true;
}

enum baton_err gw_exchange_add_header(struct gw_exchange *exchange, const char *name,
                                      const char *value)
{
    struct baton_buf *added = &exchange->added;
    size_t n_name = strlen(name), n_value = strlen(value);
    size_t n_left = added->max_bytes - added->len;
    if (!gw_view_is_token((struct gw_view){name, n_name}) || !is_field_value(value))
        return BATON_INVALID;
    if (exchange->streaming)
        return BATON_CLOSED;
    if (n_value > n_left || n_name + strlen(": \r\n") > n_left - n_value)
        return BATON_LIMIT;
    baton_buf_printf(added, "%s: %s\r\n", name, value);
    return baton_buf_err(added);
}

/* Ends the exchange for the handler; the connection continues without it. */
static void end(struct gw_exchange *exchange)
{
    struct gw_conn *conn = exchange->conn;
    conn->exchange = NULL;
    gw_exchange_retire(exchange);
    gw_conn_response_ended(conn);
}

void gw_exchange_respond(struct gw_exchange *exchange, int status, const char *content_type,
                         const char *headers, const char *body, size_t n)
{
    struct gw_conn *conn = exchange->conn;
    struct baton_buf head;
    char length[48] = "";
    if (exchange->local) {
        gw_local_answer(exchange, status, body, n);
        return;
    }
    baton_buf_init(&head, HEAD_MAX_BYTES);
    if (conn->server->draining)
        conn->keep_alive = false;
    if (!has_no_body(status))
        put_length(length, sizeof length, n);
    put_head(&head, conn, status, content_type, headers, length, "");
    send_whole(conn, &head, body, exchange->is_head || has_no_body(status) ? 0 : n);
    baton_buf_fini(&head);
    end(exchange);
}

void gw_exchange_respond_error(struct gw_exchange *exchange, const struct gw_error *error)
{
    struct gw_conn *conn = exchange->conn;
    if (exchange->local) {
        gw_local_refuse(exchange, error);
        return;
    }
    if (conn->server->draining)
        conn->keep_alive = false;
    gw_conn_send_error(conn, error);
    end(exchange);
}

void gw_exchange_stream_begin(struct gw_exchange *exchange, int status, const char *content_type,
                              const char *headers)
{
    struct gw_conn *conn = exchange->conn;
    struct baton_buf head;
    exchange->streaming = true;
    if (exchange->local) { /* its events become the body */
        exchange->status = status;
        return;
    }
    baton_buf_init(&head, HEAD_MAX_BYTES);
    exchange->chunked = exchange->minor == 1;
    if (conn->server->draining || !exchange->chunked)
        conn->keep_alive = false;
    put_head(&head, conn, status, content_type, headers,
             exchange->chunked ? "Transfer-Encoding: chunked\r\n" : "", "");
    send_whole(conn, &head, NULL, 0);
    baton_buf_fini(&head);
}

/* Checks the queue after a write of n bytes. The write itself may have any size, once: the bytes
 * queued before it show a slow client. The call of on_full must come last, because the handler may
 * end the exchange in it. */
static void check_queue(struct gw_exchange *exchange, size_t n)
{
    const struct gw_http_options *options = &exchange->conn->server->options;
    size_t queued = gw_conn_queued_bytes(exchange->conn);
    if (queued > options->cancel_bytes + n) {
        gw_conn_cut(exchange->conn, "client reads too slowly");
    } else if (queued >= options->pause_bytes && !exchange->full) {
        exchange->full = true;
        options->on_full(options->arg, exchange, true);
    }
}

void gw_exchange_stream_write(struct gw_exchange *exchange, const char *bytes, size_t n)
{
    if (!n || exchange->is_head) /* an empty chunk would end the body */
        return;
    if (exchange->local) {
        baton_buf_append(&exchange->local->body, bytes, n);
        return;
    }
    char size[CHUNK_SIZE_BYTES];
    uv_buf_t payload = gw_part(bytes, n);
    size_t n_sent = n;
    if (exchange->chunked) {
        int digits = snprintf(size, sizeof size, "%zx\r\n", n);
        uv_buf_t parts[3] = {gw_part(size, (size_t)digits), payload, gw_part("\r\n", 2)};
        gw_conn_send(exchange->conn, parts, 3);
        n_sent += (size_t)digits + 2;
    } else {
        gw_conn_send(exchange->conn, &payload, 1);
    }
    check_queue(exchange, n_sent);
}

void gw_exchange_stream_end(struct gw_exchange *exchange)
{
    uv_buf_t last = gw_part("0\r\n\r\n", 5);
    if (exchange->local) {
        gw_local_answer(exchange, exchange->status, "", 0);
        return;
    }
    if (exchange->chunked && !exchange->is_head)
        gw_conn_send(exchange->conn, &last, 1);
    end(exchange);
}

size_t gw_exchange_untaken_bytes(const struct gw_exchange *exchange)
{
    return exchange->local ? 0 : gw_conn_untaken_bytes(exchange->conn);
}

void gw_exchange_cut(struct gw_exchange *exchange, const char *reason)
{
    if (!exchange->local) /* only resumable streams are cut, which clients ask for */
        gw_conn_cut(exchange->conn, reason);
}

void gw_exchange_drained(struct gw_exchange *exchange)
{
    const struct gw_http_options *options = &exchange->conn->server->options;
    if (!exchange->full)
        return;
    exchange->full = false;
    options->on_full(options->arg, exchange, false);
}
