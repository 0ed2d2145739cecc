#include "tests/support/test.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "gateway/http/conn.h"
#include "server_fixture.h"

enum { PIECE_BYTES = 4096 };

static struct fixture f;
static char piece[PIECE_BYTES];

SETUP(setup)
{
    fixture_init(&f);
    memset(piece, 'x', sizeof piece);
}

TEARDOWN(teardown)
{
    fixture_stop(&f);
}

/* A client whose request for path is with the handler. */
static int start_request(const char *path, int receive_bytes)
{
    struct baton_buf request;
    if (!f.server)
        fixture_start(&f);
    int fd = client_open(&f, receive_bytes);
    int n_before = f.n_requests;
    baton_buf_init(&request, 256);
    baton_buf_printf(&request, "GET %s HTTP/1.1\r\nHost: a\r\n\r\n", path);
    client_say(&f, fd, request.data);
    fixture_wait_count(&f, &f.n_requests, n_before + 1);
    baton_buf_fini(&request);
    return fd;
}

TEST(a_client_that_leaves_before_the_answer_is_seen_at_once)
{
    int fd = start_request("/hold", 0);
    assert_int_equal(gw_http_n_exchanges(f.server), 1);
    close(fd);
    fixture_wait_count(&f, &f.n_gone, 1);
    assert_string_equal(f.gone_reason, "client left");
    assert_int_equal(gw_http_n_exchanges(f.server), 0);
    fixture_wait_connections(&f, 0);
}

TEST(a_server_that_drains_is_busy_until_the_client_has_read_its_answer)
{
    int fd = start_request("/hold", 0);
    gw_http_drain(f.server);
    gw_exchange_respond(f.held, 200, "text/plain", "", "late", 4);
    client_read(&f, fd, "late");
    assert_int_equal(gw_http_n_exchanges(f.server), 0);
    assert_true(gw_http_is_busy(f.server));
    close(fd);
    fixture_wait_connections(&f, 0);
    assert_false(gw_http_is_busy(f.server));
}

TEST(a_client_that_leaves_in_mid_stream_is_seen_at_once)
{
    int fd = start_request("/stream", 0);
    gw_exchange_stream_write(f.held, "some", 4);
    client_read(&f, fd, "some");
    close(fd);
    fixture_wait_count(&f, &f.n_gone, 1);
    assert_string_equal(f.gone_reason, "client left");
}

TEST(a_client_that_closes_only_its_side_gets_its_answer)
{
    int fd = start_request("/hold", 0);
    assert_int_equal(shutdown(fd, SHUT_WR), 0);
    client_read(&f, fd, "HTTP/1.1 100 Continue\r\n\r\n"); /* asks whether it is there */
    fixture_pass_ms(&f, 1000);
    assert_int_equal(f.n_gone, 0);
    gw_exchange_respond(f.held, 200, "text/plain", "", "whole", 5);
    assert_non_null(strstr(client_read_all(&f, fd), "\r\n\r\nwhole"));
    assert_int_equal(f.n_gone, 0);
    close(fd);
    fixture_wait_connections(&f, 0);
}

TEST(a_client_that_closes_only_its_side_gets_its_stream)
{
    int fd = start_request("/stream", 0);
    gw_exchange_stream_write(f.held, "some", 4);
    assert_int_equal(shutdown(fd, SHUT_WR), 0);
    fixture_pass_ms(&f, 1000);
    gw_exchange_stream_write(f.held, "more", 4);
    gw_exchange_stream_end(f.held);
    const char *reply = client_read_all(&f, fd);
    assert_non_null(strstr(reply, "4\r\nsome\r\n04\r\nmore\r\n0\r\n\r\n"));
    assert_null(strstr(reply, "100 Continue"));
    assert_int_equal(f.n_gone, 0);
    close(fd);
}

TEST(requests_sent_before_the_client_closed_its_side_are_all_answered)
{
    static const char text[] = "GET /show/1 HTTP/1.1\r\nHost: a\r\n\r\n"
                               "GET /hold HTTP/1.1\r\nHost: a\r\n\r\n"
                               "GET /show/2 HTTP/1.1\r\nHost: a\r\n\r\n";
    fixture_start(&f);
    int fd = client_open(&f, 0);
    client_say(&f, fd, text);
    assert_int_equal(shutdown(fd, SHUT_WR), 0);
    fixture_wait_count(&f, &f.n_requests, 2);
    fixture_settle(&f);
    gw_exchange_respond(f.held, 200, "text/plain", "", "held", 4);
    const char *reply = client_read_all(&f, fd);
    assert_non_null(strstr(reply, "|/show/1|"));
    assert_non_null(strstr(strstr(reply, "held"), "|/show/2|"));
    assert_int_equal(f.n_gone, 0);
    close(fd);
}

TEST(a_1_0_client_that_closes_its_side_early_counts_as_gone)
{
    fixture_start(&f);
    int fd = client_open(&f, 0);
    client_say(&f, fd, "GET /hold HTTP/1.0\r\n\r\n");
    assert_int_equal(shutdown(fd, SHUT_WR), 0);
    fixture_wait_count(&f, &f.n_gone, 1);
    close(fd);
}

TEST(a_connection_that_is_reset_is_seen_at_once)
{
    int fd = start_request("/stream", 0);
    client_reset(fd);
    fixture_wait_count(&f, &f.n_gone, 1);
    assert_string_equal(f.gone_reason, "client left");
}

TEST(writing_to_a_client_that_left_is_harmless)
{
    int fd = start_request("/stream", 0);
    client_reset(fd);
    for (int i = 0; i < 100; i++)
        gw_exchange_stream_write(f.held, piece, sizeof piece);
    assert_int_equal(f.n_gone, 0); /* never from inside the handler's own call */
    fixture_wait_count(&f, &f.n_gone, 1);
}

TEST(an_answer_to_a_client_that_left_is_harmless)
{
    int fd = start_request("/hold", 0);
    client_reset(fd);
    gw_exchange_respond(f.held, 200, "text/plain", "", piece, sizeof piece);
    fixture_wait_connections(&f, 0);
    assert_int_equal(f.n_gone, 0);
}

/* Writes until on_full was called; returns the bytes written. */
static size_t fill(void)
{
    size_t written = 0;
    for (; !f.n_full; written += sizeof piece)
        gw_exchange_stream_write(f.held, piece, sizeof piece);
    return written;
}

TEST(pieces_written_while_the_server_gathers_leave_as_one)
{
    int fd = start_request("/stream", 0);
    char bytes[256];
    client_read(&f, fd, "\r\n\r\n");
    gw_http_gather(f.server);
    for (int i = 0; i < 3; i++)
        gw_exchange_stream_write(f.held, "abc", 3);
    fixture_settle(&f);
    assert_int_equal(recv(fd, bytes, sizeof bytes, MSG_DONTWAIT), -1);
    assert_true(gw_conn_queued_bytes(f.held->conn) > 0);
    gw_http_flush(f.server);
    assert_int_equal(gw_conn_queued_bytes(f.held->conn), 0);
    ssize_t n = recv(fd, bytes, sizeof bytes, 0);
    assert_int_equal(n, 3 * strlen("3\r\nabc\r\n"));
    assert_memory_equal(bytes, "3\r\nabc\r\n3\r\nabc\r\n3\r\nabc\r\n", (size_t)n);
    gw_http_gather(f.server);
    gw_exchange_stream_end(f.held);
    gw_http_flush(f.server);
    client_read(&f, fd, "0\r\n\r\n");
    close(fd);
    assert_int_equal(f.n_gone, 0);
}

TEST(a_full_gathered_stream_is_told_when_it_is_empty)
{
    int fd = start_request("/stream", 0);
    gw_http_gather(f.server);
    (void)fill();
    gw_http_flush(f.server);
    client_read(&f, fd, "\r\n\r\n");
    client_drop(&f, fd, &f.n_empty, 1);
    assert_int_equal(f.n_full, 1);
    assert_int_equal(f.n_empty, 1);
    client_reset(fd);
    fixture_wait_count(&f, &f.n_gone, 1);
}

TEST(a_client_that_left_while_the_server_gathered_is_noticed)
{
    int fd = start_request("/stream", 0);
    gw_http_gather(f.server);
    gw_exchange_stream_write(f.held, piece, sizeof piece);
    client_reset(fd);
    gw_http_flush(f.server);
    assert_int_equal(f.n_gone, 0); /* never from inside the handler's own call */
    fixture_wait_count(&f, &f.n_gone, 1);
}

TEST(a_slow_reader_pauses_its_producer_until_it_has_caught_up)
{
    int fd = start_request("/stream", 4096);
    size_t written = fill();
    assert_true(gw_conn_queued_bytes(f.held->conn) >= f.options.pause_bytes);
    assert_int_equal(f.n_empty, 0);
    client_drop(&f, fd, &f.n_empty, 1);
    assert_int_equal(f.n_empty, 1);
    assert_int_equal(f.n_full, 1);
    assert_int_equal(gw_conn_queued_bytes(f.held->conn), 0);
    assert_true(written > f.options.pause_bytes);
    gw_exchange_stream_end(f.held);
    close(fd);
    assert_int_equal(f.n_gone, 0);
}

TEST(a_reader_of_a_few_bytes_now_and_then_is_not_cut_off)
{
    f.options.stall_timeout_ms = 100000;
    int fd = start_request("/stream", 4096);
    char bytes[2048];
    (void)fill();
    for (int i = 0; i < 30; i++) {
        (void)!recv(fd, bytes, sizeof bytes, MSG_DONTWAIT);
        fixture_pass_ms(&f, 10000);
    }
    assert_int_equal(f.n_gone, 0);
    gw_exchange_stream_end(f.held);
    close(fd);
}

TEST(a_reader_that_stopped_is_cut_off_after_a_while)
{
    f.options.stall_timeout_ms = 100000;
    int fd = start_request("/stream", 4096);
    fixture_pass_ms(&f, 200000); /* nothing is written, nothing is to be read */
    assert_int_equal(f.n_gone, 0);
    (void)fill();
    for (int i = 0; i < 30 && !f.n_gone; i++)
        fixture_pass_ms(&f, 10000);
    assert_int_equal(f.n_gone, 1);
    assert_string_equal(f.gone_reason, "client reads nothing");
    fixture_wait_connections(&f, 0);
    close(fd);
}

TEST(a_reader_past_the_cap_is_cut_off)
{
    int fd = start_request("/stream", 4096);
    (void)fill();
    struct gw_exchange *exchange = f.held;
    for (size_t n = 0; n < 2 * f.options.cancel_bytes; n += sizeof piece)
        gw_exchange_stream_write(exchange, piece, sizeof piece);
    assert_true(gw_conn_queued_bytes(exchange->conn) <= f.options.cancel_bytes + 2 * sizeof piece);
    assert_int_equal(f.n_gone, 0);
    fixture_wait_count(&f, &f.n_gone, 1);
    assert_string_equal(f.gone_reason, "client reads too slowly");
    fixture_wait_connections(&f, 0);
    close(fd);
}

TEST(one_event_may_be_larger_than_the_cap)
{
    enum { BIG_BYTES = 1 << 20 };
    char *big = calloc(1, BIG_BYTES);
    int fd = start_request("/stream", 4096);
    assert_non_null(big);
    gw_exchange_stream_write(f.held, big, BIG_BYTES);
    assert_true(gw_conn_queued_bytes(f.held->conn) > f.options.cancel_bytes);
    fixture_settle(&f);
    assert_int_equal(f.n_gone, 0);
    gw_exchange_stream_write(f.held, piece, sizeof piece); /* it does not take what it was sent */
    fixture_wait_count(&f, &f.n_gone, 1);
    assert_string_equal(f.gone_reason, "client reads too slowly");
    free(big);
    close(fd);
}

TEST(a_plain_answer_may_be_larger_than_the_cap)
{
    enum { BIG_BYTES = 4 << 20 };
    char *big = malloc(BIG_BYTES);
    int fd = start_request("/hold", 4096);
    assert_non_null(big);
    memset(big, 'b', BIG_BYTES);
    gw_exchange_respond(f.held, 200, "text/plain", "", big, BIG_BYTES);
    const char *head = client_read(&f, fd, "\r\n\r\n");
    size_t got = f.reply.len - (size_t)(strstr(head, "\r\n\r\n") + 4 - head);
    int64_t started_ns = baton_now_ns();
    while (got < BIG_BYTES && baton_now_ns() - started_ns < WAIT_MS * BATON_MS) {
        ssize_t n = recv(fd, big, BIG_BYTES, MSG_DONTWAIT);
        got += n > 0 ? (size_t)n : 0;
        (void)uv_run(&f.loop, UV_RUN_NOWAIT);
    }
    assert_int_equal(got, BIG_BYTES);
    assert_int_equal(f.n_gone, 0);
    free(big);
    close(fd);
}

static const char show[] = "GET /show HTTP/1.1\r\nHost: a\r\n\r\n";

/* Sends requests until neither the loop nor the kernel takes more; returns how many are whole. */
static size_t send_ahead(int fd)
{
    char text[50 * sizeof show] = "";
    size_t n_text = 50 * strlen(show), n_sent = 0;
    for (int i = 0; i < 50; i++)
        memcpy(text + (size_t)i * strlen(show), show, strlen(show));
    for (int n_idle = 0; n_idle < 2;) {
        size_t at = n_sent % n_text;
        ssize_t n = send(fd, text + at, n_text - at, MSG_DONTWAIT);
        n_idle = n > 0 ? 0 : n_idle + 1;
        n_sent += n > 0 ? (size_t)n : 0;
        fixture_settle(&f);
    }
    return n_sent / strlen(show);
}

TEST(a_client_that_sends_too_much_ahead_waits_until_it_is_read_again)
{
    int fd = start_request("/hold", 0);
    size_t n_ahead = send_ahead(fd);
    assert_true(n_ahead > 500);
    assert_true(gw_http_stats(f.server)->n_read_pauses > 0);
    assert_int_equal(f.n_requests, 1);
    assert_int_equal(f.n_gone, 0);
    gw_exchange_respond(f.held, 200, "text/plain", "", "", 0);
    client_drop(&f, fd, &f.n_requests, 1 + (int)n_ahead);
    client_reset(fd);
    fixture_wait_connections(&f, 0);
}

TEST(a_client_that_sends_too_much_ahead_and_leaves_is_noticed)
{
    int fd = start_request("/hold", 0);
    (void)send_ahead(fd);
    client_reset(fd);
    fixture_wait_count(&f, &f.n_gone, 1);
    assert_string_equal(f.gone_reason, "client left");
}

static size_t count_descriptors(void)
{
    size_t n = 0;
    DIR *dir = opendir("/proc/self/fd");
    assert_non_null(dir);
    while (readdir(dir))
        n++;
    closedir(dir);
    return n;
}

TEST(a_thousand_connections_leave_no_descriptor_behind)
{
    fixture_start(&f);
    fixture_settle(&f);
    size_t before = count_descriptors();
    for (int i = 0; i < 1000; i++) {
        int fd = client_open(&f, 0);
        if (i % 4)
            client_say(&f, fd, i % 4 == 1 ? "GET /show HTTP/1.1\r\nHost: a\r\n\r\n" : "GET / HT");
        if (i % 4 == 3)
            client_reset(fd);
        else
            close(fd);
    }
    fixture_settle(&f);
    fixture_wait_connections(&f, 0);
    assert_int_equal(count_descriptors(), before);
    assert_int_equal(f.n_requests, 250);
}

TEST(over_the_limit_the_oldest_idle_connection_is_closed)
{
    f.options.max_connections = 2;
    int held = start_request("/hold", 0);
    int idle = client_open(&f, 0);
    fixture_wait_connections(&f, 2);
    int fd = client_open(&f, 0);
    client_say(&f, fd, "GET /show HTTP/1.1\r\nHost: a\r\n\r\n");
    client_read(&f, fd, "GET|/show");
    assert_string_equal(client_read_all(&f, idle), "");
    assert_int_equal(f.n_gone, 0);
    close(held);
    close(idle);
    close(fd);
}

static bool is_open(int fd)
{
    char byte;
    return recv(fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK) < 0;
}

/* A client that has sent part of a request, and the server has read it. */
static int start_part(const char *host, const char *text)
{
    int fd = client_open_from(&f, host);
    client_say(&f, fd, text);
    fixture_settle(&f);
    return fd;
}

static void expect_served(const char *host)
{
    int fd = client_open_from(&f, host);
    client_say(&f, fd, "GET /show HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    assert_non_null(strstr(client_read_all(&f, fd), "HTTP/1.1 200 "));
    close(fd);
}

TEST(over_the_limit_the_oldest_half_head_of_the_fullest_address_gives_way)
{
    enum { N = 8 };
    int fds[N];
    f.options.max_connections = N + 2;
    fixture_start(&f);
    int few[] = {start_part("127.0.0.2", "GET / HT"), start_part("127.0.0.2", "")};
    for (int i = 0; i < N; i++)
        fds[i] = start_part("127.0.0.1", "GET / HT");
    expect_served("127.0.0.3");
    fixture_wait_connections(&f, N + 1);
    assert_int_equal(gw_http_stats(f.server)->n_gave_way, 1);
    assert_false(is_open(fds[0]));
    for (int i = 1; i < N; i++)
        assert_true(is_open(fds[i]));
    assert_true(is_open(few[0]) && is_open(few[1]));
    close(few[0]);
    close(few[1]);
    for (int i = 0; i < N; i++)
        close(fds[i]);
}

TEST(half_heads_of_one_address_give_way_to_a_newcomer_of_the_same)
{
    f.options.max_connections = 2;
    fixture_start(&f);
    int older = start_part("127.0.0.1", "GET / HT"), newer = start_part("127.0.0.1", "GET / HT");
    expect_served("127.0.0.1");
    assert_false(is_open(older));
    assert_true(is_open(newer));
    close(older);
    close(newer);
}

TEST(half_bodies_give_way_after_half_heads)
{
    static const char half_body[] = "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nx";
    f.options.max_connections = 2;
    fixture_start(&f);
    int body = start_part("127.0.0.1", half_body), head = start_part("127.0.0.1", "GET / HT");
    expect_served("127.0.0.1");
    assert_false(is_open(head));
    assert_true(is_open(body));
    fixture_wait_connections(&f, 1);
    int other = start_part("127.0.0.1", half_body);
    expect_served("127.0.0.1");
    assert_false(is_open(body));
    assert_true(is_open(other));
    close(body);
    close(head);
    close(other);
}

TEST(over_the_limit_without_an_unfinished_connection_the_answer_is_503)
{
    f.options.max_connections = 1;
    int held = start_request("/hold", 0);
    int fd = client_open(&f, 0);
    assert_non_null(strstr(client_read_all(&f, fd), "HTTP/1.1 503 "));
    assert_int_equal(f.n_gone, 0);
    close(held);
    close(fd);
}

TEST(draining_ends_what_is_open_and_takes_nothing_new)
{
    int held = start_request("/hold", 0);
    int idle = client_open(&f, 0);
    fixture_wait_connections(&f, 2);
    gw_http_drain(f.server);
    assert_string_equal(client_read_all(&f, idle), "");
    gw_exchange_respond(f.held, 200, "text/plain", "", "last", 4);
    assert_non_null(strstr(client_read_all(&f, held), "Connection: close\r\n"));
    close(held);
    close(idle);
    fixture_wait_connections(&f, 0);
    assert_int_equal(f.n_gone, 0);
}

TEST(stopping_tells_the_handler_of_every_open_exchange)
{
    int held = start_request("/hold", 0);
    int stream = start_request("/stream", 0);
    gw_http_stop(f.server, NULL, NULL);
    assert_int_equal(f.n_gone, 2);
    assert_string_equal(f.gone_reason, "the server stops");
    close(held);
    close(stream);
}

EACH_TEST(setup, teardown)
