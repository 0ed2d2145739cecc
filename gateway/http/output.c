/* Output. Bytes that the kernel does not accept at once are collected in conn->out:
 */
#include <linux/sockios.h>
#include <stdlib.h>
#include <sys/ioctl.h>

#include "gateway/http/conn.h"

/* A write that libuv is executing. Bytes sent meanwhile are collected in conn->out and become the
 * next write, so a slow client costs one write request instead of one for each token. */
struct pending_write {
    uv_write_t request;
    struct gw_conn *conn;
    char *bytes;
};

size_t gw_conn_queued_bytes(const struct gw_conn *conn)
{
    return uv_stream_get_write_queue_size((const uv_stream_t *)&conn->tcp) + conn->out.len;
}

/* Includes the kernel's buffer, which accepts up to SO_SNDBUF bytes for a client that reads
 * nothing: without it a stalled client would look served. */
size_t gw_conn_untaken_bytes(const struct gw_conn *conn)
{
    uv_os_fd_t fd;
    int n = 0;
    if (uv_fileno((const uv_handle_t *)&conn->tcp, &fd) || ioctl(fd, SIOCOUTQ, &n))
        n = 0;
    return gw_conn_queued_bytes(conn) + (size_t)n;
}

static void start_write(struct gw_conn *conn);

/* Continues when the kernel has everything. */
static void written(struct gw_conn *conn)
{
    if (conn->state == GW_CONN_FLUSH)
        gw_conn_flushed(conn);
    else if (conn->exchange)
        gw_exchange_drained(conn->exchange);
}

static void write_done(uv_write_t *request, int status)
{
    struct pending_write *write = (struct pending_write *)request;
    struct gw_conn *conn = write->conn;
    free(write->bytes);
    free(write);
    if (conn->state == GW_CONN_CLOSING) /* uv_close cancels writes, which end here */
        return;
    if (status < 0)
        gw_conn_close(conn, "client left");
    else if (conn->out.len)
        start_write(conn);
    else
        written(conn);
}

static void start_write(struct gw_conn *conn)
{
    struct pending_write *write = malloc(sizeof *write);
    if (!write) {
        gw_conn_cut(conn, "out of memory");
        return;
    }
    uv_buf_t all = uv_buf_init(NULL, (unsigned)conn->out.len);
    all.base = baton_buf_take(&conn->out); /* moved, not copied: libuv keeps it until write_done */
    *write = (struct pending_write){.conn = conn, .bytes = all.base};
    if (uv_write(&write->request, (uv_stream_t *)&conn->tcp, &all, 1, write_done)) {
        free(write->bytes);
        free(write);
        gw_conn_cut(conn, "client left");
    }
}

/* Appends the parts without their first `skip` bytes to the output. */
static void queue(struct gw_conn *conn, const uv_buf_t *parts, unsigned n, size_t skip)
{
    for (unsigned i = 0; i < n; i++) {
        size_t gone = skip < parts[i].len ? skip : parts[i].len;
        skip -= gone;
        baton_buf_append(&conn->out, parts[i].base + gone, parts[i].len - gone);
    }
    if (baton_buf_err(&conn->out))
        gw_conn_cut(conn, "out of memory");
}

void gw_conn_send(struct gw_conn *conn, const uv_buf_t *parts, unsigned n)
{
    if (conn->state == GW_CONN_CLOSING || conn->cut_reason)
        return;
    for (unsigned i = 0; i < n; i++) {
        gw_conn_charge(conn, parts[i].len);
        if (conn->exchange)
            conn->exchange->sent_bytes += parts[i].len;
    }
    if (conn->tls)
        gw_secure_send(conn, parts, n);
    else
        gw_conn_send_raw(conn, parts, n);
}

void gw_conn_send_raw(struct gw_conn *conn, const uv_buf_t *parts, unsigned n)
{
    if (uv_stream_get_write_queue_size((uv_stream_t *)&conn->tcp)) { /* keeps the order */
        queue(conn, parts, n, 0);
        return;
    }
    if (conn->server->gathering) {
        if (!conn->gathered.next)
            gw_gathered_list_push_back(&conn->server->gathered, conn);
        queue(conn, parts, n, 0);
        return;
    }
    int written = uv_try_write((uv_stream_t *)&conn->tcp, parts, n);
    if (written < 0 && written != UV_EAGAIN) {
        gw_conn_cut(conn, "client left");
        return;
    }
    queue(conn, parts, n, written > 0 ? (size_t)written : 0);
    if (conn->out.len && !conn->cut_reason)
        start_write(conn);
}

/* ---- gathered writes ---- */

/* Writes what a step's tokens sent to one client, with one system call. */
static void flush(struct gw_conn *conn)
{
    uv_buf_t all = gw_part(conn->out.data, conn->out.len);
    if (!conn->out.len || conn->cut_reason)
        return;
    int n = uv_try_write((uv_stream_t *)&conn->tcp, &all, 1);
    if (n < 0 && n != UV_EAGAIN) {
        gw_conn_cut(conn, "client left");
        return;
    }
    if (n > 0)
        baton_buf_consume(&conn->out, (size_t)n);
    if (conn->out.len) {
        start_write(conn);
    } else {
        free(baton_buf_take(&conn->out)); /* a quiet stream keeps no memory for its output */
        written(conn);
    }
}

void gw_http_gather(struct gw_http_server *server)
{
    server->gathering = true;
}

void gw_http_flush(struct gw_http_server *server)
{
    server->gathering = false;
    for (struct gw_conn *conn; (conn = gw_gathered_list_pop_front(&server->gathered));)
        flush(conn);
}
