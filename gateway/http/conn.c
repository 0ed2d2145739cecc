#include "gateway/http/conn.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/os/open_files.h"

/* The edges of the drawing in conn.h. FLUSH follows IDLE for a connection over a limit, which is
 * refused before it sends a request; HELLO, for a request without TLS. */
#define TO(state) (1U << GW_CONN_##state)

static const unsigned edges[GW_CONN_N_STATES] = {
    [GW_CONN_NEW] = TO(HELLO) | TO(IDLE) | TO(CLOSING),
    [GW_CONN_HELLO] = TO(HANDSHAKE) | TO(FLUSH) | TO(CLOSING),
    [GW_CONN_HANDSHAKE] = TO(IDLE) | TO(CLOSING),
    [GW_CONN_IDLE] = TO(HEAD) | TO(FLUSH) | TO(CLOSING),
    [GW_CONN_HEAD] = TO(BODY) | TO(FLUSH) | TO(CLOSING),
    [GW_CONN_BODY] = TO(HANDLED) | TO(FLUSH) | TO(CLOSING),
    [GW_CONN_HANDLED] = TO(FLUSH) | TO(CLOSING),
    [GW_CONN_FLUSH] = TO(IDLE) | TO(LINGER) | TO(CLOSING),
    [GW_CONN_LINGER] = TO(CLOSING),
};

/* Counts it among the connections and the handshakes of its address that may have to give way. */
static void take_places(struct gw_conn *conn, enum gw_conn_state state)
{
    struct gw_http_server *server = conn->server;
    struct gw_address *address = conn->address;
    enum gw_rank rank = state == GW_CONN_BODY ? GW_RANK_SECOND : GW_RANK_FIRST;
    if (address && state > GW_CONN_NEW && state <= GW_CONN_BODY)
        gw_crowds_enter(&server->unfinished, &address->unfinished, &conn->unfinished, rank);
    else
        gw_crowds_leave(&server->unfinished, &conn->unfinished);
    if (address && state == GW_CONN_HANDSHAKE)
        gw_crowds_enter(&server->handshakes, &address->handshakes, &conn->handshake, GW_RANK_FIRST);
    else
        gw_crowds_leave(&server->handshakes, &conn->handshake);
}

void gw_conn_set_state(struct gw_conn *conn, enum gw_conn_state state)
{
    struct gw_conn_list *lists = conn->server->conns;
    bool allowed = edges[conn->state] & (1U << state);
    assert(allowed);
    /* a release build continues: a wrong state costs one connection, an abort all of them */
    if (!allowed)
        baton_log(BATON_LOG_ERROR, "http_state_bug", BATON_I("from", conn->state),
                  BATON_I("to", state));
    gw_conn_list_remove(&lists[conn->state], conn);
    conn->state = state;
    conn->entered_ms = uv_now(conn->server->loop);
    gw_conn_list_push_back(&lists[state], conn);
    take_places(conn, state);
}

/* ---- the end of a connection ---- */

static void free_conn(uv_handle_t *handle)
{
    struct gw_conn *conn = handle->data;
    struct gw_http_server *server = conn->server;
    gw_conn_list_remove(&server->conns[GW_CONN_CLOSING], conn);
    server->n_conns--;
    gw_tls_destroy(conn->tls);
    baton_buf_fini(&conn->in);
    baton_buf_fini(&conn->out);
    free(conn);
    gw_server_release(server);
}

/* Ends the exchange. The handler may still call into it from on_gone, and may even end it there. */
static void drop_exchange(struct gw_conn *conn, const char *reason)
{
    const struct gw_http_options *options = &conn->server->options;
    if (conn->exchange && conn->exchange->handled)
        options->on_gone(options->arg, conn->exchange, reason);
    if (conn->exchange)
        gw_exchange_retire(conn->exchange);
    conn->exchange = NULL;
}

void gw_conn_close(struct gw_conn *conn, const char *reason)
{
    if (conn->state == GW_CONN_CLOSING)
        return;
    /* A RST shows the client that its response is incomplete, which on HTTP/1.0 a FIN would
     * hide. */
    bool truncated = conn->state == GW_CONN_HANDLED || conn->cut_reason;
    /* A truncated answer must not look complete, so TLS does not announce its end. */
    if (conn->tls && !truncated)
        gw_secure_end(conn);
    bool was_handshake = conn->state == GW_CONN_HANDSHAKE;
    gw_conn_set_state(conn, GW_CONN_CLOSING);
    if (conn->due.next)
        gw_due_list_remove(&conn->server->due, conn);
    if (conn->heavy.next)
        gw_heavy_list_remove(&conn->server->heavy, conn);
    if (conn->gathered.next)
        gw_gathered_list_remove(&conn->server->gathered, conn);
    if (conn->watched.next)
        gw_watched_list_remove(&conn->server->watched, conn);
    if (conn->waits.next)
        gw_hello_list_remove(&conn->server->hellos, conn);
    if (was_handshake)
        gw_secure_next(conn->server);
    if (!truncated || uv_tcp_close_reset(&conn->tcp, free_conn))
        uv_close((uv_handle_t *)&conn->tcp, free_conn);
    /* After the lists are updated, because the handler may call back. */
    drop_exchange(conn, reason);
    gw_conn_log_answered(conn, reason);
    gw_addresses_leave(&conn->server->addresses, conn->address, baton_now_ns());
    conn->address = NULL;
}

void gw_conn_cut(struct gw_conn *conn, const char *reason)
{
    if (conn->cut_reason || conn->state == GW_CONN_CLOSING)
        return;
    conn->cut_reason = reason;
    gw_server_due(conn->server, conn);
}

/* ---- the end of a response ---- */

/* Enters FLUSH even when nothing is queued, so that only FLUSH decides what follows a response. */
static void enter_flush(struct gw_conn *conn)
{
    gw_conn_set_state(conn, GW_CONN_FLUSH);
    if (!gw_conn_queued_bytes(conn))
        gw_conn_flushed(conn);
}

/* Closes our half of the connection: the client reads the answer to its end and closes first. A
 * client that has closed already needs no wait. */
static void linger(struct gw_conn *conn)
{
    uv_os_fd_t fd;
    if (conn->tls)
        gw_secure_end(conn);
    if (conn->saw_eof || uv_fileno((uv_handle_t *)&conn->tcp, &fd) || shutdown(fd, SHUT_WR) < 0)
        gw_conn_close(conn, "client left");
    else
        gw_conn_set_state(conn, GW_CONN_LINGER);
    gw_server_due(conn->server, conn); /* continues to read, and drops the bytes */
}

void gw_conn_flushed(struct gw_conn *conn)
{
    gw_conn_log_answered(conn, NULL);
    bool is_last = conn->saw_eof && !conn->in.len;
    if (!conn->keep_alive || is_last || conn->server->draining) {
        linger(conn);
        return;
    }
    gw_conn_set_state(conn, GW_CONN_IDLE);
    gw_conn_next(conn); /* later, because a handler may be the caller */
}

void gw_conn_response_ended(struct gw_conn *conn)
{
    if (conn->state == GW_CONN_HANDLED && !conn->cut_reason)
        enter_flush(conn);
}

void gw_conn_refuse(struct gw_conn *conn, const struct gw_error *refusal)
{
    conn->keep_alive = false;
    gw_conn_send_error(conn, refusal); /* while the exchange lives, for its headers */
    drop_exchange(conn, refusal->message);
    enter_flush(conn);
}

/* Compares the client's acknowledged bytes with the last check. TCP_USER_TIMEOUT would not do: it
 * also ends a connection whose client reads slowly. */
bool gw_conn_is_stalled(struct gw_conn *conn, uint64_t limit_ms)
{
    uint64_t now_ms = uv_now(conn->server->loop);
    bool must_read = conn->state == GW_CONN_FLUSH || (conn->exchange && conn->exchange->full);
    size_t before = must_read ? conn->untaken_bytes : SIZE_MAX;
    conn->untaken_bytes = must_read ? gw_conn_untaken_bytes(conn) : SIZE_MAX;
    if (!must_read || conn->untaken_bytes < before)
        conn->taken_ms = now_ms;
    return now_ms - conn->taken_ms >= limit_ms;
}

void gw_conn_expire(struct gw_conn *conn)
{
    static const struct gw_error slow_head = {.status = 408,
                                              .code = "head_timeout",
                                              .message =
                                                  "The request's headers did not arrive in time."};
    static const struct gw_error slow_body = {.status = 408,
                                              .code = "body_timeout",
                                              .message =
                                                  "The request's body did not arrive in time."};
    if (conn->state == GW_CONN_HEAD)
        gw_conn_refuse(conn, &slow_head);
    else if (conn->state == GW_CONN_BODY)
        gw_conn_refuse(conn, &slow_body);
    else
        gw_conn_close(conn, "timed out");
}

/* ---- begin of a connection ---- */

static void note_open_file(const struct gw_conn *conn)
{
    uv_os_fd_t fd;
    if (!uv_fileno((const uv_handle_t *)&conn->tcp, &fd))
        baton_open_files_opened(fd);
}

static void name_peer(struct gw_conn *conn)
{
    struct sockaddr_storage address = {0};
    int size = sizeof address;
    char host[INET6_ADDRSTRLEN] = "?";
    if (uv_tcp_getpeername(&conn->tcp, (struct sockaddr *)&address, &size))
        address.ss_family = AF_UNSPEC;
    conn->address = gw_addresses_enter(&conn->server->addresses, &address, baton_now_ns());
    if (address.ss_family == AF_INET6) {
        const struct sockaddr_in6 *ip6 = (const struct sockaddr_in6 *)&address;
        (void)uv_ip6_name(ip6, host, sizeof host);
        (void)snprintf(conn->peer, sizeof conn->peer, "[%s]:%d", host, ntohs(ip6->sin6_port));
    } else if (address.ss_family == AF_INET) {
        const struct sockaddr_in *ip4 = (const struct sockaddr_in *)&address;
        (void)uv_ip4_name(ip4, host, sizeof host);
        (void)snprintf(conn->peer, sizeof conn->peer, "%s:%d", host, ntohs(ip4->sin_port));
    }
}

static struct gw_conn *create(struct gw_http_server *server)
{
    struct gw_conn *conn = calloc(1, sizeof *conn);
    if (!conn || uv_tcp_init(server->loop, &conn->tcp)) {
        free(conn);
        return NULL;
    }
    conn->tcp.data = conn;
    conn->server = server;
    conn->untaken_bytes = SIZE_MAX;
    baton_buf_init(&conn->in, server->options.max_head_bytes + (size_t)2 * GW_READ_BYTES);
    baton_buf_init(&conn->out, PTRDIFF_MAX); /* bounded by cancel_bytes, or by one response */
    gw_conn_list_push_back(&server->conns[GW_CONN_NEW], conn);
    server->n_conns++;
    return conn;
}

static struct gw_conn *conn_of(struct gw_place *unfinished)
{
    return (struct gw_conn *)((char *)unfinished - offsetof(struct gw_conn, unfinished));
}

/* Returns the connection that gives way to a new one: the oldest unfinished one of the address that
 * has most of them, and that waits for its client, not for its slice. NULL: none of the oldest. */
static struct gw_conn *find_unfinished(const struct gw_conn *newcomer)
{
    const struct gw_crowd *fullest = gw_crowds_fullest(&newcomer->server->unfinished);
    struct gw_place *place = fullest ? gw_crowd_first(fullest) : NULL;
    for (int i = 0; place && i < GW_MAX_PASSED_OVER; i++, place = gw_crowd_next(place))
        if (conn_of(place) != newcomer && !conn_of(place)->due.next)
            return conn_of(place);
    return NULL;
}

/* Enforces the connection limit. A connection without a whole request is closed for the new one.
 * Without such a one, the new one gets a 503; with GW_MAX_TURNED_AWAY of those open it is closed at
 * once. */
static void enforce_limit(struct gw_conn *conn)
{
    static const struct gw_error too_many = {.status = 503,
                                             .code = "too_many_connections",
                                             .message = "The server has too many connections."};
    struct gw_http_server *server = conn->server;
    size_t open = server->n_conns - server->conns[GW_CONN_CLOSING].n;
    if (open <= server->options.max_connections)
        return;
    struct gw_conn *oldest = find_unfinished(conn);
    if (oldest) {
        server->stats.n_gave_way++;
        gw_conn_close(oldest, "closed for another connection");
    }
    /* A handshake for a refusal would cost more than the refusal is worth. */
    else if (conn->state == GW_CONN_HELLO ||
             open > server->options.max_connections + GW_MAX_TURNED_AWAY)
        gw_conn_close(conn, "too many connections");
    else
        gw_conn_refuse(conn, &too_many);
}

void gw_conn_accept(struct gw_http_server *server)
{
    struct gw_conn *conn = create(server);
    server->accept_waits = !conn;
    if (!conn)
        return;
    if (uv_accept((uv_stream_t *)&server->listener, (uv_stream_t *)&conn->tcp)) {
        gw_conn_close(conn, "not accepted");
        return;
    }
    note_open_file(conn);
    name_peer(conn);
    gw_conn_set_state(conn, server->options.tls ? GW_CONN_HELLO : GW_CONN_IDLE);
    gw_conn_read(conn);
    if (!gw_conn_is_one_too_many(conn))
        enforce_limit(conn);
}
