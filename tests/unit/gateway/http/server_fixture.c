#include "tests/support/test.h"

#include "server_fixture.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "tests/support/skip_time.h"

enum { MAX_REPLY_BYTES = 64 << 20 };

static void show(struct gw_exchange *exchange)
{
    char text[512];
    int n = snprintf(text, sizeof text, "%s|%s|%s|%s", gw_exchange_method(exchange),
                     gw_exchange_path(exchange), gw_exchange_query(exchange),
                     gw_exchange_header(exchange, "x-show"));
    gw_exchange_respond(exchange, 200, "text/plain", "X-More: yes\r\n", text, (size_t)n);
}

static void on_request(void *arg, struct gw_exchange *exchange)
{
    struct fixture *f = arg;
    size_t n;
    const char *path = gw_exchange_path(exchange);
    const char *body = gw_exchange_body(exchange, &n);
    f->n_requests++;
    gw_exchange_set_data(exchange, f);
    if (!strcmp(path, "/slow"))
        skip_time_ms(SLOW_MS);
    if (!strcmp(path, "/echo") || !strcmp(path, "/slow")) {
        gw_exchange_respond(exchange, 200, "text/plain", "", body, n);
    } else if (!strncmp(path, "/show", 5)) {
        show(exchange);
    } else {
        if (!strcmp(path, "/stream"))
            gw_exchange_stream_begin(exchange, 200, "text/event-stream", "");
        f->held = exchange;
    }
}

static void on_resume(void *arg, struct gw_exchange *exchange)
{
    struct fixture *f = arg;
    f->n_resumed++;
    skip_time_ms(SLOW_MS);
    gw_exchange_respond(exchange, 200, "text/plain", "", "resumed", 7);
}

static void on_gone(void *arg, struct gw_exchange *exchange, const char *reason)
{
    struct fixture *f = arg;
    assert_ptr_equal(gw_exchange_data(exchange), f);
    f->n_gone++;
    (void)snprintf(f->gone_reason, sizeof f->gone_reason, "%s", reason);
    f->held = NULL;
}

static void on_full(void *arg, struct gw_exchange *exchange, bool full)
{
    struct fixture *f = arg;
    (void)exchange;
    if (full)
        f->n_full++;
    else
        f->n_empty++;
}

void fixture_init(struct fixture *f)
{
    *f = (struct fixture){.options = {.host = "127.0.0.1",
                                      .backlog = 1024,
                                      .max_connections = 2000,
                                      .max_head_bytes = 16 << 10,
                                      .max_body_bytes = 1 << 20,
                                      .head_timeout_ms = 10000,
                                      .body_timeout_ms = 10000,
                                      .idle_timeout_ms = 10000,
                                      .pause_bytes = 64 << 10,
                                      .cancel_bytes = 256 << 10,
                                      .on_request = on_request,
                                      .on_resume = on_resume,
                                      .on_gone = on_gone,
                                      .on_full = on_full}};
    (void)signal(SIGPIPE, SIG_IGN);
    f->options.arg = f;
    baton_buf_init(&f->reply, MAX_REPLY_BYTES);
    assert_int_equal(uv_loop_init(&f->loop), 0);
}

void fixture_start(struct fixture *f)
{
    struct baton_why why;
    assert_ok(gw_http_start(&f->loop, &f->options, &f->server, &why));
}

static void on_closed(void *arg)
{
    struct fixture *f = arg;
    f->closed = true;
}

void fixture_stop(struct fixture *f)
{
    gw_http_stop(f->server, on_closed, f);
    (void)uv_run(&f->loop, UV_RUN_DEFAULT);
    assert_true(f->closed);
    assert_int_equal(uv_loop_close(&f->loop), 0);
    baton_buf_fini(&f->reply);
}

/* ---- waiting ---- */

static void run_once(struct fixture *f)
{
    if (!uv_run(&f->loop, UV_RUN_NOWAIT))
        fail_msg("the loop has nothing to do");
}

/* Until the loop has something to do, or the client's socket (-1: none) is ready for events. */
static void await(struct fixture *f, int fd, short events, int64_t started_ns)
{
    struct pollfd polled[2] = {{.fd = uv_backend_fd(&f->loop), .events = POLLIN},
                               {.fd = fd, .events = events}};
    int timer_ms = uv_backend_timeout(&f->loop);
    if (baton_now_ns() - started_ns > WAIT_MS * BATON_MS)
        fail_msg("waited in vain; the reply so far is: %s", baton_buf_text(&f->reply));
    (void)poll(polled, 2, timer_ms < 0 || timer_ms > WAIT_MS ? WAIT_MS : timer_ms);
}

void fixture_wait_count(struct fixture *f, const int *count, int n)
{
    int64_t started_ns = baton_now_ns();
    for (run_once(f); *count < n; run_once(f))
        await(f, -1, 0, started_ns);
}

void fixture_wait_connections(struct fixture *f, size_t n)
{
    int64_t started_ns = baton_now_ns();
    for (run_once(f); gw_http_n_connections(f->server) != n; run_once(f))
        await(f, -1, 0, started_ns);
}

void fixture_settle(struct fixture *f)
{
    struct pollfd polled = {.fd = uv_backend_fd(&f->loop), .events = POLLIN};
    int n_turns = 0;
    do
        run_once(f);
    while (n_turns++ < 1000 && (!uv_backend_timeout(&f->loop) || poll(&polled, 1, 0) > 0));
}

void fixture_pass_ms(struct fixture *f, int64_t ms)
{
    fixture_settle(f);
    skip_time_ms(ms);
    fixture_settle(f);
}

/* ---- clients ---- */

static int open_socket(void)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    return fd;
}

static void connect_to(struct fixture *f, int fd)
{
    struct sockaddr_in address;
    assert_int_equal(uv_ip4_addr("127.0.0.1", gw_http_port(f->server), &address), 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
}

int client_open(struct fixture *f, int receive_bytes)
{
    int fd = open_socket();
    if (receive_bytes)
        assert_int_equal(
            setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &receive_bytes, sizeof receive_bytes), 0);
    connect_to(f, fd);
    return fd;
}

int client_open_from(struct fixture *f, const char *host)
{
    struct sockaddr_in address;
    int fd = open_socket();
    assert_int_equal(uv_ip4_addr(host, 0, &address), 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    connect_to(f, fd);
    return fd;
}

void client_send(struct fixture *f, int fd, const char *bytes, size_t n)
{
    int64_t started_ns = baton_now_ns();
    while (n) {
        ssize_t sent = send(fd, bytes, n, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent < 0 && errno != EAGAIN)
            return; /* the server closed; what it said before is still to be read */
        if (sent > 0) {
            bytes += sent;
            n -= (size_t)sent;
        }
        run_once(f);
        if (n)
            await(f, fd, POLLOUT, started_ns);
    }
}

void client_say(struct fixture *f, int fd, const char *text)
{
    client_send(f, fd, text, strlen(text));
}

/* False at the server's end of the connection. */
static bool read_some(struct fixture *f, int fd)
{
    char bytes[16384];
    ssize_t n = recv(fd, bytes, sizeof bytes, MSG_DONTWAIT);
    if (n > 0)
        baton_buf_append(&f->reply, bytes, (size_t)n);
    return n > 0 || (n < 0 && errno == EAGAIN);
}

const char *client_read(struct fixture *f, int fd, const char *needle)
{
    int64_t started_ns = baton_now_ns();
    baton_buf_reset(&f->reply);
    while (!strstr(baton_buf_text(&f->reply), needle)) {
        run_once(f);
        await(f, fd, POLLIN, started_ns);
        if (!read_some(f, fd))
            fail_msg("closed before \"%s\": %s", needle, baton_buf_text(&f->reply));
    }
    return baton_buf_text(&f->reply);
}

const char *client_read_all(struct fixture *f, int fd)
{
    int64_t started_ns = baton_now_ns();
    baton_buf_reset(&f->reply);
    while (read_some(f, fd)) {
        run_once(f);
        await(f, fd, POLLIN, started_ns);
    }
    return baton_buf_text(&f->reply);
}

void client_drop(struct fixture *f, int fd, const int *count, int n)
{
    int64_t started_ns = baton_now_ns();
    char bytes[8192];
    for (run_once(f); *count < n; run_once(f)) {
        if (recv(fd, bytes, sizeof bytes, MSG_DONTWAIT) <= 0)
            await(f, fd, POLLIN, started_ns);
    }
}

void client_reset(int fd)
{
    struct linger linger = {.l_onoff = 1, .l_linger = 0};
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger), 0);
    (void)close(fd);
}

void assert_holds(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("\"%s\" is not in: %s", part, text);
}

void assert_lacks(const char *text, const char *part)
{
    if (strstr(text, part))
        fail_msg("\"%s\" is in: %s", part, text);
}
