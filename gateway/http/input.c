/* Input. libuv serves every ready socket before it checks a timer, so a read only stores bytes. The
 * sweep serves them, one slice of a connection after another:
 *
 *     socket --read_done--> conn->in --gw_conn_attend, a slice--> requests
 *       |                      +--full: not read--> watch, until its requests were answered
 *       +--FIN, a request is with the handler--> ask, then watch
 */
#include <poll.h>
#include <stdlib.h>

#include "common/base/clock.h"
#include "gateway/http/conn.h"
#include "gateway/http/decode.h"

static const struct gw_error no_memory = {
    .status = 503, .code = "out_of_memory", .message = "The server is out of memory."};
static const struct gw_error body_too_large = {
    .status = 413,
    .code = "body_too_large",
    .message = "The request's body is over the server's limit."};

/* ---- the parts of a request ---- */

static void refuse_encoded(struct gw_conn *conn, enum baton_err err)
{
    static const struct gw_error malformed = {
        .status = 400,
        .code = "malformed_body",
        .message = "The request's body is not what its Content-Encoding says."};
    gw_exchange_respond_error(conn->exchange, err == BATON_LIMIT       ? &body_too_large
                                              : err == BATON_NO_MEMORY ? &no_memory
                                                                       : &malformed);
}

/* Returns false after it answered a body that cannot be decoded. */
static bool decode(struct gw_conn *conn)
{
    static const struct gw_error unknown = {.status = 415,
                                            .code = "unsupported_media_type",
                                            .message = "Content-Encoding must be " GW_CODINGS "."};
    struct baton_buf *body = &conn->exchange->body;
    enum gw_coding coding = gw_coding_of(gw_exchange_header(conn->exchange, "content-encoding"));
    if (!body->len || coding == GW_CODING_NONE)
        return true;
    if (coding == GW_N_CODINGS) {
        gw_exchange_respond_error(conn->exchange, &unknown);
        return false;
    }
    enum baton_err err = gw_decode(coding, body, conn->server->options.max_body_bytes);
    if (err)
        refuse_encoded(conn, err);
    else
        gw_conn_charge(conn, body->len);
    return !err;
}

static void whole_request(struct gw_conn *conn)
{
    struct gw_http_server *server = conn->server;
    gw_exchange_arrived(conn->exchange);
    gw_conn_set_state(conn, GW_CONN_HANDLED);
    conn->exchange->body_bytes = conn->exchange->body.len;
    conn->exchange->arrived_ns = baton_now_ns(); /* the clock of a request starts here */
    conn->exchange->handled = true;
    server->n_exchanges++;
    server->stats.n_requests++;
    if (!decode(conn))
        return;
    server->options.on_request(server->options.arg, conn->exchange);
    if (conn->exchange) /* it may wait for its answer for minutes, with many others */
        baton_buf_fini(&conn->exchange->body);
}

static void send_continue(struct gw_conn *conn)
{
    static const char text[] = "HTTP/1.1 100 Continue\r\n\r\n";
    uv_buf_t part = gw_part(text, sizeof text - 1);
    gw_conn_send(conn, &part, 1);
}

/* Handles a complete head of n bytes: begins the body, and also ends it when it is empty. */
static void begin_body(struct gw_conn *conn, const struct gw_head *head, size_t n)
{
    const struct gw_http_options *options = &conn->server->options;
    bool has_body = head->chunked || head->content_length;
    conn->exchange = gw_exchange_create(conn, head);
    if (!conn->exchange) {
        gw_conn_refuse(conn, &no_memory);
        return;
    }
    /* Before any refusal, so that a 413 also has CORS headers. */
    const struct gw_error *refusal =
        options->on_head ? options->on_head(options->arg, conn->exchange) : NULL;
    if (!gw_conn_may_request(conn))
        return;
    gw_conn_charge(conn, n); /* only now: one request is allowed, whatever its size */
    if (!refusal && head->content_length > options->max_body_bytes)
        refusal = &body_too_large;
    if (refusal) {
        gw_conn_refuse(conn, refusal);
        return;
    }
    conn->keep_alive = head->keep_alive;
    conn->is_chunked = head->chunked;
    conn->body_left_bytes = head->content_length;
    baton_chunked_init(&conn->chunked);
    gw_conn_set_state(conn, GW_CONN_BODY);
    if (has_body && head->expects_continue)
        send_continue(conn);
    if (!has_body)
        whole_request(conn);
}

static size_t take_head(struct gw_conn *conn, const char *bytes, size_t n)
{
    struct gw_head head;
    struct gw_error refusal;
    size_t used = 0;
    enum baton_err err = gw_head_parse(bytes, n, conn->server->options.max_head_bytes, &conn->scan,
                                       &head, &used, &refusal);
    if (err == BATON_OK)
        begin_body(conn, &head, used);
    else if (err != BATON_AGAIN)
        gw_conn_refuse(conn, &refusal);
    return used;
}

static enum baton_err take_plain(struct gw_conn *conn, const char *bytes, size_t n, size_t *used)
{
    *used = n < conn->body_left_bytes ? n : (size_t)conn->body_left_bytes;
    baton_buf_append(&conn->exchange->body, bytes, *used);
    conn->body_left_bytes -= *used;
    if (baton_buf_err(&conn->exchange->body))
        return baton_buf_err(&conn->exchange->body);
    return conn->body_left_bytes ? BATON_AGAIN : BATON_OK;
}

static void refuse_body(struct gw_conn *conn, enum baton_err err)
{
    static const struct gw_error bad = {.status = 400,
                                        .code = "malformed_body",
                                        .message = "The request's chunked body is malformed."};
    if (err == BATON_LIMIT)
        gw_conn_refuse(conn, &body_too_large);
    else
        gw_conn_refuse(conn, err == BATON_NO_MEMORY ? &no_memory : &bad);
}

/* Returns the oldest body of the address whose bodies take most: one that takes long is slow, or
 * holds memory on purpose. */
static struct gw_conn *find_greedy(const struct gw_http_server *server)
{
    const struct gw_conn_list *bodies = &server->conns[GW_CONN_BODY];
    struct gw_conn *greedy = NULL;
    size_t most = 0;
    for (struct gw_conn *conn = gw_conn_list_first(bodies); conn;
         conn = gw_conn_list_next(bodies, conn)) {
        size_t n = conn->address ? conn->address->arriving_bytes : conn->exchange->arriving_bytes;
        if (!greedy || n > most) {
            greedy = conn;
            most = n;
        }
    }
    return greedy;
}

/* Counts n more bytes of incomplete bodies. Beyond the bound some are refused. */
static void count_arriving(struct gw_conn *conn, size_t n)
{
    static const struct gw_error crowded = {
        .status = 503,
        .code = "too_many_bodies",
        .message = "The server holds too many incomplete request bodies."};
    struct gw_http_server *server = conn->server;
    size_t max_bytes = server->options.max_arriving_bytes;
    conn->exchange->arriving_bytes += n;
    server->arriving_bytes += n;
    if (conn->address)
        conn->address->arriving_bytes += n;
    while (max_bytes && server->arriving_bytes > max_bytes) {
        server->stats.n_bodies_dropped++;
        gw_conn_refuse(find_greedy(server), &crowded);
    }
}

static size_t take_body(struct gw_conn *conn, const char *bytes, size_t n)
{
    size_t used = 0;
    enum baton_err err = conn->is_chunked ? baton_chunked_feed(&conn->chunked, bytes, n, &used,
                                                               &conn->exchange->body)
                                          : take_plain(conn, bytes, n, &used);
    gw_conn_charge(conn, used);
    if (err == BATON_OK)
        whole_request(conn);
    else if (err == BATON_AGAIN)
        count_arriving(conn, used);
    else
        refuse_body(conn, err);
    return used;
}

static void begin_head(struct gw_conn *conn)
{
    gw_conn_set_state(conn, GW_CONN_HEAD);
    conn->scan = (struct gw_head_scan){0};
}

/* n counts the requests answered since begin_ns. */
static bool slice_is_over(size_t n, int64_t begin_ns)
{
    return n >= GW_SLICE_REQUESTS || baton_now_ns() - begin_ns >= GW_SLICE_NS;
}

/* Reads requests from the bytes until the slice is over, one is with the handler or more bytes are
 * needed; returns the number of bytes used. A handler that answers at once leaves the connection
 * IDLE, and the loop continues with the next request instead of recursing into it. */
static size_t consume(struct gw_conn *conn, const char *bytes, size_t n)
{
    int64_t begin_ns = baton_now_ns();
    size_t used = 0, n_answered = 0;
    while (used < n && !conn->cut_reason) {
        size_t before = used;
        if (conn->state == GW_CONN_IDLE && slice_is_over(n_answered, begin_ns))
            break;
        if (conn->state == GW_CONN_IDLE)
            begin_head(conn);
        if (conn->state == GW_CONN_HEAD)
            used += take_head(conn, bytes + used, n - used);
        else if (conn->state == GW_CONN_BODY)
            used += take_body(conn, bytes + used, n - used);
        n_answered += conn->state == GW_CONN_IDLE;
        if (used == before) /* more bytes are needed, or the handler must answer first */
            break;
    }
    return used;
}

/* False when no further byte of the client is read as a request. */
static bool wants_input(const struct gw_conn *conn)
{
    return conn->state != GW_CONN_LINGER && conn->state != GW_CONN_CLOSING &&
           (conn->keep_alive || conn->state != GW_CONN_FLUSH) && !conn->cut_reason;
}

/* Serves a slice. A connection without further requests keeps no memory for them. */
static void serve(struct gw_conn *conn)
{
    conn->serving = true;
    size_t used = consume(conn, conn->in.data, conn->in.len);
    conn->serving = false;
    baton_buf_consume(&conn->in, wants_input(conn) ? used : conn->in.len);
    if (!conn->in.len)
        free(baton_buf_take(&conn->in));
}

/* ---- pauses of reading ---- */

static void lend_buffer(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
    struct gw_conn *conn = handle->data;
    (void)suggested;
    *buf = uv_buf_init(conn->server->read_buffer, GW_READ_BYTES);
}

/* True while a head of any allowed size still fits. */
static bool has_room(const struct gw_conn *conn)
{
    return conn->in.len < conn->server->options.max_head_bytes + GW_READ_BYTES;
}

/* Stops reading. The connection's own next slice decides when it is read again. */
static void pause_reading(struct gw_conn *conn)
{
    if (conn->paused)
        return;
    conn->paused = true;
    conn->server->stats.n_read_pauses += !has_room(conn);
    uv_read_stop((uv_stream_t *)&conn->tcp);
    gw_server_due(conn->server, conn);
}

void gw_conn_store(struct gw_conn *conn, const char *bytes, size_t n)
{
    if (!wants_input(conn))
        return;
    baton_buf_append(&conn->in, bytes, n);
    if (baton_buf_err(&conn->in)) {
        gw_conn_cut(conn, "out of memory");
        return;
    }
    if (conn->state == GW_CONN_IDLE) /* while it waits for its slice it must not count as idle */
        begin_head(conn);
    if (conn->state < GW_CONN_HANDLED)
        gw_server_due(conn->server, conn);
}

/* Probes whether a client that sent FIN has left, or only sends no more (RFC 9293 section 3.6): a
 * client that has left answers bytes with a RST. Before an answer the bytes are an interim response
 * (RFC 9110 section 15.2), within a chunked one a leading zero of the next chunk's size (RFC 9112
 * section 7.1). HTTP/1.0 has neither: its client counts as gone until its answer begins. */
static void probe_client(struct gw_conn *conn)
{
    const struct gw_exchange *exchange = conn->exchange;
    const uv_buf_t zero = gw_part("0", 1);
    if (conn->probed || !exchange || !exchange->handled)
        return;
    conn->probed = true;
    if (exchange->streaming && exchange->chunked && !exchange->is_head)
        gw_conn_send(conn, &zero, 1);
    else if (!exchange->streaming && exchange->minor == 1)
        send_continue(conn);
    else if (!exchange->streaming)
        gw_conn_close(conn, "client left");
}

static bool must_be_watched(const struct gw_conn *conn)
{
    return (conn->state == GW_CONN_HANDLED || conn->state == GW_CONN_FLUSH) && !conn->cut_reason &&
           (conn->saw_eof || conn->paused);
}

bool gw_conn_check(struct gw_conn *conn)
{
    /* libuv cannot report a hang-up on a socket that it does not read, hence a poll. */
    struct pollfd polled = {.events = POLLRDHUP};
    if (!must_be_watched(conn))
        return false;
    if (uv_fileno((uv_handle_t *)&conn->tcp, &polled.fd) || poll(&polled, 1, 0) < 0)
        return true;
    if (polled.revents & (POLLERR | POLLHUP))
        gw_conn_close(conn, "client left");
    else if (polled.revents & POLLRDHUP)
        probe_client(conn);
    return must_be_watched(conn);
}

/* Decides after a slice what the connection waits for. */
static void go_on(struct gw_conn *conn)
{
    bool has_more = conn->state == GW_CONN_IDLE && conn->in.len;
    bool is_busy = conn->state == GW_CONN_HANDLED || conn->state == GW_CONN_FLUSH;
    if (conn->saw_eof && !is_busy && !has_more) {
        gw_conn_close(conn, "client left");
        return;
    }
    if (has_more)
        gw_conn_next(conn);
    conn->server->stats.n_slices_over += has_more;
    if (conn->saw_eof)
        probe_client(conn);
    else if (conn->paused && has_room(conn))
        gw_conn_read(conn);
    if (must_be_watched(conn))
        gw_server_watch(conn->server, conn);
}

void gw_conn_next(struct gw_conn *conn)
{
    if (!conn->in.len || conn->serving)
        return;
    begin_head(conn);
    gw_server_due(conn->server, conn);
}

void gw_conn_resume(struct gw_conn *conn)
{
    const struct gw_http_options *options = &conn->server->options;
    if (!conn->exchange || !conn->exchange->resumes || conn->cut_reason)
        return;
    conn->exchange->resumes = false;
    options->on_resume(options->arg, conn->exchange);
}

void gw_conn_attend(struct gw_conn *conn)
{
    if (conn->cut_reason) {
        gw_conn_close(conn, conn->cut_reason);
        return;
    }
    if (conn->state == GW_CONN_HELLO)
        gw_secure_begin(conn);
    if (conn->state == GW_CONN_HANDSHAKE)
        gw_secure_handshake(conn);
    if (conn->state > GW_CONN_HANDSHAKE && conn->state < GW_CONN_CLOSING)
        serve(conn);
    if (conn->state != GW_CONN_CLOSING && !conn->cut_reason) /* the sweep returns to cut it */
        go_on(conn);
}

/* ---- libuv's side ---- */

void gw_conn_ended(struct gw_conn *conn)
{
    conn->saw_eof = true;
    if (!conn->due.next) /* otherwise its earlier bytes are served first */
        go_on(conn);
}

static void read_failed(struct gw_conn *conn, int status)
{
    if (status == UV_EOF)
        gw_conn_ended(conn);
    else
        gw_conn_close(conn, status == UV_ETIMEDOUT ? "client does not answer" : "client left");
}

static void read_done(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    struct gw_conn *conn = stream->data;
    if (n < 0) {
        read_failed(conn, (int)n);
        return;
    }
    if (n > 0 && conn->tls && conn->state > GW_CONN_HANDSHAKE && wants_input(conn))
        gw_secure_take(conn, buf->base, (size_t)n);
    else if (n > 0)
        gw_conn_store(conn, buf->base, (size_t)n);
    if (conn->state == GW_CONN_CLOSING)
        return;
    if ((size_t)n == buf->len || !has_room(conn)) /* also ends libuv's own loop of reads */
        pause_reading(conn);
}

void gw_conn_read(struct gw_conn *conn)
{
    conn->paused = false;
    if (uv_read_start((uv_stream_t *)&conn->tcp, lend_buffer, read_done))
        gw_conn_cut(conn, "client left");
}
