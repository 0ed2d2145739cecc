#include "tests/support/test.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "server_fixture.h"

#include "common/base/array.h"

static struct fixture f;
static int fd; /* of the client */

/* The headers that a gateway adds as soon as it knows the client. */
static const struct gw_error *on_head(void *arg, struct gw_exchange *exchange)
{
    static const struct gw_error evil = {.status = 403, .code = "evil", .message = "you are evil"};
    const char *who = gw_exchange_header(exchange, "origin");
    (void)arg;
    if (*who)
        assert_ok(gw_exchange_add_header(exchange, "X-Added", who));
    return strcmp(who, "evil") != 0 ? NULL : &evil;
}

static void start(void)
{
    fixture_start(&f);
    fd = client_open(&f, 0);
}

/* For tests that call start themselves, with options of their own. */
SETUP(prepare)
{
    fixture_init(&f);
    f.options.on_head = on_head;
}

SETUP(setup)
{
    prepare(NULL);
    start();
}

TEARDOWN(teardown)
{
    close(fd);
    fixture_stop(&f);
}

/* The request is with the handler, which keeps it. */
static void hold(const char *path)
{
    char text[128];
    (void)snprintf(text, sizeof text, "GET %s HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
                   path);
    client_say(&f, fd, text);
    fixture_wait_count(&f, &f.n_requests, 1);
}

TEST(an_added_header_goes_with_a_whole_answer)
{
    client_say(&f, fd, "GET /show HTTP/1.1\r\nHost: a\r\nOrigin: me\r\n\r\n");
    assert_holds(client_read(&f, fd, "GET|/show"), "\r\nX-Added: me\r\n");
    client_say(&f, fd, "GET /show HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_lacks(client_read(&f, fd, "GET|/show"), "X-Added");
}

TEST(an_added_header_goes_with_a_stream)
{
    client_say(&f, fd, "GET /stream HTTP/1.1\r\nHost: a\r\nOrigin: me\r\n\r\n");
    assert_holds(client_read(&f, fd, "\r\n\r\n"), "\r\nX-Added: me\r\n");
    assert_int_equal(gw_exchange_add_header(f.held, "X-Late", "so"), BATON_CLOSED);
}

TEST_IN(prepare, teardown, an_added_header_goes_with_the_refusal_of_a_body)
{
    static const struct {
        const char *body, *answer;
    } cases[] = {{"Content-Length: 1048577\r\n\r\n", " 413 "},
                 {"Transfer-Encoding: chunked\r\n\r\n100001\r\n", " 413 "},
                 {"Transfer-Encoding: chunked\r\n\r\nzz", " 400 "},
                 {"Content-Length: 5\r\n\r\nslow", " 408 "}};
    f.options.body_timeout_ms = 100;
    start();
    for (size_t i = 0; i < BATON_N_OF(cases); i++) {
        client_say(&f, fd, "POST /echo HTTP/1.1\r\nHost: a\r\nOrigin: me\r\n");
        client_say(&f, fd, cases[i].body);
        const char *reply = client_read_all(&f, fd);
        assert_holds(reply, cases[i].answer);
        assert_holds(reply, "\r\nX-Added: me\r\n");
        close(fd);
        fd = client_open(&f, 0);
    }
    assert_int_equal(f.n_requests, 0);
}

TEST(a_head_may_be_refused_before_its_body_is_read)
{
    client_say(&f, fd,
               "POST /echo HTTP/1.1\r\nHost: a\r\nOrigin: evil\r\n"
               "Content-Length: 5\r\nExpect: 100-continue\r\n\r\n");
    const char *reply = client_read_all(&f, fd);
    assert_holds(reply, "HTTP/1.1 403 Forbidden\r\n");
    assert_holds(reply, "\r\nX-Added: evil\r\n");
    assert_holds(reply, "\"code\":\"evil\"");
    assert_int_equal(f.n_requests, 0);
}

TEST(a_value_that_could_begin_another_line_is_refused)
{
    static const char *const values[] = {"a\r\nb: c", "a\nb", "a\r", "\x01", "\x7f", "\x1b[1m"};
    static const char *const names[] = {"", "a b", "a:", "a\r\n"};
    hold("/hold");
    for (size_t i = 0; i < BATON_N_OF(values); i++)
        assert_int_equal(gw_exchange_add_header(f.held, "X-Bad", values[i]), BATON_INVALID);
    for (size_t i = 0; i < BATON_N_OF(names); i++)
        assert_int_equal(gw_exchange_add_header(f.held, names[i], "X-Bad"), BATON_INVALID);
    gw_exchange_respond(f.held, 200, "text/plain", "", "fine", 4);
    assert_lacks(client_read_all(&f, fd), "X-Bad");
}

TEST(added_headers_are_bounded_and_those_that_fit_go_out)
{
    char value[GW_ADDED_HEADERS_MAX_BYTES];
    hold("/hold");
    memset(value, 'v', sizeof value - 1);
    value[sizeof value - 1] = 0;
    assert_int_equal(gw_exchange_add_header(f.held, "X-Long", value), BATON_LIMIT);
    value[sizeof value - sizeof "X-Long: \r\n"] = 0;
    assert_ok(gw_exchange_add_header(f.held, "X-L", ""));
    assert_int_equal(gw_exchange_add_header(f.held, "X-Long", value), BATON_LIMIT);
    value[sizeof value - sizeof "X-L: \r\nX-Long: \r\n"] = 0;
    assert_ok(gw_exchange_add_header(f.held, "X-Long", value));
    assert_int_equal(gw_exchange_add_header(f.held, "X", ""), BATON_LIMIT);
    gw_exchange_respond(f.held, 200, "text/plain", "", "fine", 4);
    const char *reply = client_read_all(&f, fd);
    assert_holds(reply, "\r\nX-L: \r\nX-Long: vvv");
    assert_holds(reply, "\r\n\r\nfine");
}

/* Copies the reply's request id. */
static void read_id(const char *reply, char id[GW_REQUEST_ID_BYTES])
{
    static const char name[] = "\r\nx-request-id: ";
    assert_holds(reply, name);
    (void)snprintf(id, GW_REQUEST_ID_BYTES, "%.16s", strstr(reply, name) + sizeof name - 1);
    assert_int_equal(strspn(id, "0123456789abcdef"), 16);
}

TEST(every_answer_has_an_id_of_its_own)
{
    static const char *const requests[] = {
        "GET /show HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
        "GET /show HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
        "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1048577\r\n\r\n", "no HTTP\r\n\r\n"};
    char ids[4][GW_REQUEST_ID_BYTES];
    for (int i = 0; i < 4; i++) {
        client_say(&f, fd, requests[i]);
        read_id(client_read_all(&f, fd), ids[i]);
        for (int j = 0; j < i; j++)
            assert_string_not_equal(ids[i], ids[j]);
        close(fd);
        fd = client_open(&f, 0);
    }
}

TEST(a_client_names_its_request)
{
    static const char ask[] = "GET /show HTTP/1.1\r\nHost: a\r\nConnection: close\r\n"
                              "X-Request-Id: ";
    static const char *const bad[] = {"", "two words", "a\"b", "a\\b", "caf\xc3\xa9"};
    char request[512];
    for (size_t i = 0; i < BATON_N_OF(bad); i++) {
        char id[GW_REQUEST_ID_BYTES];
        (void)snprintf(request, sizeof request, "%s%s\r\n\r\n", ask, bad[i]);
        client_say(&f, fd, request);
        read_id(client_read_all(&f, fd), id);
        close(fd);
        fd = client_open(&f, 0);
    }
    (void)snprintf(request, sizeof request, "%s%s\r\n\r\n", ask, "order:66/{a}~");
    client_say(&f, fd, request);
    assert_holds(client_read_all(&f, fd), "\r\nx-request-id: order:66/{a}~\r\n");
}

TEST(a_trace_is_continued_by_our_span)
{
#define TRACE "0af7651916cd43dd8448eb211c80319c"
    client_say(&f, fd,
               "GET /show HTTP/1.1\r\nHost: a\r\nConnection: close\r\n"
               "traceparent: 00-" TRACE "-b7ad6b7169203331-01\r\n\r\n");
    const char *reply = client_read_all(&f, fd);
    assert_holds(reply, "\r\ntraceparent: 00-" TRACE "-");
    assert_null(strstr(reply, "b7ad6b7169203331"));
    assert_holds(reply, "-01\r\n");
}

TEST(the_id_is_known_to_the_handler)
{
    char known[GW_REQUEST_ID_BYTES], said[GW_REQUEST_ID_BYTES];
    hold("/stream");
    (void)snprintf(known, sizeof known, "%s", gw_exchange_id(f.held));
    gw_exchange_stream_end(f.held);
    read_id(client_read_all(&f, fd), said);
    assert_string_equal(known, said);
}

TEST_IN(prepare, teardown, a_request_that_was_too_slow_may_be_sent_again)
{
    f.options.head_timeout_ms = 50;
    start();
    client_say(&f, fd, "GET / HTTP/1.1\r\nHost:");
    assert_holds(client_read_all(&f, fd), "\r\nx-should-retry: true\r\n");
}

TEST(options_is_answered_with_204_and_no_body)
{
    client_say(&f, fd, "OPTIONS /hold HTTP/1.1\r\nHost: a\r\n\r\n");
    fixture_wait_count(&f, &f.n_requests, 1);
    assert_string_equal(gw_exchange_method(f.held), "OPTIONS");
    gw_exchange_respond(f.held, 204, "", "", "", 0);
    const char *reply = client_read(&f, fd, "\r\n\r\n");
    assert_holds(reply, "HTTP/1.1 204 No Content\r\n");
    assert_lacks(reply, "Content-Length");
    assert_lacks(reply, "Content-Type");
    client_say(&f, fd, "GET /show HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_true(strstr(client_read(&f, fd, "GET|/show"), "HTTP/1.1 200") == f.reply.data);
}

EACH_TEST(setup, teardown)
