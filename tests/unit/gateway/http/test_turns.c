/* The work of one turn of the loop for clients is bounded, and each client gets its share. */
#include "tests/support/test.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server_fixture.h"

enum { MAX_A_SLICE = 8, MAX_A_TURN_MS = 8, MAX_ACCEPTS = 100, N_AHEAD = 400 };

static const char show[] = "GET /show HTTP/1.1\r\nHost: a\r\n\r\n";
static const char slow[] = "GET /slow HTTP/1.1\r\nHost: a\r\n\r\n";

static struct fixture f;

SETUP(setup)
{
    fixture_init(&f);
    fixture_start(&f);
}

TEARDOWN(teardown)
{
    fixture_stop(&f);
}

/* n requests in one write, which the loop has not seen yet. */
static void send_many(int fd, const char *request, int n)
{
    struct baton_buf all;
    baton_buf_init(&all, 1 << 20);
    for (int i = 0; i < n; i++)
        baton_buf_puts(&all, request);
    assert_int_equal(send(fd, all.data, all.len, 0), all.len);
    baton_buf_fini(&all);
}

/* The most requests that one turn answered, until `total` were. */
static int most_in_a_turn(int total)
{
    int most = 0;
    for (int i = 0; i < 100000 && f.n_requests < total; i++) {
        int before = f.n_requests;
        (void)uv_run(&f.loop, UV_RUN_NOWAIT);
        if (f.n_requests - before > most)
            most = f.n_requests - before;
    }
    assert_int_equal(f.n_requests, total);
    return most;
}

TEST(a_turn_answers_a_few_requests_of_a_client_that_sends_hundreds)
{
    int fd = client_open(&f, 0);
    fixture_wait_connections(&f, 1);
    send_many(fd, show, N_AHEAD);
    int most = most_in_a_turn(N_AHEAD);
    assert_true(most >= 1 && most <= MAX_A_SLICE);
    assert_true(gw_http_stats(f.server)->n_slices_over >= N_AHEAD / MAX_A_SLICE - 1);
    assert_int_equal(gw_http_stats(f.server)->n_requests, N_AHEAD);
    close(fd);
}

TEST(expensive_requests_count_by_their_time)
{
    int fds[20];
    for (int i = 0; i < 20; i++)
        fds[i] = client_open(&f, 0);
    fixture_wait_connections(&f, 20);
    for (int i = 0; i < 20; i++)
        send_many(fds[i], slow, 4);
    assert_true(most_in_a_turn(20 * 4) * SLOW_MS <= MAX_A_TURN_MS);
    for (int i = 0; i < 20; i++)
        close(fds[i]);
}

TEST(a_client_with_one_request_does_not_wait_for_one_with_hundreds)
{
    int many = client_open(&f, 0), one = client_open(&f, 0);
    fixture_wait_connections(&f, 2);
    send_many(many, show, N_AHEAD);
    send_many(one, show, 1);
    client_read(&f, one, "GET|/show");
    assert_true(f.n_requests <= 10 * MAX_A_SLICE);
    (void)most_in_a_turn(N_AHEAD + 1);
    close(many);
    close(one);
}

TEST(exchanges_that_are_resumed_together_have_a_turn_each)
{
    enum { N_CLIENTS = 40 };
    int fds[N_CLIENTS], most = 0;
    struct gw_exchange *held[N_CLIENTS];
    for (int i = 0; i < N_CLIENTS; i++) {
        fds[i] = client_open(&f, 0);
        client_say(&f, fds[i], "GET /hold HTTP/1.1\r\nHost: a\r\n\r\n");
        fixture_wait_count(&f, &f.n_requests, i + 1);
        held[i] = f.held;
    }
    for (int i = 0; i < N_CLIENTS; i++)
        gw_exchange_resume(held[i]);
    close(fds[N_CLIENTS - 1]); /* asked whether it is there, and gets its answer too */
    for (int i = 0; i < 1000 && f.n_resumed + f.n_gone < N_CLIENTS; i++) {
        int before = f.n_resumed;
        (void)uv_run(&f.loop, UV_RUN_NOWAIT);
        most = f.n_resumed - before > most ? f.n_resumed - before : most;
    }
    assert_int_equal(most, 1);
    client_read(&f, fds[0], "resumed");
    for (int i = 0; i < N_CLIENTS - 1; i++)
        close(fds[i]);
    fixture_wait_connections(&f, 0);
}

TEST(a_turn_takes_a_bounded_number_of_connections)
{
    enum { N_CLIENTS = 500 };
    int fds[N_CLIENTS];
    size_t most = 0;
    for (int i = 0; i < N_CLIENTS; i++)
        fds[i] = client_open(&f, 0);
    for (int i = 0; i < 1000 && gw_http_n_connections(f.server) < N_CLIENTS; i++) {
        size_t before = gw_http_n_connections(f.server);
        (void)uv_run(&f.loop, UV_RUN_NOWAIT);
        size_t n = gw_http_n_connections(f.server) - before;
        most = n > most ? n : most;
    }
    assert_int_equal(gw_http_n_connections(f.server), N_CLIENTS);
    assert_true(most <= MAX_ACCEPTS);
    for (int i = 0; i < N_CLIENTS; i++)
        close(fds[i]);
    fixture_wait_connections(&f, 0);
}

EACH_TEST(setup, teardown)
