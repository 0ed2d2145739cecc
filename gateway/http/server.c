#include "gateway/http/server.h"

#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "common/base/log.h"
#include "gateway/http/conn.h"

/* 8 ticks in a timeout: none is late by more than an eighth. */
enum { TICK_MIN_MS = 5, TICK_MAX_MS = 250, TICKS_A_TIMEOUT = 8 };

/* Returns 0 for a state without a timeout. */
static int64_t timeout_ms(const struct gw_http_server *server, enum gw_conn_state state)
{
    switch (state) {
    case GW_CONN_IDLE:
        return server->options.idle_timeout_ms;
    case GW_CONN_HELLO:
    case GW_CONN_HANDSHAKE:
    case GW_CONN_HEAD:
        return server->options.head_timeout_ms;
    case GW_CONN_BODY:
        return server->options.body_timeout_ms;
    case GW_CONN_LINGER:
        return GW_LINGER_MS;
    default:
        return 0;
    }
}

/* Expires connections of a state, which leave the front of its list or return to its back with a
 * new time. */
static void expire_state(struct gw_http_server *server, enum gw_conn_state state)
{
    uint64_t now_ms = uv_now(server->loop);
    int64_t limit_ms = timeout_ms(server, state);
    struct gw_conn *conn;
    if (limit_ms <= 0)
        return;
    while ((conn = gw_conn_list_first(&server->conns[state])) &&
           now_ms - conn->entered_ms >= (uint64_t)limit_ms)
        gw_conn_expire(conn);
}

static void cut_stalled(struct gw_http_server *server, enum gw_conn_state state)
{
    uint64_t limit_ms = (uint64_t)server->options.stall_timeout_ms;
    struct gw_conn_list *list = &server->conns[state];
    for (struct gw_conn *conn = gw_conn_list_first(list); limit_ms && conn;
         conn = gw_conn_list_next(list, conn))
        if (gw_conn_is_stalled(conn, limit_ms))
            gw_conn_cut(conn, "client reads nothing");
}

static void on_tick(uv_timer_t *timer)
{
    struct gw_http_server *server = timer->data;
    cut_stalled(server, GW_CONN_HANDLED);
    cut_stalled(server, GW_CONN_FLUSH);
    for (int state = GW_CONN_HELLO; state < GW_CONN_CLOSING; state++)
        expire_state(server, (enum gw_conn_state)state);
    gw_secure_next(server);
    if (server->accept_waits && !server->draining)
        gw_conn_accept(server);
}

/* Returns a tick so fine that no timeout is late by more than an eighth. */
static uint64_t tick_ms(const struct gw_http_server *server)
{
    int64_t shortest_ms = TICK_MAX_MS * TICKS_A_TIMEOUT;
    int64_t stall_ms = server->options.stall_timeout_ms;
    for (int state = GW_CONN_IDLE; state < GW_CONN_CLOSING; state++) {
        int64_t limit_ms = timeout_ms(server, (enum gw_conn_state)state);
        if (limit_ms > 0 && limit_ms < shortest_ms)
            shortest_ms = limit_ms;
    }
    if (stall_ms > 0 && stall_ms < shortest_ms)
        shortest_ms = stall_ms;
    int64_t tick = shortest_ms / TICKS_A_TIMEOUT;
    return (uint64_t)(tick < TICK_MIN_MS ? TICK_MIN_MS : tick);
}

/* Begins a new turn: accepts the connection that the last turn left at the listener, which resumes
 * the listener. */
static void accept_on(struct gw_http_server *server)
{
    size_t n_before = server->n_accepted;
    server->n_accepted = 0;
    if (n_before && server->accept_waits && !server->draining)
        gw_conn_accept(server);
}

/* Runs the clients' part of a turn: a slice for each until the time is over, and one that resumes,
 * however many wait: it may take as long as all the others. libuv runs due timers before this, and
 * serves the sockets, including workers' messages, after it. */
static void on_sweep(uv_idle_t *idle)
{
    struct gw_http_server *server = idle->data;
    int64_t begin_ns = baton_now_ns();
    /* Only those due now: a connection that becomes due again waits for the next turn. */
    for (size_t n = server->due.n; n && server->due.n; n--) {
        gw_conn_attend(gw_due_list_pop_front(&server->due));
        if (baton_now_ns() - begin_ns >= GW_TURN_NS)
            break;
    }
    if (server->heavy.n)
        gw_conn_resume(gw_heavy_list_pop_front(&server->heavy));
    else if (server->locals.n)
        gw_local_attend(gw_local_list_pop_front(&server->locals));
    accept_on(server);
    if (!server->due.n && !server->heavy.n && !server->locals.n && !server->n_accepted)
        uv_idle_stop(idle);
}

void gw_server_sweep(struct gw_http_server *server)
{
    if (!server->stopping)
        uv_idle_start(&server->sweep, on_sweep);
}

void gw_server_resume(struct gw_http_server *server, struct gw_conn *conn)
{
    if (conn->heavy.next || conn->state == GW_CONN_CLOSING || server->stopping)
        return;
    gw_heavy_list_push_back(&server->heavy, conn);
    uv_idle_start(&server->sweep, on_sweep);
}

static void on_watch(uv_timer_t *timer)
{
    struct gw_http_server *server = timer->data;
    for (size_t n = server->watched.n; n && server->watched.n; n--) {
        struct gw_conn *conn = gw_watched_list_pop_front(&server->watched);
        if (gw_conn_check(conn))
            gw_watched_list_push_back(&server->watched, conn);
    }
    if (!server->watched.n)
        uv_timer_stop(timer);
}

void gw_server_watch(struct gw_http_server *server, struct gw_conn *conn)
{
    if (conn->watched.next || server->stopping)
        return;
    gw_watched_list_push_back(&server->watched, conn);
    if (!uv_is_active((uv_handle_t *)&server->watch))
        uv_timer_start(&server->watch, on_watch, GW_WATCH_MS, GW_WATCH_MS);
}

void gw_server_due(struct gw_http_server *server, struct gw_conn *conn)
{
    if (conn->due.next || conn->state == GW_CONN_CLOSING || server->stopping)
        return;
    gw_due_list_push_back(&server->due, conn);
    uv_idle_start(&server->sweep, on_sweep);
}

/* libuv accepts until the backlog is empty, or a connection is not accepted. */
static void accept_one(struct gw_http_server *server)
{
    uv_idle_start(&server->sweep, on_sweep);
    if (server->n_accepted++ < GW_ACCEPTS_A_TURN)
        gw_conn_accept(server);
    else
        server->accept_waits = true;
}

static void on_connection(uv_stream_t *listener, int status)
{
    if (status < 0)
        baton_log(BATON_LOG_WARN, "accept_failed", BATON_S("reason", uv_strerror(status)));
    else
        accept_one(listener->data);
}

/* ---- start ---- */

/* Sets options on the listener, from which Linux passes them to every accepted connection. */
static void set_socket_options(struct gw_http_server *server)
{
    const int on = 1, send_bytes = GW_SEND_BUFFER_BYTES;
    uv_os_fd_t fd;
    if (uv_fileno((uv_handle_t *)&server->listener, &fd) ||
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) ||
        setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &send_bytes, sizeof send_bytes))
        baton_log(BATON_LOG_WARN, "socket_options", BATON_S("reason", "not all could be set"));
}

static int bind_and_listen(struct gw_http_server *server)
{
    const struct gw_http_options *options = &server->options;
    struct sockaddr_storage address;
    int size = sizeof address;
    const char *host = strcasecmp(options->host, "localhost") != 0 ? options->host : "127.0.0.1";
    int err = uv_ip4_addr(host, options->port, (struct sockaddr_in *)&address);
    if (err)
        err = uv_ip6_addr(host, options->port, (struct sockaddr_in6 *)&address);
    if (err)
        return UV_EAI_NONAME;
    if (!err)
        err = uv_tcp_bind(&server->listener, (const struct sockaddr *)&address, 0);
    if (!err)
        err = uv_listen((uv_stream_t *)&server->listener, options->backlog, on_connection);
    if (!err)
        err = uv_tcp_getsockname(&server->listener, (struct sockaddr *)&address, &size);
    if (!err) /* the port has the same offset in both families */
        server->port = ntohs(((const struct sockaddr_in *)&address)->sin_port);
    return err;
}

static struct gw_http_server *create(uv_loop_t *loop, const struct gw_http_options *options)
{
    struct gw_http_server *server = calloc(1, sizeof *server);
    if (!server)
        return NULL;
    server->options = *options;
    server->loop = loop;
    for (int state = 0; state < GW_CONN_N_STATES; state++)
        gw_conn_list_init(&server->conns[state]);
    gw_due_list_init(&server->due);
    gw_heavy_list_init(&server->heavy);
    gw_local_list_init(&server->locals);
    gw_gathered_list_init(&server->gathered);
    gw_watched_list_init(&server->watched);
    gw_hello_list_init(&server->hellos);
    gw_crowds_init(&server->unfinished);
    gw_crowds_init(&server->handshakes);
    gw_addresses_init(&server->addresses, &options->address_limits);
    return server;
}

enum baton_err gw_http_start(uv_loop_t *loop, const struct gw_http_options *options,
                             struct gw_http_server **server, struct baton_why *why)
{
    struct gw_http_server *made = create(loop, options);
    if (!made)
        return baton_fail(why, BATON_NO_MEMORY, "http: out of memory");
    int err = uv_tcp_init(loop, &made->listener);
    if (err) {
        free(made);
        return baton_fail(why, BATON_IO, "http: %s", uv_strerror(err));
    }
    uv_timer_init(loop, &made->janitor); /* these cannot fail */
    uv_timer_init(loop, &made->watch);
    uv_idle_init(loop, &made->sweep);
    made->listener.data = made->janitor.data = made->watch.data = made->sweep.data = made;
    made->n_handles = 4;
    err = bind_and_listen(made);
    if (err) {
        gw_http_stop(made, NULL, NULL);
        return err == UV_EAI_NONAME
                   ? baton_fail(why, BATON_INVALID,
                                "--host must be a numeric address or localhost, not \"%.60s\"",
                                options->host)
                   : baton_fail(why, BATON_IO, "http: cannot listen on %s port %d: %s",
                                options->host, options->port, uv_strerror(err));
    }
    set_socket_options(made);
    uv_timer_start(&made->janitor, on_tick, tick_ms(made), tick_ms(made));
    *server = made;
    return BATON_OK;
}

void gw_http_set_tls(struct gw_http_server *server, struct gw_tls_context *tls)
{
    server->options.tls = tls;
}

int gw_http_port(const struct gw_http_server *server)
{
    return server->port;
}

size_t gw_http_n_exchanges(const struct gw_http_server *server)
{
    return server->n_exchanges;
}

bool gw_http_is_busy(const struct gw_http_server *server)
{
    return server->n_exchanges || server->conns[GW_CONN_FLUSH].n || server->conns[GW_CONN_LINGER].n;
}

size_t gw_http_n_connections(const struct gw_http_server *server)
{
    return server->n_conns;
}

const struct gw_http_stats *gw_http_stats(const struct gw_http_server *server)
{
    return &server->stats;
}

/* ---- drain and stop ---- */

void gw_server_release(struct gw_http_server *server)
{
    if (!server->stopping || server->n_handles || server->n_conns)
        return;
    void (*closed)(void *arg) = server->closed;
    void *arg = server->closed_arg;
    gw_addresses_fini(&server->addresses);
    free(server);
    if (closed)
        closed(arg);
}

static void handle_closed(uv_handle_t *handle)
{
    struct gw_http_server *server = handle->data;
    server->n_handles--;
    gw_server_release(server);
}

static void close_handle(void *handle)
{
    if (!uv_is_closing(handle))
        uv_close(handle, handle_closed);
}

static void close_state(struct gw_http_server *server, enum gw_conn_state state)
{
    for (struct gw_conn *conn; (conn = gw_conn_list_first(&server->conns[state]));)
        gw_conn_close(conn, "the server stops");
}

void gw_http_drain(struct gw_http_server *server)
{
    server->draining = true;
    close_handle(&server->listener);
    close_state(server, GW_CONN_HELLO);
    close_state(server, GW_CONN_HANDSHAKE);
    close_state(server, GW_CONN_IDLE);
}

void gw_http_stop(struct gw_http_server *server, void (*closed)(void *arg), void *arg)
{
    server->closed = closed;
    server->closed_arg = arg;
    server->stopping = true;
    gw_http_drain(server);
    for (int state = GW_CONN_NEW; state < GW_CONN_CLOSING; state++)
        close_state(server, (enum gw_conn_state)state);
    close_handle(&server->janitor);
    close_handle(&server->watch);
    close_handle(&server->sweep);
}
