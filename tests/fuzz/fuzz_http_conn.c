/* A real server on loopback is sent the input in two pieces, after which the client may close its
 * sending side. Whatever it is: the answer, if there
 * is one, is HTTP, every exchange ends, and the connection goes away. */
#include "tests/fuzz/fuzz.h"

#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "gateway/http/server.h"

enum { MAX_TURNS = 10000 };

static struct gw_http_server *server;

/* Answers by the first letter of the path: at once, as a stream, in a turn of its own (for /r), or
 * (for /h) not at all. */
static void on_request(void *arg, struct gw_exchange *exchange)
{
    size_t n;
    const char *body = gw_exchange_body(exchange, &n);
    char kind = gw_exchange_path(exchange)[1];
    (void)arg;
    if (kind == 's') {
        gw_exchange_stream_begin(exchange, 200, "text/plain", "");
        gw_exchange_stream_write(exchange, body, n);
        gw_exchange_stream_end(exchange);
    } else if (kind == 'r') {
        gw_exchange_resume(exchange);
    } else if (kind != 'h') {
        gw_exchange_respond(exchange, 200, "text/plain", "", body, n);
    }
}

static void on_resume(void *arg, struct gw_exchange *exchange)
{
    (void)arg;
    gw_exchange_respond(exchange, 200, "text/plain", "", "r", 1);
}

static void on_gone(void *arg, struct gw_exchange *exchange, const char *reason)
{
    (void)arg;
    (void)exchange;
    (void)reason;
}

static void on_full(void *arg, struct gw_exchange *exchange, bool full)
{
    (void)arg;
    (void)exchange;
    (void)full;
}

static void start(void)
{
    const struct gw_http_options options = {.host = "127.0.0.1",
                                            .backlog = 16,
                                            .max_connections = 16,
                                            .max_head_bytes = 1024,
                                            .max_body_bytes = 4096,
                                            .max_arriving_bytes = 1024,
                                            .head_timeout_ms = 60000,
                                            .body_timeout_ms = 60000,
                                            .idle_timeout_ms = 60000,
                                            .pause_bytes = 16 << 10,
                                            .cancel_bytes = 64 << 10,
                                            .on_request = on_request,
                                            .on_resume = on_resume,
                                            .on_gone = on_gone,
                                            .on_full = on_full};
    (void)signal(SIGPIPE, SIG_IGN);
    check(!gw_http_start(uv_default_loop(), &options, &server, NULL));
}

static int connect_client(void)
{
    static const struct linger reset = {.l_onoff = 1, .l_linger = 0};
    struct sockaddr_in address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || uv_ip4_addr("127.0.0.1", gw_http_port(server), &address) ||
        connect(fd, (struct sockaddr *)&address, sizeof address) ||
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset)) /* no port in TIME_WAIT */
        abort();
    return fd;
}

static void say(int fd, const uint8_t *bytes, size_t n)
{
    if (n)
        (void)!send(fd, bytes, n, MSG_DONTWAIT | MSG_NOSIGNAL);
    for (int i = 0; i < 3; i++)
        (void)uv_run(uv_default_loop(), UV_RUN_NOWAIT);
}

FUZZ(data, size)
{
    char answer[256];
    if (!server)
        start();
    if (!size)
        return;
    size_t cut = data[0] / 2 % size;
    int fd = connect_client();
    say(fd, data + 1, cut);
    say(fd, data + 1 + cut, size - 1 - cut);
    if (data[0] & 1) {
        (void)shutdown(fd, SHUT_WR);
        say(fd, NULL, 0);
    }
    ssize_t n = recv(fd, answer, sizeof answer, MSG_DONTWAIT);
    check(n <= 0 || (n >= 9 && memcmp(answer, "HTTP/1.1 ", 9) == 0));
    close(fd);
    for (int i = 0; gw_http_n_connections(server); i++) {
        (void)uv_run(uv_default_loop(), i < 16 ? UV_RUN_NOWAIT : UV_RUN_ONCE);
        check(i <= MAX_TURNS);
    }
    check(!gw_http_n_exchanges(server));
}
