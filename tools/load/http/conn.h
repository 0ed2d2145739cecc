/* Connections to one server: a pool that hands out idle ones and opens new ones.
 *
 *     ld_pool_take --> (connecting) --> in use --> ld_conn_give back --> idle --> in use ...
 *                                          +-----> ld_conn_drop --> closing
 *
 * Ownership: the pool owns connections; a user holds one from take to give, drop or `closed`. After
 *            these the connection does not call that user again.
 * Threading: the loop's.
 * Errors:    a connection that fails reports it once, through `closed`.
 */
#ifndef BATON_TOOLS_LOAD_HTTP_CONN_H
#define BATON_TOOLS_LOAD_HTTP_CONN_H

#include <stdbool.h>
#include <sys/socket.h>
#include <uv.h>

#include "common/base/buf.h"
#include "common/base/list.h"

enum { LD_READ_BYTES = 64 << 10 };

/* Callbacks to the user, each of which may give or drop the connection. */
struct ld_conn_user {
    /* Bytes were read at now_ns. */
    void (*bytes)(void *arg, const char *bytes, size_t n, int64_t now_ns);
    /* The connection is closed. reason: "connect: ..." and the like; NULL when the server ended it
     * in order. */
    void (*closed)(void *arg, const char *reason);
};

struct ld_conn {
    uv_tcp_t tcp;
    uv_connect_t connect;
    uv_write_t write;
    struct ld_pool *pool;
    struct baton_node node; /* in the pool's idle or busy */
    const struct ld_conn_user *user;
    void *arg;
    struct baton_buf out;   /* bytes that are being written, or wait for the connection */
    bool connected, reused; /* reused: it carried an earlier request */
    bool closing, paused;
    double bytes_per_s; /* reading speed; 0: no limit */
    double allowance;   /* bytes that may be read now */
};

BATON_LIST(ld_conn_list, struct ld_conn, node)

struct ld_pool {
    uv_loop_t *loop;
    struct sockaddr_storage address;
    bool keep_alive;
    struct ld_conn_list idle, busy;
    uv_timer_t throttle; /* refills the allowance of slow readers; runs while there are any */
    int n_slow;
    int64_t throttled_ns;
    size_t n_open, n_connects, max_open;
    char read_buffer[LD_READ_BYTES];
};

void ld_pool_init(struct ld_pool *pool, uv_loop_t *loop, const struct sockaddr_storage *address,
                  bool keep_alive);
/* Closes idle connections and the timer; the loop must run until all are closed. No connection may
 * be in use. */
void ld_pool_close(struct ld_pool *pool);

/* Returns an idle connection or a new one (fresh: always a new one). With bytes_per_s > 0 it reads
 * no faster, on its own connection with a small buffer. NULL without memory or descriptors. */
struct ld_conn *ld_pool_take(struct ld_pool *pool, bool fresh, double bytes_per_s,
                             const struct ld_conn_user *user, void *arg);

/* Writes the bytes, as soon as the connection is open; once per take. */
void ld_conn_write(struct ld_conn *conn, const char *bytes, size_t n);
/* Returns the connection after a complete answer, for another user. */
void ld_conn_give(struct ld_conn *conn);
/* Closes the connection now, even during an answer. */
void ld_conn_drop(struct ld_conn *conn);

#endif
