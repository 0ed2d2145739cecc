#include "tools/load/http/conn.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/base/clock.h"

enum {
    REQUEST_MAX_BYTES = 256 << 20,
    SLOW_BUFFER_BYTES = 4096, /* the kernel's buffer, small so that the server soon notices */
    THROTTLE_MS = 10,
    REASON_BYTES = 96
};

/* A slow reader catches up by no more than this after a pause. */
#define BURST_S 0.25

/* ---- the end of a connection ---- */

static void on_freed(uv_handle_t *handle)
{
    struct ld_conn *conn = handle->data;
    conn->pool->n_open--;
    baton_buf_fini(&conn->out);
    free(conn);
}

static void forget_slow(struct ld_conn *conn)
{
    struct ld_pool *pool = conn->pool;
    if (conn->bytes_per_s > 0 && !--pool->n_slow)
        (void)uv_timer_stop(&pool->throttle);
    conn->bytes_per_s = 0;
}

static void close_conn(struct ld_conn *conn)
{
    if (conn->closing)
        return;
    conn->closing = true;
    if (conn->user)
        ld_conn_list_remove(&conn->pool->busy, conn);
    else
        ld_conn_list_remove(&conn->pool->idle, conn);
    forget_slow(conn);
    conn->user = NULL;
    uv_close((uv_handle_t *)&conn->tcp, on_freed);
}

/* Closes the connection and informs its user, if it has one. */
static void lose(struct ld_conn *conn, const char *reason)
{
    const struct ld_conn_user *user = conn->user;
    void *arg = conn->arg;
    /* A callback may come after the close. */
    bool was_closing = conn->closing;
    close_conn(conn);
    if (user && !was_closing)
        user->closed(arg, reason);
}

static void lose_by(struct ld_conn *conn, const char *what, int status)
{
    char reason[REASON_BYTES];
    (void)snprintf(reason, sizeof reason, "%s: %s", what, uv_strerror(status));
    lose(conn, reason);
}

void ld_conn_drop(struct ld_conn *conn)
{
    close_conn(conn);
}

/* ---- reading ---- */

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
    struct ld_conn *conn = handle->data;
    (void)suggested;
    buf->base = conn->pool->read_buffer;
    buf->len = sizeof conn->pool->read_buffer;
    if (conn->bytes_per_s > 0 && conn->allowance < (double)buf->len)
        buf->len = (size_t)conn->allowance;
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    int64_t now_ns = baton_now_ns();
    struct ld_conn *conn = stream->data;
    if (n == UV_EOF) {
        lose(conn, NULL);
    } else if (n < 0) {
        lose_by(conn, "read", (int)n);
    } else if (n > 0 && !conn->user) {
        close_conn(conn); /* no request awaits these bytes */
    } else if (n > 0) {
        conn->allowance -= (double)n;
        if (conn->bytes_per_s > 0 && conn->allowance < 1) {
            (void)uv_read_stop(stream);
            conn->paused = true;
        }
        conn->user->bytes(conn->arg, buf->base, (size_t)n, now_ns);
    }
}

static void start_reading(struct ld_conn *conn)
{
    int status = uv_read_start((uv_stream_t *)&conn->tcp, on_alloc, on_read);
    conn->paused = false;
    if (status)
        lose_by(conn, "read", status);
}

static void refill(struct ld_conn *conn, double seconds)
{
    double most = conn->bytes_per_s * BURST_S;
    if (most < 1)
        most = 1;
    conn->allowance += conn->bytes_per_s * seconds;
    if (conn->allowance > most)
        conn->allowance = most;
}

static void on_throttle(uv_timer_t *timer)
{
    struct ld_pool *pool = timer->data;
    int64_t now_ns = baton_now_ns();
    double seconds = baton_seconds(now_ns - pool->throttled_ns);
    struct ld_conn *next;
    pool->throttled_ns = now_ns;
    /* start_reading may close the connection, so the next one is read first. */
    for (struct ld_conn *conn = ld_conn_list_first(&pool->busy); conn; conn = next) {
        next = ld_conn_list_next(&pool->busy, conn);
        if (!(conn->bytes_per_s > 0))
            continue;
        refill(conn, seconds);
        if (conn->paused && conn->allowance >= 1)
            start_reading(conn);
    }
}

static void make_slow(struct ld_conn *conn, double bytes_per_s)
{
    struct ld_pool *pool = conn->pool;
    conn->bytes_per_s = bytes_per_s;
    conn->allowance = 1;
    /* One timer serves all slow readers. */
    if (pool->n_slow++)
        return;
    pool->throttled_ns = baton_now_ns();
    (void)uv_timer_start(&pool->throttle, on_throttle, THROTTLE_MS, THROTTLE_MS);
}

/* ---- writing ---- */

static void on_written(uv_write_t *write, int status)
{
    struct ld_conn *conn = write->data;
    if (status && status != UV_ECANCELED)
        lose_by(conn, "write", status);
}

/* Writes straight into the kernel as far as possible. */
static void flush(struct ld_conn *conn)
{
    uv_stream_t *stream = (uv_stream_t *)&conn->tcp;
    uv_buf_t buf = uv_buf_init(conn->out.data, (unsigned)conn->out.len);
    int n = uv_try_write(stream, &buf, 1);
    if (n == (int)buf.len)
        return;
    if (n < 0 && n != UV_EAGAIN) {
        lose_by(conn, "write", n);
        return;
    }
    buf.base += n > 0 ? n : 0;
    buf.len -= n > 0 ? (size_t)n : 0;
    int status = uv_write(&conn->write, stream, &buf, 1, on_written);
    if (status)
        lose_by(conn, "write", status);
}

void ld_conn_write(struct ld_conn *conn, const char *bytes, size_t n)
{
    baton_buf_reset(&conn->out);
    baton_buf_append(&conn->out, bytes, n);
    if (baton_buf_err(&conn->out))
        lose(conn, "write: no memory for the request");
    else if (conn->connected)
        flush(conn);
}

/* ---- the pool ---- */

static void on_connected(uv_connect_t *connect, int status)
{
    struct ld_conn *conn = connect->data;
    if (status == UV_ECANCELED || conn->closing)
        return;
    if (status) {
        lose_by(conn, "connect", status);
        return;
    }
    conn->connected = true;
    /* A request is one write: to wait for more data would only delay it. */
    (void)uv_tcp_nodelay(&conn->tcp, 1);
    start_reading(conn);
    if (!conn->closing && conn->out.len)
        flush(conn);
}

/* Connects. The first packet announces the window, so a small buffer must be set before. */
static int connect_it(struct ld_conn *conn, bool slow)
{
    int size = SLOW_BUFFER_BYTES;
    if (slow)
        (void)uv_recv_buffer_size((uv_handle_t *)&conn->tcp, &size);
    return uv_tcp_connect(&conn->connect, &conn->tcp, (const struct sockaddr *)&conn->pool->address,
                          on_connected);
}

static struct ld_conn *open_conn(struct ld_pool *pool, bool slow)
{
    struct ld_conn *conn = calloc(1, sizeof *conn);
    if (!conn)
        return NULL;
    conn->pool = pool;
    baton_buf_init(&conn->out, REQUEST_MAX_BYTES);
    if (uv_tcp_init_ex(pool->loop, &conn->tcp, pool->address.ss_family)) {
        free(conn);
        return NULL;
    }
    conn->tcp.data = conn->connect.data = conn->write.data = conn;
    pool->n_connects++;
    if (++pool->n_open > pool->max_open)
        pool->max_open = pool->n_open;
    if (connect_it(conn, slow)) {
        conn->closing = true;
        /* It is in no list yet, as close_conn would expect. */
        uv_close((uv_handle_t *)&conn->tcp, on_freed);
        return NULL;
    }
    return conn;
}

struct ld_conn *ld_pool_take(struct ld_pool *pool, bool fresh, double bytes_per_s,
                             const struct ld_conn_user *user, void *arg)
{
    bool own = fresh || bytes_per_s > 0;
    struct ld_conn *conn = own ? NULL : ld_conn_list_pop_front(&pool->idle);
    if (conn)
        conn->reused = true;
    else
        conn = open_conn(pool, bytes_per_s > 0);
    if (!conn)
        return NULL;
    conn->user = user;
    conn->arg = arg;
    ld_conn_list_push_back(&pool->busy, conn);
    if (bytes_per_s > 0)
        make_slow(conn, bytes_per_s);
    return conn;
}

void ld_conn_give(struct ld_conn *conn)
{
    struct ld_pool *pool = conn->pool;
    /* The server answered before it read the whole request: the rest would precede the next one. */
    bool is_writing = uv_stream_get_write_queue_size((uv_stream_t *)&conn->tcp) > 0;
    if (!pool->keep_alive || conn->bytes_per_s > 0 || is_writing) {
        close_conn(conn);
        return;
    }
    ld_conn_list_remove(&pool->busy, conn);
    conn->user = NULL;
    baton_buf_reset(&conn->out);
    ld_conn_list_push_back(&pool->idle, conn);
}

void ld_pool_init(struct ld_pool *pool, uv_loop_t *loop, const struct sockaddr_storage *address,
                  bool keep_alive)
{
    pool->loop = loop;
    pool->address = *address;
    pool->keep_alive = keep_alive;
    pool->n_slow = 0;
    pool->n_open = pool->n_connects = pool->max_open = 0;
    ld_conn_list_init(&pool->idle);
    ld_conn_list_init(&pool->busy);
    pool->throttle.data = pool;
    (void)uv_timer_init(loop, &pool->throttle); /* cannot fail */
}

void ld_pool_close(struct ld_pool *pool)
{
    struct ld_conn *conn;
    while ((conn = ld_conn_list_first(&pool->idle)))
        close_conn(conn);
    uv_close((uv_handle_t *)&pool->throttle, NULL);
}
