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
}

TEARDOWN(stop)
{
    fixture_stop(&f);
    gw_tls_context_close(context);
}

static bool is_closed(int fd)
{
    char byte;
    return recv(fd, &byte, 1, MSG_DONTWAIT) == 0;
}

static int n_closed(const int *fds, int n)
{
    int count = 0;
    for (int i = 0; i < n; i++)
        count += is_closed(fds[i]);
    return count;
}

TEST(silent_handshakes_make_room_after_a_second_and_not_before)
{
    int fds[GW_MAX_HANDSHAKES + N_MORE];
    int64_t begin_ns = baton_now_ns();
    for (int i = 0; i < GW_MAX_HANDSHAKES + N_MORE; i++)
        fds[i] = client_open(&f, 0);
    fixture_wait_connections(&f, GW_MAX_HANDSHAKES);
    fixture_settle(&f);
    int n_early = n_closed(fds, GW_MAX_HANDSHAKES);
    assert_true(!n_early || baton_now_ns() - begin_ns >= GW_HANDSHAKE_MIN_MS * BATON_MS);
    for (int i = 0; i < 2 * N_MORE && n_closed(fds, N_MORE) < N_MORE; i++)
        fixture_pass_ms(&f, GW_HANDSHAKE_MIN_MS);
    assert_int_equal(n_closed(fds, N_MORE), N_MORE); /* the oldest */
    assert_true(gw_http_n_connections(f.server) <= GW_MAX_HANDSHAKES);
    for (int i = 0; i < GW_MAX_HANDSHAKES + N_MORE; i++)
        close(fds[i]);
}

TEST(a_handshake_that_never_ends_has_the_time_of_a_head)
{
    int fd = client_open(&f, 0);
    fixture_wait_connections(&f, 1);
    fixture_pass_ms(&f, 3600 * 1000);
    fixture_wait_connections(&f, 0);
    assert_true(is_closed(fd));
    close(fd);
}

EACH_TEST(start, stop)
