#include "tests/support/test.h"

#include <sys/socket.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "gateway/http/conn.h"
#include "gateway/http/tls.h"
#include "server_fixture.h"
#include "tests/support/tls_peer.h"

enum { N_MORE = 20 };

static struct fixture f;
static struct gw_tls_context *context;

static char hello[4096];
static size_t n_hello;

/* The first message of a client. */
static void make_hello(void)
{
    SSL *client = tls_client(TLS1_3_VERSION);
    assert_true(SSL_do_handshake(client) < 0);
    n_hello = (size_t)BIO_read(SSL_get_wbio(client), hello, sizeof hello);
    SSL_free(client);
}

SETUP(start)
{
    struct tls_files files;
    struct baton_why why;
    tls_files_make(&files);
    assert_ok(gw_tls_context_open(files.certfile, files.keyfile, &context, &why));
    tls_files_remove(&files);
    fixture_init(&f);
    f.options.tls = context;
    f.options.head_timeout_ms = 3600 * 1000;
    fixture_start(&f);
    make_hello();
}

TEARDOWN(stop)
{
    fixture_stop(&f);
    gw_tls_context_close(context);
}

/* Drops what the server has said. */
static bool is_closed(int fd)
{
    char bytes[4096];
    ssize_t n = 1;
    while (n > 0)
        n = recv(fd, bytes, sizeof bytes, MSG_DONTWAIT);
    return n == 0;
}

static int n_closed(const int *fds, int n)
{
    int count = 0;
    for (int i = 0; i < n; i++)
        count += is_closed(fds[i]);
    return count;
}

/* A client that sends n bytes of its hello and is silent then. */
static int open_silent(const char *host, size_t n)
{
    int fd = client_open_from(&f, host);
    client_send(&f, fd, hello, n);
    return fd;
}

static size_t n_handshakes(void)
{
    return f.server->conns[GW_CONN_HANDSHAKE].n;
}

/* Runs the loop until n connections were accepted. On a slow machine some gave way meanwhile. */
static void wait_accepted(size_t n)
{
    int64_t end_ns = baton_now_ns() + WAIT_MS * BATON_MS;
    do {
        assert_true(baton_now_ns() < end_ns);
        fixture_settle(&f);
    } while (gw_http_n_connections(f.server) + gw_http_stats(f.server)->n_gave_way < n);
}

/* The server's part of the handshake has come. */
static void expect_answer(int fd)
{
    char byte;
    fixture_settle(&f);
    assert_int_equal(recv(fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK), 1);
}

TEST(silent_handshakes_make_room_for_their_address_after_a_second_and_not_before)
{
    int fds[GW_MAX_HANDSHAKES + N_MORE];
    int64_t begin_ns = baton_now_ns();
    for (int i = 0; i < GW_MAX_HANDSHAKES + N_MORE; i++)
        fds[i] = open_silent("127.0.0.1", n_hello);
    wait_accepted(GW_MAX_HANDSHAKES + N_MORE);
    fixture_settle(&f);
    int n_early = n_closed(fds, GW_MAX_HANDSHAKES);
    assert_true(!n_early || baton_now_ns() - begin_ns >= GW_HANDSHAKE_MIN_MS * BATON_MS);
    assert_int_equal(n_handshakes(), GW_MAX_HANDSHAKES);
    for (int i = 0; i < 2 * N_MORE && n_closed(fds, N_MORE) < N_MORE; i++)
        fixture_pass_ms(&f, GW_HANDSHAKE_MIN_MS);
    assert_int_equal(n_closed(fds, N_MORE), N_MORE); /* the oldest */
    assert_int_equal(n_handshakes(), GW_MAX_HANDSHAKES);
    for (int i = 0; i < GW_MAX_HANDSHAKES + N_MORE; i++)
        close(fds[i]);
}

TEST(silent_handshakes_make_room_for_another_address_at_once)
{
    int fds[GW_MAX_HANDSHAKES + N_MORE];
    for (int i = 0; i < GW_MAX_HANDSHAKES + N_MORE; i++)
        fds[i] = open_silent("127.0.0.1", n_hello);
    fixture_settle(&f);
    int other = open_silent("127.0.0.2", n_hello);
    expect_answer(other);
    assert_true(gw_http_stats(f.server)->n_gave_way >= 1);
    assert_false(is_closed(other));
    close(other);
    for (int i = 0; i < GW_MAX_HANDSHAKES + N_MORE; i++)
        close(fds[i]);
}

TEST(half_hellos_take_no_place_of_a_handshake)
{
    int fds[GW_MAX_HANDSHAKES + N_MORE];
    for (int i = 0; i < GW_MAX_HANDSHAKES + N_MORE; i++)
        fds[i] = open_silent("127.0.0.1", n_hello / 2);
    fixture_wait_connections(&f, GW_MAX_HANDSHAKES + N_MORE);
    fixture_settle(&f);
    assert_int_equal(n_handshakes(), 0);
    int whole = open_silent("127.0.0.1", n_hello);
    expect_answer(whole);
    client_send(&f, fds[0], hello + n_hello / 2, n_hello - n_hello / 2);
    expect_answer(fds[0]);
    assert_int_equal(n_closed(fds, GW_MAX_HANDSHAKES + N_MORE), 0);
    close(whole);
    for (int i = 0; i < GW_MAX_HANDSHAKES + N_MORE; i++)
        close(fds[i]);
}

TEST(a_hello_that_never_ends_has_the_time_of_a_head)
{
    int fd = open_silent("127.0.0.1", n_hello / 2);
    fixture_wait_connections(&f, 1);
    fixture_pass_ms(&f, 3600 * 1000);
    fixture_wait_connections(&f, 0);
    assert_true(is_closed(fd));
    close(fd);
}

TEST(a_handshake_that_never_ends_has_the_time_of_a_head)
{
    int fd = open_silent("127.0.0.1", n_hello);
    fixture_settle(&f);
    assert_int_equal(n_handshakes(), 1);
    fixture_pass_ms(&f, 3600 * 1000);
    fixture_wait_connections(&f, 0);
    assert_true(is_closed(fd));
    close(fd);
}

EACH_TEST(start, stop)
