/* TLS between a connection's socket and its requests. A handshake costs up to a millisecond, so it
 * runs as a slice of the sweep; later records are cheap and are decrypted where they arrive. Until
 * the client's first message is whole, the connection costs no more than one without TLS:
 *
 *     HELLO:     read_done --> conn->in --sweep--> gw_secure_begin --> HANDSHAKE
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

/* ---- places for handshakes ---- */

static struct gw_conn *conn_of(struct gw_place *handshake)
{
    return (struct gw_conn *)((char *)handshake - offsetof(struct gw_conn, handshake));
}

/* Returns the oldest handshake that waits for its client, not for its slice, of the address that
 * has most of them, if these are more than the newcomer's own. A client with more handshakes than
 * others pays for a newcomer of theirs. */
static struct gw_conn *find_crowding(const struct gw_conn *newcomer)
{
    struct gw_crowd *fullest = gw_crowds_fullest(&newcomer->server->handshakes);
    const struct gw_address *address = newcomer->address;
    if (!fullest || !address || gw_crowd_size(fullest) <= gw_crowd_size(&address->handshakes) + 1)
        return NULL;
    struct gw_place *place = gw_crowd_first(fullest);
    while (place && conn_of(place)->due.next)
        place = gw_crowd_next(place);
    return place ? conn_of(place) : NULL;
}

/* Returns the oldest handshake that waits for its client and has had its second, which a slow
 * client needs; NULL when there is none. */
static struct gw_conn *find_slow(struct gw_http_server *server)
{
    const struct gw_conn_list *handshakes = &server->conns[GW_CONN_HANDSHAKE];
    struct gw_conn *conn = gw_conn_list_first(handshakes);
    while (conn && conn->due.next)
        conn = gw_conn_list_next(handshakes, conn);
    return conn && uv_now(server->loop) - conn->entered_ms >= GW_HANDSHAKE_MIN_MS ? conn : NULL;
}

/* True when the handshake may begin; may close another one for it. Free places go to those that
 * wait, in order. */
static bool has_place(struct gw_conn *conn)
{
    struct gw_http_server *server = conn->server;
    bool is_next = !server->hellos.n || gw_hello_list_first(&server->hellos) == conn;
    if (is_next && server->conns[GW_CONN_HANDSHAKE].n < GW_MAX_HANDSHAKES)
        return true;
    struct gw_conn *leaver = find_crowding(conn);
    if (!leaver && is_next)
        leaver = find_slow(server);
    if (!leaver)
        return false;
    server->stats.n_gave_way++;
    gw_conn_close(leaver, "closed for another handshake");
    return true;
}

void gw_secure_next(struct gw_http_server *server)
{
    if (server->hellos.n)
        gw_server_due(server, gw_hello_list_first(&server->hellos));
}

/* Answers a client that speaks HTTP without TLS, so that its user learns why. */
static void refuse_plain(struct gw_conn *conn)
{
    static const struct gw_error plain = {
        .status = 400,
        .code = "malformed_request",
        .message = "This port speaks HTTPS; the request was not encrypted."};
    conn->server->stats.n_handshakes_failed++;
    gw_conn_refuse(conn, &plain);
}

/* TLS begins with a small number, a method of HTTP with a letter. */
static bool is_plain(const struct gw_conn *conn)
{
    return conn->in.len && conn->in.data[0] >= 'A' && conn->in.data[0] <= 'Z';
}

void gw_secure_begin(struct gw_conn *conn)
{
    struct gw_http_server *server = conn->server;
    if (is_plain(conn)) {
        refuse_plain(conn);
        return;
    }
    if (!gw_tls_is_whole_hello(conn->in.data, conn->in.len))
        return;
    if (!has_place(conn)) {
        if (!conn->waits.next)
            gw_hello_list_push_back(&server->hellos, conn);
        return;
    }
    if (conn->waits.next)
        gw_hello_list_remove(&server->hellos, conn);
    gw_conn_set_state(conn, GW_CONN_HANDSHAKE);
    conn->tls = gw_tls_create(server->options.tls);
    if (!conn->tls)
        gw_conn_close(conn, "out of memory");
    gw_secure_next(server); /* there may be more places, or more to take them from */
}

/* ---- records ---- */

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
        gw_secure_next(conn->server);
        read_all(conn);
    } else if (err != BATON_AGAIN) {
        conn->server->stats.n_handshakes_failed++;
        fail(conn, "handshake");
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
