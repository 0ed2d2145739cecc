#include <stdlib.h>

#include "gateway/http/conn.h"

/* One write in libuv's hands. Whatever is sent meanwhile gathers in conn->out and becomes the next,
 * so a slow client costs one request and not one for each token. */
struct pending_write {
    uv_write_t request;
    struct gw_conn *conn;
    char *bytes;
};

size_t gw_conn_queued_bytes(const struct gw_conn *conn)
{
    return uv_stream_get_write_queue_size((const uv_stream_t *)&conn->tcp) + conn->out.len;
}

static void start_write(struct gw_conn *conn);

static void write_done(uv_write_t *request, int status)
{
    struct pending_write *write = (struct pending_write *)request;
    struct gw_conn *conn = write->conn;
    free(write->bytes);
    free(write);
    if (conn->state == GW_CONN_CLOSING)
        return;
    if (status < 0)
        gw_conn_close(conn, "client left");
    else if (conn->out.len)
        start_write(conn);
    else if (conn->state == GW_CONN_FLUSH)
        gw_conn_flushed(conn);
    else if (conn->exchange)
        gw_exchange_drained(conn->exchange);
}

static void start_write(struct gw_conn *conn)
{
    struct pending_write *write = malloc(sizeof *write);
    if (!write) {
        gw_conn_cut(conn, "out of memory");
        return;
    }
    uv_buf_t all = uv_buf_init(NULL, (unsigned)conn->out.len);
    all.base = baton_buf_take(&conn->out);
    *write = (struct pending_write){.conn = conn, .bytes = all.base};
    if (uv_write(&write->request, (uv_stream_t *)&conn->tcp, &all, 1, write_done)) {
        free(write->bytes);
        free(write);
        gw_conn_cut(conn, "client left");
    }
}

/* Appends the parts, but for their first `skip` bytes, to what is to be written. */
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
    if (uv_stream_get_write_queue_size((uv_stream_t *)&conn->tcp)) {
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
