/* Inside the HTTP server: the connection's states and the parts its files share.
 *
 * server.c, conn.c, input.c, secure.c, limits.c, exchange.c, response.c and output.c are one state
 * machine in eight files, and call each other in circles by design: the end of a response may begin
 * the next request, and a failed write ends both. No other file includes this header.
 *
 *  (HELLO --> HANDSHAKE)
 *       +--------+
 *       |
 *     IDLE --> HEAD --> BODY --> HANDLED --> FLUSH --> IDLE (keep-alive)
 *       |        |        |         |          |
 *       |        +-refuse-+---------|--> FLUSH +-----> LINGER --> CLOSING
 *       +---------------------------+--------------------------> CLOSING
 *
 *     HELLO      part of TLS's first message, or   closed after head_timeout_ms
 *                all of it, for want of a place;
 *                HTTP without TLS is refused
 *     HANDSHAKE  of TLS, before the first IDLE     closed after head_timeout_ms
 *     IDLE       no byte of a request yet          closed after idle_timeout_ms
 *     HEAD       part of a head                    408 after head_timeout_ms
 *     BODY       part of a body                    408 after body_timeout_ms
 *     HANDLED    the exchange is with the handler  the handler's own deadline
 *     FLUSH      the response is being written     closed when the client takes nothing of it
 *                                                  for stall_timeout_ms; so is HANDLED with a
 *                                                  full stream
 *     LINGER     our FIN is sent, input is dropped closed after GW_LINGER_MS; closing at once
 *                would make the kernel send a RST, which can take the answer away from the client
 *     CLOSING    waits for the loop's close callback
 *
 * A state is membership of one list of the server, in order of entry, so that the janitor checks
 * only the front of each list. Only gw_conn_set_state changes it.
 *
 * Up to BODY a connection is unfinished: it has shown no whole request, and gives way to another
 * one when there are too many (crowds.h). Bodies are the last to do so.
 *
 * Ownership: the server owns connections, a connection its exchange.
 * Threading: the loop thread.
 * Errors:    every error of a client ends in gw_conn_close, gw_conn_cut or
 *            gw_conn_refuse.
 */
#ifndef BATON_GATEWAY_HTTP_CONN_H
#define BATON_GATEWAY_HTTP_CONN_H

#include "common/base/buf.h"
#include "common/base/clock.h"
#include "common/base/list.h"
#include "common/http/chunked.h"
#include "gateway/http/addresses.h"
#include "gateway/http/local.h"
#include "gateway/http/reader.h"
#include "gateway/http/server.h"
#include "gateway/http/tls.h"

enum {
    /* of one connection in one turn: the size of the shared read buffer */
    GW_READ_BYTES = 16 << 10,
    /* SO_SNDBUF: bytes that the kernel may hide from our own limits */
    GW_SEND_BUFFER_BYTES = 64 << 10,
    GW_LINGER_MS = 2000,
    GW_WATCH_MS = 20,      /* between two checks of connections that are not read */
    GW_SLICE_REQUESTS = 4, /* answered for one connection in its slice */
    GW_ACCEPTS_A_TURN = 64,
    GW_MAX_HANDSHAKES = 256,     /* TLS handshakes at a time; more wait in HELLO */
    GW_HANDSHAKE_MIN_MS = 1000,  /* before a silent one is closed for another of its address */
    GW_MAX_PASSED_OVER = 64,     /* unfinished ones that wait for their slice */
    GW_MAX_TURNED_AWAY = 64,     /* connections over the limit that get a 503 at a time */
    GW_MAX_TURNED_AWAY_EACH = 8, /* the same for one address, with a 429 */
    GW_PEER_BYTES = 56           /* "[IPv6 address]:port" */
};

#define GW_SLICE_NS BATON_MS       /* after it a slice begins no further request */
#define GW_TURN_NS  (4 * BATON_MS) /* after it a turn of the loop begins no further slice */

enum gw_conn_state {
    GW_CONN_NEW,
    GW_CONN_HELLO,
    GW_CONN_HANDSHAKE,
    GW_CONN_IDLE,
    GW_CONN_HEAD,
    GW_CONN_BODY,
    GW_CONN_HANDLED,
    GW_CONN_FLUSH,
    GW_CONN_LINGER,
    GW_CONN_CLOSING,
    GW_CONN_N_STATES
};

struct gw_conn {
    uv_tcp_t tcp;
    struct gw_http_server *server;
    enum gw_conn_state state;
    struct baton_node in_state; /* in server->conns[state] */
    struct baton_node due;      /* in server->due when the sweep must serve it */
    struct baton_node heavy;    /* in server->heavy when its exchange resumes */
    struct baton_node gathered; /* in server->gathered when it has output to write */
    struct baton_node watched;  /* in server->watched when only a poll shows that its client left */
    struct baton_node waits;    /* in server->hellos when its handshake waits for a place */
    struct gw_place unfinished; /* taken up to BODY */
    struct gw_place handshake;  /* taken in HANDSHAKE */
    uint64_t entered_ms;        /* when it entered its state */
    const char *cut_reason;     /* NULL, or the reason for the sweep to close it */
    struct gw_address *address; /* NULL: without memory */
    struct gw_exchange *exchange;
    struct gw_exchange *answered; /* finished by the handler; its answer is being sent */
    struct gw_tls *tls;           /* from HANDSHAKE on; NULL: the bytes of the socket are HTTP */
    struct baton_buf in;          /* bytes read and not yet served */
    struct baton_buf out;         /* bytes not yet given to libuv, while a write is running */
    size_t untaken_bytes;         /* of the response, not acknowledged at the last check */
    uint64_t taken_ms;            /* when the client last acknowledged bytes that it must read */
    struct gw_head_scan scan;     /* HEAD */
    struct baton_chunked chunked; /* BODY */
    uint64_t body_left_bytes;     /* BODY, not chunked */
    bool is_chunked;              /* BODY */
    bool keep_alive;
    bool serving; /* inside its slice */
    bool paused;  /* not read from, so libuv does not report when the client leaves */
    bool saw_eof;
    bool probed; /* after saw_eof, for whether the client is there */
    char peer[GW_PEER_BYTES];
};

BATON_LIST(gw_conn_list, struct gw_conn, in_state)
BATON_LIST(gw_due_list, struct gw_conn, due)
BATON_LIST(gw_heavy_list, struct gw_conn, heavy)
BATON_LIST(gw_gathered_list, struct gw_conn, gathered)
BATON_LIST(gw_watched_list, struct gw_conn, watched)
BATON_LIST(gw_hello_list, struct gw_conn, waits)

/* A request of the gateway's own (local.h). */
struct gw_local {
    struct baton_node due; /* in server->locals when it resumes, or has its answer */
    struct gw_http_server *server;
    struct gw_exchange *exchange;
    struct gw_local_request request;
    struct baton_buf body; /* of the answer */
    int status;
    double retry_after_s;
    bool has_ended;
};

BATON_LIST(gw_local_list, struct gw_local, due)

struct gw_http_server {
    struct gw_http_options options;
    uv_loop_t *loop;
    uv_tcp_t listener;
    uv_timer_t janitor; /* every timeout of every connection */
    uv_timer_t watch;   /* runs while `watched` has members */
    uv_idle_t sweep;    /* the clients' part of a turn; runs while `due` or `heavy` has members */
    int n_handles;      /* of the four above, not yet closed */
    int port;
    bool draining, stopping;
    bool accept_waits; /* libuv holds a connection, and pauses the listener, until it is accepted */
    size_t n_accepted; /* in this turn */
    struct gw_http_stats stats;
    size_t n_exchanges;
    size_t arriving_bytes; /* of incomplete bodies */
    size_t n_conns;
    struct gw_conn_list conns[GW_CONN_N_STATES];
    struct gw_due_list due;
    struct gw_heavy_list heavy;  /* one is resumed each turn */
    struct gw_local_list locals; /* one is attended to each turn */
    struct gw_watched_list watched;
    struct gw_hello_list hellos; /* whole ones, in order of arrival */
    struct gw_crowds unfinished, handshakes;
    struct gw_addresses addresses;
    struct gw_gathered_list gathered;
    bool gathering;
    void (*closed)(void *arg);
    void *closed_arg;
    int64_t date_s; /* the second of `date` */
    char date[32];
    char read_buffer[GW_READ_BYTES];
    char plain_buffer[GW_READ_BYTES]; /* the content of a TLS record */
};

struct gw_exchange {
    struct gw_conn *conn;   /* NULL: */
    struct gw_local *local; /* the request is the gateway's own */
    void *data;             /* the handler's */
    const char *method, *path, *query;
    const char *headers; /* n_headers times name, 0, value, 0; names in lower case */
    size_t n_headers;
    struct baton_buf body;
    size_t arriving_bytes;      /* of the body, counted in the server's */
    struct baton_buf added;     /* complete header lines for the response */
    gw_error_writer put_error;  /* writes its errors in the API's form */
    int bad_request_status;     /* the API's status of a body that has a bad field */
    struct gw_account *account; /* of its API key; NULL: none */
    char id[GW_REQUEST_ID_BYTES];
    uint64_t number; /* the number of a generated id; 0: the client's id */
    struct gw_trace trace;
    int64_t arrived_ns; /* of its last byte; before that, of its head */
    size_t body_bytes, sent_bytes;
    int status;    /* of the answer; 0: not begun */
    char code[40]; /* of an error */
    struct gw_exchange_note note;
    int minor;
    bool resumes;   /* on_resume will be called */
    bool handled;   /* on_request was called: counted in n_exchanges */
    bool is_head;   /* the HEAD method: no body in the answer */
    bool streaming; /* stream_begin was called */
    bool chunked;   /* ... and the stream is chunked */
    bool full;      /* the last on_full of the handler was true */
    char text[];
};

/* ---- server.c ---- */

/* Lets the sweep serve the connection before the loop sleeps again. */
void gw_server_due(struct gw_http_server *server, struct gw_conn *conn);
/* Lets the sweep call on_resume, for one connection each turn. */
void gw_server_resume(struct gw_http_server *server, struct gw_conn *conn);
/* Lets the timer poll the connection until gw_conn_check returns false. */
void gw_server_watch(struct gw_http_server *server, struct gw_conn *conn);
/* Runs the sweep before the loop sleeps again. */
void gw_server_sweep(struct gw_http_server *server);
/* Frees a stopped server after its last handle is closed. */
void gw_server_release(struct gw_http_server *server);

/* ---- conn.c ---- */

/* Changes the state: checks the edge, stamps the time, moves the connection. Nothing else does. */
void gw_conn_set_state(struct gw_conn *conn, enum gw_conn_state state);
/* Accepts the connection that waits at the listener. */
void gw_conn_accept(struct gw_http_server *server);
/* Closes now. First reports to the handler of an open exchange that its client is gone. */
void gw_conn_close(struct gw_conn *conn, const char *reason);
/* Closes in the next turn of the loop, so that no handler is called from inside its own call. */
void gw_conn_cut(struct gw_conn *conn, const char *reason);
/* Answers with the error object, then closes: after a malformed request, further bytes have no
 * meaning. */
void gw_conn_refuse(struct gw_conn *conn, const struct gw_error *refusal);
/* Continues after the response was handed over and its exchange is gone. */
void gw_conn_response_ended(struct gw_conn *conn);
/* Continues when FLUSH has nothing left to write. */
void gw_conn_flushed(struct gw_conn *conn);
/* True when the client has bytes to read and acknowledged none for limit_ms. */
bool gw_conn_is_stalled(struct gw_conn *conn, uint64_t limit_ms);
/* Handles the timeout of the connection's state, for the janitor. */
void gw_conn_expire(struct gw_conn *conn);

/* ---- input.c ---- */

/* Reads from the client until the input buffer is full. */
void gw_conn_read(struct gw_conn *conn);
/* In IDLE: schedules the requests that arrived ahead; never serves them inside this call. */
void gw_conn_next(struct gw_conn *conn);
/* Stores n bytes of requests for the connection's slice. */
void gw_conn_store(struct gw_conn *conn, const char *bytes, size_t n);
/* Handles the end of the client's input. */
void gw_conn_ended(struct gw_conn *conn);
/* For the sweep: closes a cut connection, or serves its slice. */
void gw_conn_attend(struct gw_conn *conn);
/* For the sweep: calls on_resume. */
void gw_conn_resume(struct gw_conn *conn);
/* For the timer: closes the connection when its client left. False when polling is no longer
 * needed. */
bool gw_conn_check(struct gw_conn *conn);

/* ---- limits.c ---- */

/* True when its address has too many connections; this one was refused or closed. */
bool gw_conn_is_one_too_many(struct gw_conn *conn);
/* Checks the address's rates after a head was read. False when one is exceeded and the request was
 * refused. */
bool gw_conn_may_request(struct gw_conn *conn);
/* Charges bytes that were read from or written to the client. */
void gw_conn_charge(struct gw_conn *conn, size_t n_bytes);

/* ---- output.c ---- */

/* Makes a buffer for libuv, whose buffers are not const, although it only reads from it. */
static inline uv_buf_t gw_part(const char *bytes, size_t n)
{
    return (uv_buf_t){.base = (char *)bytes, .len = n};
}

/* Writes as much of the parts as the kernel accepts and queues the rest, or queues all while the
 * server gathers; n <= 3. A connection that is closing or cut ignores it. */
void gw_conn_send(struct gw_conn *conn, const uv_buf_t *parts, unsigned n);
/* Does the same below TLS: the bytes go to the socket. */
void gw_conn_send_raw(struct gw_conn *conn, const uv_buf_t *parts, unsigned n);
/* Returns the bytes that libuv and conn->out hold, without the kernel's. */
size_t gw_conn_queued_bytes(const struct gw_conn *conn);
/* Also counts the bytes that the kernel has and the client has not acknowledged. */
size_t gw_conn_untaken_bytes(const struct gw_conn *conn);

/* ---- secure.c: for connections with TLS ---- */

/* For the sweep: begins the handshake when its first message is whole and it has a place; may close
 * another one for it. HELLO -> HANDSHAKE. */
void gw_secure_begin(struct gw_conn *conn);
/* Lets the sweep serve the handshake that has waited for a place for the longest time. */
void gw_secure_next(struct gw_http_server *server);
/* For the sweep: continues the handshake with the bytes in conn->in. */
void gw_secure_handshake(struct gw_conn *conn);
/* Decrypts n bytes from the socket, after the handshake. */
void gw_secure_take(struct gw_conn *conn, const char *bytes, size_t n);
void gw_secure_send(struct gw_conn *conn, const uv_buf_t *parts, unsigned n);
/* Announces the end of the stream, unless earlier bytes are still unsent. */
void gw_secure_end(struct gw_conn *conn);

/* ---- exchange.c ---- */

/* Writes random digits. Returns their number. */
uint64_t gw_request_id(char id[GW_REQUEST_ID_BYTES]);
/* Returns NULL without memory. Copies the parts of head that it keeps. */
struct gw_exchange *gw_exchange_create(struct gw_conn *conn, const struct gw_head *head);
/* Ends the count of its arriving bytes: the body is complete, or will never be. */
void gw_exchange_arrived(struct gw_exchange *exchange);
/* Ends the exchange for its handler: frees what the answer does not need. */
void gw_exchange_retire(struct gw_exchange *exchange);

/* ---- local.c ---- */

enum { GW_LOCAL_ANSWER_MAX_BYTES = 64 << 20 };

/* Lets the sweep attend to it: resume it, or pass its answer on. */
void gw_local_due(struct gw_exchange *exchange);
void gw_local_attend(struct gw_local *local);
/* Takes the answer's end: n more bytes, or an error in place of all. */
void gw_local_answer(struct gw_exchange *exchange, int status, const char *body, size_t n);
void gw_local_refuse(struct gw_exchange *exchange, const struct gw_error *error);

/* ---- access_line.c ---- */

/* Logs the answered exchange, if there is one, and frees it. cut_reason: why the answer was not
 * sent completely; NULL: it was. */
void gw_conn_log_answered(struct gw_conn *conn, const char *cut_reason);
/* Logs the answer to bytes that are not a request. */
void gw_access_line_refused(const struct gw_conn *conn, const char *id,
                            const struct gw_error *error);

/* ---- response.c ---- */

/* Sends a complete error answer, with the headers that on_head added. */
void gw_conn_send_error(struct gw_conn *conn, const struct gw_error *refusal);
/* Tells the handler that the client reads again, after the queue became empty. */
void gw_exchange_drained(struct gw_exchange *exchange);

#endif
