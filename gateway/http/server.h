/* The HTTP/1.1 server: connections on a libuv loop, one exchange (request and response) at a time.
 *
 *     connection:  HEAD --> BODY --> HANDLED (exchange with the handler) --> HEAD (keep-alive)
 *                                                                       \--> closing
 *
 * It reads on while a response is open, so it notices at once when a client leaves. It answers
 * requests that are not strict HTTP/1.1 (gateway/http/reader.h) itself, in the API's error form;
 * they never reach the handler.
 *
 * Ownership: an exchange belongs to the server; the handler may use it until it ends it (respond or
 *            stream_end) or until on_gone was called for it, whichever is first.
 * Threading: everything on the loop thread. on_request and on_gone are called by the loop and by
 *            gw_http_stop, never from inside a gw_exchange_ call; on_full also from stream_write.
 * Errors:    start: IO with address and reason. Writes to a client that left are dropped silently;
 *            on_gone reports it to the handler.
 */
#ifndef BATON_GATEWAY_HTTP_SERVER_H
#define BATON_GATEWAY_HTTP_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "common/base/error.h"
#include "common/base/request_tag.h"
#include "gateway/http/account.h"
#include "gateway/http/status.h"
#include "gateway/http/trace_context.h"

struct gw_http_server;
struct gw_exchange;
struct gw_tls_context;

enum {
    GW_REQUEST_ID_BYTES = BATON_CLIENT_ID_BYTES + 1,
    GW_KEY_NAME_BYTES = 65,
    GW_ADDED_HEADERS_MAX_BYTES = 2048 /* of one response */
};

/* Counters since the start. */
struct gw_http_stats {
    uint64_t n_requests;    /* complete ones, given to the handler */
    uint64_t n_slices_over; /* times that a client's next request had to wait for its turn */
    uint64_t n_handshakes, n_handshakes_failed; /* of TLS */
    uint64_t n_gave_way;            /* unfinished connections and handshakes closed for others */
    uint64_t n_read_pauses;         /* times that a client was too far ahead to be read */
    uint64_t n_bodies_dropped;      /* incomplete ones, to stay within max_arriving_bytes */
    uint64_t n_connections_limited; /* refused, because their address had too many */
    uint64_t n_limited[GW_N_LIMITED][GW_N_LIMITS]; /* requests refused by a rate limit */
};

struct gw_http_options {
    const char *host; /* numeric address to bind */
    int port;         /* 0: any */
    int backlog;
    struct gw_tls_context *tls;         /* borrowed, for every connection; NULL: plain HTTP */
    size_t max_connections;             /* over it an unfinished one is closed; without any, 503 */
    size_t max_connections_per_address; /* 0: unlimited; over it 429 */
    struct gw_limits address_limits;
    size_t max_head_bytes;     /* 16 KiB -> 431 */
    size_t max_body_bytes;     /* -> 413 */
    size_t max_arriving_bytes; /* of all incomplete bodies -> 503 for some; 0: unlimited */
    int64_t head_timeout_ms;   /* from the first byte of a request to its empty line -> 408 */
    int64_t body_timeout_ms;   /* of the body -> 408 */
    int64_t idle_timeout_ms;   /* keep-alive without a request: closed */
    int64_t stall_timeout_ms;  /* client acknowledges nothing of its response: closed; 0: never */
    size_t pause_bytes;        /* output queued at which on_full is called */
    size_t cancel_bytes;       /* output queued at which the client is cut off, besides what
                                 was written last; a plain respond() is exempt, it is bounded
                                 by its own size */
    bool logs_routine;         /* access lines also of probes, scrapes and pages */
    bool traces;               /* a request without a traceparent begins a trace */
    /* A head was read, its body not yet; may be NULL. It prepares any answer, the handler's or a
     * refusal of the body: only gw_exchange_add_header, gw_exchange_set_error_writer and readers of
     * the head may be called. Returns why the request is refused before its body is read, which
     * closes the connection, or NULL. */
    const struct gw_error *(*on_head)(void *arg, struct gw_exchange *exchange);
    /* A complete request was read. The handler answers now or later. */
    void (*on_request)(void *arg, struct gw_exchange *exchange);
    /* Continues an exchange after gw_exchange_resume; may be NULL if that is not called. */
    void (*on_resume)(void *arg, struct gw_exchange *exchange);
    /* The client left, or was cut off, before the response ended. The exchange is freed on
     * return. */
    void (*on_gone)(void *arg, struct gw_exchange *exchange, const char *reason);
    /* The answer was sent, or its client left; may be NULL. Only readers of the exchange may be
     * called. */
    void (*on_answered)(void *arg, const struct gw_exchange *exchange);
    /* A stream's queue passed pause_bytes (full), or became empty after that (not full). */
    void (*on_full)(void *arg, struct gw_exchange *exchange, bool full);
    void *arg;
};

/* Starts a server. The options are copied; the objects they point to are used during the call, arg
 * always. After a failure the loop has handles to close: run it once more, or leave the process.
 * The process must ignore SIGPIPE, which libuv's writes to a closed connection raise. */
enum baton_err gw_http_start(uv_loop_t *loop, const struct gw_http_options *options,
                             struct gw_http_server **server,
                             struct baton_why *why) BATON_MUST_CHECK;
/* Uses this context for new connections. */
void gw_http_set_tls(struct gw_http_server *server, struct gw_tls_context *tls);
/* Returns the port of the listener. */
int gw_http_port(const struct gw_http_server *server);
/* Stops accepting; closes idle connections, and sends Connection: close in further responses. */
void gw_http_drain(struct gw_http_server *server);
/* Returns the number of exchanges with the handler. */
size_t gw_http_n_exchanges(const struct gw_http_server *server);
/* Returns whether a client waits for an answer or has not read one to its end. A drain lasts until
 * none does: a container that ends takes along what its kernel has not sent yet. */
bool gw_http_is_busy(const struct gw_http_server *server);
/* Between the two calls, the bytes for a connection are collected and written at once, for a
 * handler that writes many small events at one moment. flush may call on_full. */
void gw_http_gather(struct gw_http_server *server);
void gw_http_flush(struct gw_http_server *server);
/* Returns the number of open connections, including idle ones. */
size_t gw_http_n_connections(const struct gw_http_server *server);
const struct gw_http_stats *gw_http_stats(const struct gw_http_server *server);
/* Closes everything and reports open exchanges as gone; the loop's last close callback frees the
 * server and calls closed(arg), which may be NULL. */
void gw_http_stop(struct gw_http_server *server, void (*closed)(void *arg), void *arg);

/* ---- the request: borrowed views that live as long as the exchange ---- */
const char *gw_exchange_method(const struct gw_exchange *exchange); /* "POST" */
/* Put a prefix before the path, of at most GW_PATH_ROOM_BYTES together, or drop its first n bytes:
 * for on_head, which may know the path under another name. */
enum { GW_PATH_ROOM_BYTES = 4 };
void gw_exchange_prefix_path(struct gw_exchange *exchange, const char *prefix);
void gw_exchange_cut_path(struct gw_exchange *exchange, size_t n);
const char *gw_exchange_path(const struct gw_exchange *exchange);  /* without the query */
const char *gw_exchange_query(const struct gw_exchange *exchange); /* after '?', "" without one */
/* Returns a header's value by lower-case name, "" when it is absent. */
const char *gw_exchange_header(const struct gw_exchange *exchange, const char *name);
/* Returns n bytes, followed by a zero. Valid until on_request returns. */
const char *gw_exchange_body(const struct gw_exchange *exchange, size_t *n);
/* Returns the same bytes, which the caller owns and frees with free(); the body is then empty. NULL
 * if it was. */
char *gw_exchange_take_body(struct gw_exchange *exchange);
/* Returns "127.0.0.1:51234", "[::1]:51234". */
const char *gw_exchange_peer(const struct gw_exchange *exchange);
/* Returns the client's X-Request-Id if it is valid (baton_is_client_id), otherwise 16 random
 * hexadecimal digits. Every response has it as x-request-id, even the refusal of a request that
 * could not be read. */
const char *gw_exchange_id(const struct gw_exchange *exchange);
/* Returns the number of those digits; 0 for a client's id. */
uint64_t gw_exchange_number(const struct gw_exchange *exchange);
/* Returns the trace of the client's traceparent. */
const struct gw_trace *gw_exchange_trace(const struct gw_exchange *exchange);
/* Returns when the last byte of the request was read, by baton_now_ns's clock. */
int64_t gw_exchange_arrived_ns(const struct gw_exchange *exchange);
/* Schedules on_resume in a turn of the loop in which no other exchange resumes, so that many
 * together do not block the loop. */
void gw_exchange_resume(struct gw_exchange *exchange);
/* Stores one pointer for the handler. */
void gw_exchange_set_data(struct gw_exchange *exchange, void *data);
void *gw_exchange_data(const struct gw_exchange *exchange);

/* Facts of the handler about the exchange, for its line in the log. */
struct gw_exchange_note {
    char key[GW_KEY_NAME_BYTES]; /* name of the API key; "": none */
    /* borrowed, and valid for the process's life; NULL: none requested */
    const char *model;
    uint64_t prompt_tokens, output_tokens;
    int64_t first_ns;       /* of the first token; 0: none */
    size_t path_show_bytes; /* of the path, the rest of which is a secret; 0: all of it */
};
/* Returns the note, for the handler to fill in. */
struct gw_exchange_note *gw_exchange_note(struct gw_exchange *exchange);
const struct gw_exchange_note *gw_exchange_note_of(const struct gw_exchange *exchange);
/* Writes the path as logs may show it: without the query, and without the rest of a secret. */
enum { GW_SHOWN_PATH_BYTES = 256 };
void gw_exchange_show_path(const struct gw_exchange *exchange, char text[GW_SHOWN_PATH_BYTES]);
/* Returns the answer's status; 0: not begun. */
int gw_exchange_status(const struct gw_exchange *exchange);

/* ---- the client's limits, besides those of its address ---- */
/* Charges the exchange's bytes and tokens, and this request, to the account as well. False when the
 * account exceeds a rate: the exchange was answered with 429 and is gone. NULL is no account. */
bool gw_exchange_take_account(struct gw_exchange *exchange, struct gw_account *account);
/* True when the client may generate tokens now. False: the exchange was answered with 429 and is
 * gone. */
bool gw_exchange_may_generate(struct gw_exchange *exchange);
/* Returns the accounts that pay for its tokens, which may outlive it. Release them with
 * gw_payers_put. */
struct gw_payers gw_exchange_payers(const struct gw_exchange *exchange);

/* ---- the response ---- */
/* Adds a header to any answer of the exchange. INVALID: the name is not a token or the value
 * contains a control character, which could begin another line. LIMIT: more than
 * GW_ADDED_HEADERS_MAX_BYTES together. CLOSED: the head of a stream was sent. NO_MEMORY. */
enum baton_err gw_exchange_add_header(struct gw_exchange *exchange, const char *name,
                                      const char *value) BATON_MUST_CHECK;
/* Sends a complete response (HEAD without body) and ends the exchange. headers: "Retry-After:
 * 3\r\n..." or "". */
void gw_exchange_respond(struct gw_exchange *exchange, int status, const char *content_type,
                         const char *headers, const char *body, size_t n);
/* Answers with the error object and its headers, and ends the exchange. */
void gw_exchange_respond_error(struct gw_exchange *exchange, const struct gw_error *error);
/* Sets the form of the error object, if it differs from gateway/http/status.h. */
void gw_exchange_set_error_writer(struct gw_exchange *exchange, gw_error_writer writer);
gw_error_writer gw_exchange_error_writer(const struct gw_exchange *exchange);
/* Sets the status of errors that are a 400 elsewhere, except for a body that is not JSON. */
void gw_exchange_set_bad_request_status(struct gw_exchange *exchange, int status);
/* Begins a response of unknown length: chunked on 1.1, close-delimited on 1.0. TCP_NODELAY is
 * on. */
void gw_exchange_stream_begin(struct gw_exchange *exchange, int status, const char *content_type,
                              const char *headers);
/* Writes n bytes; 0 writes nothing. May call on_full. */
void gw_exchange_stream_write(struct gw_exchange *exchange, const char *bytes, size_t n);
/* Ends the response and the exchange. */
void gw_exchange_stream_end(struct gw_exchange *exchange);
/* Returns the bytes that were not sent to the client yet or that it has not acknowledged: all that
 * would be lost if it left now. */
size_t gw_exchange_untaken_bytes(const struct gw_exchange *exchange);
/* Cuts the client off in the next turn of the loop, so that it sees an incomplete answer. on_gone
 * is called then. */
void gw_exchange_cut(struct gw_exchange *exchange, const char *reason);

#endif
