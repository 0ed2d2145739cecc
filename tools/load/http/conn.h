/* Connections to one server: a pool that hands out idle ones and makes new ones.
 *
 *     ld_pool_take --> (connecting) --> in use --> ld_conn_give back --> idle --> in use ...
 *                                          +-----> ld_conn_drop --> closing
 *
 * Ownership: the pool owns connections; a user has one from take to give, drop or `closed`. After
 * these the connection calls that user no more.
 * Threading: the loop's.
 * Errors:    a connection that fails says so once, through `closed`.
 */
#ifndef BATON_TOOLS_LOAD_HTTP_CONN_H
#define BATON_TOOLS_LOAD_HTTP_CONN_H

#include <stdbool.h>
#include <sys/socket.h>
#include <uv.h>

#include "common/base/buf.h"
#include "common/base/list.h"

enum { LD_READ_BYTES = 64 << 10 };

/* What a connection tells its user; every one of them may give or drop the connection. */
struct ld_conn_user {
    /* Read at now_ns. */
    void (*bytes)(void *arg, const char *bytes, size_t n, int64_t now_ns);
    /* It is gone. reason: "connect: ..." and the like; NULL when the server ended it in order. */
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
    struct baton_buf out;   /* what is being written, or waits for the connection */
    bool connected, reused; /* reused: it carried a request before this one */
    bool closing, paused;
    double bytes_per_s; /* to read, 0: as fast as they come */
    double allowance;   /* bytes that may be read now */
};

BATON_LIST(ld_conn_list, struct ld_conn, node)

struct ld_pool {
    uv_loop_t *loop;
    struct sockaddr_storage address;
    bool keep_alive;
    struct ld_conn_list idle, busy;
    uv_timer_t throttle; /* gives slow readers their allowance; runs while there are any */
    int n_slow;
    int64_t throttled_ns;
    size_t n_open, n_connects, max_open;
    char read_buffer[LD_READ_BYTES];
};

void ld_pool_init(struct ld_pool *pool, uv_loop_t *loop, const struct sockaddr_storage *address,
                  bool keep_alive);
/* Closes what is idle and the timer; the loop must run on until all is closed. No connection may be
 * in use. */
void ld_pool_close(struct ld_pool *pool);

/* An idle connection or a new one (fresh: always a new one). bytes_per_s > 0: reads no faster, on a
 * connection of its own with a small buffer. NULL when memory or descriptors are out. */
struct ld_conn *ld_pool_take(struct ld_pool *pool, bool fresh, double bytes_per_s,
                             const struct ld_conn_user *user, void *arg);

/* Writes the bytes, as soon as the connection is there; once per take. */
void ld_conn_write(struct ld_conn *conn, const char *bytes, size_t n);
/* The answer came whole: another user may have the connection. */
void ld_conn_give(struct ld_conn *conn);
/* Closes the connection now, even with an answer under way. */
void ld_conn_drop(struct ld_conn *conn);

#endif
