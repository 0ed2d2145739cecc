/* TLS between a connection's socket and its requests. A handshake costs up to a millisecond, so it
 * runs as a slice of the sweep; later records are cheap and are decrypted where they arrive:
 *
 *     HANDSHAKE: read_done --> conn->in --sweep--> gw_secure_handshake --> IDLE
 *     after it:  read_done --gw_secure_take--> conn->in --sweep--> requests
 *                gw_conn_send --gw_secure_send--> gw_conn_send_raw
 */
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "gateway/http/conn.h"

/* Sends the bytes that TLS has produced. */
static void send_out(struct gw_conn *conn)
{
    struct baton_buf *out = gw_tls_out(conn->tls);
    uv_buf_t part = gw_part(out->data, out->len);
    if (part.len)
        gw_conn_send_raw(conn, &part, 1);
    free(baton_buf_take(out)); /* a quiet connection keeps no memory for it */
}

static void fail(struct gw_conn *conn, const char *where)
{
    baton_log(BATON_LOG_DEBUG, "tls_failed", BATON_S("peer", conn->peer), BATON_S("where", where));
    gw_conn_close(conn, "TLS failed");
}

/* Returns the oldest handshake that waits for its client, not for its slice; NULL when there is
 * none. */
static struct gw_conn *oldest_waiting(const struct gw_conn_list *handshakes)
{
    struct gw_conn *conn = gw_conn_list_first(handshakes);
    while (conn && conn->due.next)
        conn = gw_conn_list_next(handshakes, conn);
    return conn;
}

/* A slow client has at least its second, however many others wait. */
bool gw_secure_has_room(struct gw_http_server *server)
{
    struct gw_conn_list *handshakes = &server->conns[GW_CONN_HANDSHAKE];
    if (!server->options.tls || handshakes->n < GW_MAX_HANDSHAKES)
        return true;
    struct gw_conn *oldest = oldest_waiting(handshakes);
    if (!oldest || uv_now(server->loop) - oldest->entered_ms < GW_HANDSHAKE_MIN_MS)
        return false;
    gw_conn_close(oldest, "closed for another handshake");
    return true;
}

void gw_secure_begin(struct gw_conn *conn)
{
    conn->tls = gw_tls_create(conn->server->options.tls);
    gw_conn_set_state(conn, GW_CONN_HANDSHAKE);
    if (!conn->tls)
        gw_conn_close(conn, "out of memory");
}

/* Accepts a connection that waited for the end of a handshake. */
static void take_next(struct gw_http_server *server)
{
    if (server->accept_waits && !server->draining)
        gw_conn_accept(server);
}

/* Stores the plain bytes of what was fed. */
static void read_all(struct gw_conn *conn)
{
    char *plain = conn->server->plain_buffer;
    enum baton_err err;
    size_t n;
    while (!(err = gw_tls_read(conn->tls, plain, GW_READ_BYTES, &n)))
        gw_conn_store(conn, plain, n);
    send_out(conn);
    if (err == BATON_CLOSED)
        gw_conn_ended(conn);
    else if (err != BATON_AGAIN)
        fail(conn, "record");
}

void gw_secure_take(struct gw_conn *conn, const char *bytes, size_t n)
{
    gw_tls_feed(conn->tls, bytes, n);
    read_all(conn);
}

void gw_secure_handshake(struct gw_conn *conn)
{
    size_t n = conn->in.len;
    char *bytes = baton_buf_take(&conn->in);
    /* The handshake's last bytes may already contain a request. */
    gw_tls_feed(conn->tls, bytes, n);
    enum baton_err err = gw_tls_handshake(conn->tls);
    send_out(conn);
    if (!err) {
        conn->server->stats.n_handshakes++;
        gw_conn_set_state(conn, GW_CONN_IDLE);
        read_all(conn);
        take_next(conn->server);
    } else if (err != BATON_AGAIN) {
        conn->server->stats.n_handshakes_failed++;
        fail(conn, "handshake");
        take_next(conn->server);
    }
    free(bytes);
}

/* Encrypts the parts as one record if they fit: a token of a stream has three parts. */
static enum baton_err encrypt(struct gw_conn *conn, const uv_buf_t *parts, unsigned n)
{
    char *plain = conn->server->plain_buffer;
    enum baton_err err = BATON_OK;
    size_t held = 0;
    for (unsigned i = 0; i < n && !err; i++) {
        if (held + parts[i].len > GW_READ_BYTES) {
            err = gw_tls_write(conn->tls, plain, held);
            held = 0;
        }
        if (parts[i].len > GW_READ_BYTES) {
            err = err ? err : gw_tls_write(conn->tls, parts[i].base, parts[i].len);
        } else if (parts[i].len) {
            memcpy(plain + held, parts[i].base, parts[i].len);
            held += parts[i].len;
        }
    }
    return err ? err : gw_tls_write(conn->tls, plain, held);
}

void gw_secure_send(struct gw_conn *conn, const uv_buf_t *parts, unsigned n)
{
    if (encrypt(conn, parts, n))
        gw_conn_cut(conn, "TLS failed");
    else
        send_out(conn);
}

void gw_secure_end(struct gw_conn *conn)
{
    struct baton_buf *out = gw_tls_out(conn->tls);
    if (conn->state == GW_CONN_HANDSHAKE || gw_conn_queued_bytes(conn))
        return;
    gw_tls_end(conn->tls);
    uv_buf_t part = gw_part(out->data, out->len);
    if (part.len)
        (void)uv_try_write((uv_stream_t *)&conn->tcp, &part, 1);
    free(baton_buf_take(out));
}
