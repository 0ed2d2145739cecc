/* A real server on loopback and clients that are plain sockets, in one thread: every wait runs the
 * loop. The handler answers by path:
 *
 *     /echo     200 with the request's body
 *     /slow     the same, after SLOW_MS
 *     /show     method, path, query and the header x-show
 *     /hold     keeps the exchange in `held`
 *     /stream   keeps it too, after stream_begin
 *
 * Ownership: fixture_stop frees what fixture_start made; client sockets are closed by the test.
 * Threading: one thread.
 * Errors:    a failed assertion of cmocka.
 */
#ifndef BATON_TESTS_UNIT_GATEWAY_HTTP_SERVER_FIXTURE_H
#define BATON_TESTS_UNIT_GATEWAY_HTTP_SERVER_FIXTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "gateway/http/server.h"

enum { SLOW_MS = 2 };
enum { WAIT_MS = 60000 }; /* for what comes at once, or the program is wrong */

struct fixture {
    uv_loop_t loop;
    struct gw_http_options options; /* to be changed before fixture_start */
    struct gw_http_server *server;
    struct gw_exchange *held;
    int n_requests, n_resumed, n_gone, n_full, n_empty;
    bool closed;
    char gone_reason[64];
    struct baton_buf reply; /* what client_read read */
};

void fixture_init(struct fixture *f);
void fixture_start(struct fixture *f);
void fixture_stop(struct fixture *f);

/* Runs the loop until *count has reached n, or fails after WAIT_MS. */
void fixture_wait_count(struct fixture *f, const int *count, int n);
/* Runs the loop until the server holds n connections. */
void fixture_wait_connections(struct fixture *f, size_t n);
/* Runs the loop until nothing is left to do now. */
void fixture_settle(struct fixture *f);
/* The same before and after a time that passes at once (tests/support/skip_time.h). */
void fixture_pass_ms(struct fixture *f, int64_t ms);

/* receive_bytes: SO_RCVBUF, 0 for the default. */
int client_open(struct fixture *f, int receive_bytes);
/* The same from an address of 127.0.0.0/8. */
int client_open_from(struct fixture *f, const char *host);
void client_send(struct fixture *f, int fd, const char *bytes, size_t n);
void client_say(struct fixture *f, int fd, const char *text);
/* Reads into f->reply until it ends in or holds `needle`; returns the reply. */
const char *client_read(struct fixture *f, int fd, const char *needle);
/* Reads into f->reply until the server closes. */
const char *client_read_all(struct fixture *f, int fd);
/* Reads, and drops what is read, until *count has reached n. */
void client_drop(struct fixture *f, int fd, const int *count, int n);
/* Closes with a RST instead of a FIN. */
void client_reset(int fd);

/* What a reply has, and has not. */
void assert_holds(const char *text, const char *part);
void assert_lacks(const char *text, const char *part);

#endif
