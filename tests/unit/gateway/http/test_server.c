#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server_fixture.h"

static struct fixture f;
static int fd; /* of the client */

static void start(void)
{
    fixture_start(&f);
    fd = client_open(&f, 0);
}

/* For tests that call start themselves, with options of their own. */
SETUP(prepare)
{
    fixture_init(&f);
}

SETUP(setup)
{
    fixture_init(&f);
    start();
}

TEARDOWN(teardown)
{
    close(fd);
    fixture_stop(&f);
}

TEST(a_request_reaches_the_handler_in_parts)
{
    client_say(&f, fd, "GET /show/%7eme?a=%20b HTTP/1.1\r\nHost: a\r\nX-Show:  so \r\n\r\n");
    const char *reply = client_read(&f, fd, "|so");
    assert_holds(reply, "HTTP/1.1 200 OK\r\n");
    assert_holds(reply, "Content-Type: text/plain\r\n");
    assert_holds(reply, "X-More: yes\r\n");
    assert_holds(reply, "\r\n\r\nGET|/show/~me|a=%20b|so");
}

TEST(a_connection_serves_one_request_after_another)
{
    for (int i = 0; i < 10; i++) {
        client_say(&f, fd, "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello");
        const char *reply = client_read(&f, fd, "hello");
        assert_holds(reply, "Content-Length: 5\r\n");
        assert_lacks(reply, "Connection: close");
    }
    assert_int_equal(f.n_requests, 10);
    assert_int_equal(gw_http_n_connections(f.server), 1);
    assert_int_equal(gw_http_n_exchanges(f.server), 0);
}

TEST(a_request_that_trickles_in_is_served)
{
    const char *text = "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
                       "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";
    for (const char *p = text; *p; p++)
        client_send(&f, fd, p, 1);
    assert_holds(client_read(&f, fd, "abcde"), "200 OK");
}

TEST(pipelined_requests_are_answered_in_order)
{
    struct baton_buf requests;
    char last[32] = "";
    baton_buf_init(&requests, 1 << 20);
    for (int i = 0; i < 500; i++)
        baton_buf_printf(&requests,
                         "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n\r\n<%04d>", i);
    client_send(&f, fd, requests.data, requests.len);
    const char *at = client_read(&f, fd, "<0499>");
    for (int i = 0; i < 500; i++) {
        (void)snprintf(last, sizeof last, "<%04d>", i);
        at = strstr(at, last);
        assert_non_null(at);
    }
    baton_buf_fini(&requests);
}

TEST(a_request_sent_ahead_waits_for_the_response_before_it)
{
    client_say(&f, fd,
               "GET /hold HTTP/1.1\r\nHost: a\r\n\r\nGET /show HTTP/1.1\r\nHost: a\r\n\r\n");
    fixture_wait_count(&f, &f.n_requests, 1);
    fixture_settle(&f);
    assert_int_equal(f.n_requests, 1);
    gw_exchange_respond(f.held, 200, "text/plain", "", "first", 5);
    assert_int_equal(f.n_requests, 1); /* never from inside the handler's own call */
    assert_holds(client_read(&f, fd, "GET|/show"), "\r\n\r\nfirstHTTP/1.1 200");
}

TEST(a_1_0_request_is_answered_and_the_connection_closed)
{
    client_say(&f, fd, "GET /show HTTP/1.0\r\n\r\n");
    const char *reply = client_read_all(&f, fd);
    assert_holds(reply, "Connection: close\r\n");
    assert_holds(reply, "GET|/show||");
}

TEST(a_1_0_client_may_ask_to_keep_the_connection)
{
    for (int i = 0; i < 2; i++) {
        client_say(&f, fd, "GET /show HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
        assert_holds(client_read(&f, fd, "GET|/show||"), "Connection: keep-alive\r\n");
    }
}

TEST(a_client_that_says_close_is_closed)
{
    client_say(&f, fd, "GET /show HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    assert_holds(client_read_all(&f, fd), "Connection: close\r\n");
}

TEST(head_is_answered_without_a_body)
{
    client_say(&f, fd, "HEAD /show HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    const char *reply = client_read_all(&f, fd);
    assert_holds(reply, "Content-Length: 12\r\n");
    assert_string_equal(strstr(reply, "\r\n\r\n"), "\r\n\r\n");
}

TEST(a_stream_is_chunked_and_keeps_the_connection)
{
    client_say(&f, fd, "GET /stream HTTP/1.1\r\nHost: a\r\n\r\n");
    fixture_wait_count(&f, &f.n_requests, 1);
    gw_exchange_stream_write(f.held, "hello world, hello", 18);
    gw_exchange_stream_write(f.held, "", 0);
    gw_exchange_stream_write(f.held, "!", 1);
    gw_exchange_stream_end(f.held);
    const char *reply = client_read(&f, fd, "\r\n0\r\n\r\n");
    assert_holds(reply, "Transfer-Encoding: chunked\r\n");
    assert_holds(reply, "\r\n\r\n12\r\nhello world, hello\r\n1\r\n!\r\n0\r\n\r\n");
    client_say(&f, fd, "GET /show HTTP/1.1\r\nHost: a\r\n\r\n");
    client_read(&f, fd, "GET|/show");
}

TEST(a_stream_to_a_1_0_client_ends_with_the_connection)
{
    client_say(&f, fd, "GET /stream HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    fixture_wait_count(&f, &f.n_requests, 1);
    gw_exchange_stream_write(f.held, "hello", 5);
    gw_exchange_stream_end(f.held);
    const char *reply = client_read_all(&f, fd);
    assert_lacks(reply, "chunked");
    assert_holds(reply, "Connection: close\r\n");
    assert_string_equal(strstr(reply, "\r\n\r\n"), "\r\n\r\nhello");
}

TEST(a_stream_that_answers_head_has_no_body)
{
    client_say(&f, fd, "HEAD /stream HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    fixture_wait_count(&f, &f.n_requests, 1);
    gw_exchange_stream_write(f.held, "hello", 5);
    gw_exchange_stream_end(f.held);
    assert_string_equal(strstr(client_read_all(&f, fd), "\r\n\r\n"), "\r\n\r\n");
}

TEST(a_large_body_goes_in_and_out_whole)
{
    enum { BODY_BYTES = 1 << 20 };
    char *body = malloc(BODY_BYTES);
    assert_non_null(body);
    for (int i = 0; i < BODY_BYTES; i++)
        body[i] = (char)('a' + i % 26);
    client_say(&f, fd,
               "POST /echo HTTP/1.1\r\nHost: a\r\nConnection: close\r\n"
               "Content-Length: 1048576\r\n\r\n");
    client_send(&f, fd, body, BODY_BYTES);
    const char *reply = strstr(client_read_all(&f, fd), "\r\n\r\n") + 4;
    assert_int_equal(f.reply.len - (size_t)(reply - f.reply.data), BODY_BYTES);
    assert_memory_equal(reply, body, BODY_BYTES);
    free(body);
}

TEST(a_client_that_expects_100_is_told_to_continue)
{
    client_say(&f, fd,
               "POST /echo HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n"
               "Content-Length: 2\r\n\r\n");
    assert_string_equal(client_read(&f, fd, "\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
    client_say(&f, fd, "hi");
    assert_holds(client_read(&f, fd, "hi"), "HTTP/1.1 200 OK");
}

TEST(a_body_over_the_limit_is_refused_before_it_is_sent)
{
    client_say(&f, fd,
               "POST /echo HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n"
               "Content-Length: 1048577\r\n\r\n");
    const char *reply = client_read_all(&f, fd);
    assert_holds(reply, "HTTP/1.1 413 ");
    assert_holds(reply, "\"code\":\"body_too_large\"");
    assert_lacks(reply, "100 Continue");
    assert_int_equal(f.n_requests, 0);
}

TEST(a_chunked_body_over_the_limit_is_refused)
{
    client_say(&f, fd,
               "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
               "100001\r\n");
    assert_holds(client_read_all(&f, fd), "HTTP/1.1 413 ");
}

TEST(a_malformed_request_is_told_why_and_closed)
{
    client_say(&f, fd, "GET / HTTP/1.1\r\n\r\nGET /show HTTP/1.1\r\nHost: a\r\n\r\n");
    const char *reply = client_read_all(&f, fd);
    assert_holds(reply, "HTTP/1.1 400 Bad Request\r\n");
    assert_holds(reply, "Content-Type: application/json\r\n");
    assert_holds(reply, "Connection: close\r\n");
    assert_holds(reply, "\"message\":\"There is no Host header.\"");
    assert_holds(reply, "\"type\":\"invalid_request_error\"");
    assert_int_equal(f.n_requests, 0);
}

TEST(a_malformed_chunk_is_told_so)
{
    client_say(&f, fd,
               "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n");
    assert_holds(client_read_all(&f, fd), "\"code\":\"malformed_body\"");
}

TEST(a_refused_client_that_goes_on_sending_can_read_its_answer)
{
    enum { MORE_BYTES = 512 << 10 };
    char *more = calloc(1, MORE_BYTES);
    assert_non_null(more);
    client_say(&f, fd, "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999\r\n\r\n");
    client_send(&f, fd, more, MORE_BYTES);
    assert_holds(client_read_all(&f, fd), "HTTP/1.1 413 ");
    free(more);
    close(fd);
    fd = -1;
    fixture_wait_connections(&f, 0);
}

TEST_IN(prepare, teardown, a_head_that_does_not_end_in_time_is_a_408)
{
    f.options.head_timeout_ms = 100;
    start();
    client_say(&f, fd, "GET / HTTP/1.1\r\nHost:");
    assert_holds(client_read_all(&f, fd), "HTTP/1.1 408 Request Timeout\r\n");
}

TEST_IN(prepare, teardown, a_slow_head_gains_no_time_by_trickling)
{
    f.options.head_timeout_ms = 100000;
    start();
    client_say(&f, fd, "GET / HTTP/1.1\r\nX: ");
    for (int i = 0; i < 12; i++) {
        client_say(&f, fd, "x");
        fixture_pass_ms(&f, 10000);
    }
    assert_holds(client_read_all(&f, fd), "HTTP/1.1 408 ");
}

TEST_IN(prepare, teardown, a_body_that_does_not_end_in_time_is_a_408)
{
    f.options.body_timeout_ms = 100;
    start();
    client_say(&f, fd, "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhel");
    assert_holds(client_read_all(&f, fd), "\"code\":\"body_timeout\"");
    assert_int_equal(f.n_requests, 0);
}

TEST_IN(prepare, teardown, an_idle_connection_is_closed_without_a_word)
{
    f.options.idle_timeout_ms = 100;
    start();
    assert_string_equal(client_read_all(&f, fd), "");
}

TEST(a_handler_may_take_longer_than_every_timeout)
{
    client_say(&f, fd, "GET /hold HTTP/1.1\r\nHost: a\r\n\r\n");
    fixture_wait_count(&f, &f.n_requests, 1);
    fixture_pass_ms(&f, 1000000);
    gw_exchange_respond(f.held, 200, "text/plain", "", "late", 4);
    client_read(&f, fd, "late");
}

TEST(an_address_in_use_is_named)
{
    struct gw_http_server *other;
    struct baton_why why;
    f.options.port = gw_http_port(f.server);
    assert_int_equal(gw_http_start(&f.loop, &f.options, &other, &why), BATON_IO);
    assert_holds(why.text, "127.0.0.1 port ");
    f.options.host = "no address";
    assert_int_equal(gw_http_start(&f.loop, &f.options, &other, &why), BATON_INVALID);
}

EACH_TEST(setup, teardown)
