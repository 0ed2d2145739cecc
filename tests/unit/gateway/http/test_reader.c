#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "common/base/buf.h"
#include "gateway/http/reader.h"

enum { MAX_HEAD_BYTES = 16 << 10 };

static struct gw_head head;
static struct gw_error refusal;
static size_t n_used;

/* Parses n bytes copied to memory of exactly that size, which the views then point into. */
static char *copied;

static enum baton_err parse_n(const char *text, size_t n)
{
    struct gw_head_scan scan = {0};
    free(copied);
    copied = malloc(n ? n : 1);
    assert_non_null(copied);
    memcpy(copied, text, n);
    return gw_head_parse(copied, n, MAX_HEAD_BYTES, &scan, &head, &n_used, &refusal);
}

static enum baton_err parse(const char *text)
{
    return parse_n(text, strlen(text));
}

static void assert_view(struct gw_view view, const char *text)
{
    assert_int_equal(view.n, strlen(text));
    assert_memory_equal(view.p, text, view.n);
}

static void assert_accepted(const char *text)
{
    if (parse(text) != BATON_OK)
        fail_msg("refused with %d \"%s\":\n%s", refusal.status, refusal.message, text);
    assert_int_equal(n_used, strlen(text));
}

static void assert_refused_n(const char *text, size_t n, int status)
{
    if (parse_n(text, n) != BATON_INVALID)
        fail_msg("not refused:\n%s", text);
    if (refusal.status != status)
        fail_msg("%d instead of %d (%s):\n%s", refusal.status, status, refusal.message, text);
}

static void assert_refused(const char *text, int status)
{
    assert_refused_n(text, strlen(text), status);
}

#define GET(headers) "GET / HTTP/1.1\r\nHost: a\r\n" headers "\r\n"

TEST(a_request_line_is_split_into_method_path_and_query)
{
    assert_accepted("POST /generate/stream?a=b&c=?d HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_view(head.method, "POST");
    assert_view(head.path, "/generate/stream");
    assert_view(head.query, "a=b&c=?d");
    assert_int_equal(head.minor, 1);
    assert_int_equal(head.n_headers, 1);
}

TEST(a_target_without_a_query_has_an_empty_one)
{
    assert_accepted(GET(""));
    assert_view(head.path, "/");
    assert_view(head.query, "");
}

TEST(an_absolute_target_is_read_as_its_path)
{
    assert_accepted("GET http://host:80/a?b HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_view(head.path, "/a");
    assert_view(head.query, "b");
    assert_accepted("GET HTTPS://[::1]:80?b HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_view(head.path, "/");
    assert_view(head.query, "b");
}

TEST(a_target_of_another_form_is_refused)
{
    assert_refused("GET foo HTTP/1.1\r\nHost: a\r\n\r\n", 400);
    assert_refused("GET * HTTP/1.1\r\nHost: a\r\n\r\n", 400);
    assert_refused("GET http:///a HTTP/1.1\r\nHost: a\r\n\r\n", 400);
    assert_refused("GET ftp://host/a HTTP/1.1\r\nHost: a\r\n\r\n", 400);
    assert_refused("GET http://user@host/a HTTP/1.1\r\nHost: a\r\n\r\n", 400);
    assert_refused("GET ?a HTTP/1.1\r\nHost: a\r\n\r\n", 400);
}

TEST(a_star_is_a_target_of_options_only)
{
    assert_accepted("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_view(head.path, "*");
}

TEST(a_target_with_characters_outside_visible_ascii_is_refused)
{
    assert_refused("GET /\xc3\xa4 HTTP/1.1\r\nHost: a\r\n\r\n", 400);
    assert_refused("GET /a\tb HTTP/1.1\r\nHost: a\r\n\r\n", 400);
    assert_refused("GET /a#b HTTP/1.1\r\nHost: a\r\n\r\n", 400);
}

TEST(a_percent_needs_two_hexadecimal_digits)
{
    assert_accepted("GET /%4a%4A?%00 HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_refused("GET /%4 HTTP/1.1\r\nHost: a\r\n\r\n", 400);
    assert_refused("GET /%4?a HTTP/1.1\r\nHost: a\r\n\r\n", 400);
    assert_refused("GET /%zz HTTP/1.1\r\nHost: a\r\n\r\n", 400);
}

TEST(only_escapes_of_unreserved_characters_are_decoded)
{
    char path[] = "/v1%2Fmod%65ls%2e%7E%00%3F%25";
    gw_path_normalise(path);
    assert_string_equal(path, "/v1%2Fmodels.~%00%3F%25");
}

TEST(slashes_that_mean_nothing_are_dropped)
{
    static const struct {
        const char *path, *means;
    } paths[] = {{"//v1//models/", "/v1/models"},
                 {"/", "/"},
                 {"//", "/"},
                 {"/v1/models///", "/v1/models"},
                 {"*", "*"},
                 {"/a%2F/", "/a%2F"},
                 {"/a/%2F", "/a/%2F"},
                 {"/%61/", "/a"}};
    for (size_t i = 0; i < BATON_N_OF(paths); i++) {
        char path[32];
        (void)snprintf(path, sizeof path, "%s", paths[i].path);
        gw_path_normalise(path);
        assert_string_equal(path, paths[i].means);
    }
}

TEST(a_request_line_has_exactly_two_spaces)
{
    assert_refused("GET  / HTTP/1.1\r\nHost: a\r\n\r\n", 400);
    assert_refused("GET /  HTTP/1.1\r\nHost: a\r\n\r\n", 400);
    assert_refused("GET / HTTP/1.1 \r\nHost: a\r\n\r\n", 400);
    assert_refused(" GET / HTTP/1.1\r\nHost: a\r\n\r\n", 400);
    assert_refused("GET\t/\tHTTP/1.1\r\nHost: a\r\n\r\n", 400);
    assert_refused("GET /a b HTTP/1.1\r\nHost: a\r\n\r\n", 400);
    assert_refused("GET /\r\n\r\n", 400);
    assert_refused("GET\r\n\r\n", 400);
}

TEST(versions_other_than_1_0_and_1_1_are_refused)
{
    assert_refused("GET / HTTP/1.2\r\nHost: a\r\n\r\n", 505);
    assert_refused("GET / HTTP/2.0\r\nHost: a\r\n\r\n", 505);
    assert_refused("GET / HTTP/0.9\r\nHost: a\r\n\r\n", 505);
    assert_refused("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505);
    assert_refused("GET / HTTP/1.10\r\nHost: a\r\n\r\n", 400);
    assert_refused("GET / HTTP/11\r\nHost: a\r\n\r\n", 400);
    assert_refused("GET / http/1.1\r\nHost: a\r\n\r\n", 400);
    assert_refused("GET / HTTP/1.x\r\nHost: a\r\n\r\n", 400);
}

TEST(unknown_methods_and_connect_are_not_implemented)
{
    assert_refused("CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n", 501);
    assert_refused("BREW / HTTP/1.1\r\nHost: a\r\n\r\n", 501);
    assert_refused("get / HTTP/1.1\r\nHost: a\r\n\r\n", 501);
    assert_refused("G@T / HTTP/1.1\r\nHost: a\r\n\r\n", 400);
}

TEST(header_values_lose_the_space_around_them)
{
    assert_accepted(GET("X-One: \t a b \t\r\nx-two:\r\n"));
    assert_int_equal(head.n_headers, 3);
    assert_view(head.headers[1].name, "X-One");
    assert_view(head.headers[1].value, "a b");
    assert_view(head.headers[2].value, "");
}

TEST(a_header_name_is_a_token_right_before_its_colon)
{
    assert_refused(GET("X : a\r\n"), 400);
    assert_refused(GET("X\t: a\r\n"), 400);
    assert_refused(GET("X Y: a\r\n"), 400);
    assert_refused(GET(": a\r\n"), 400);
    assert_refused(GET("X\xc3\xa4: a\r\n"), 400);
    assert_refused(GET("X(Y): a\r\n"), 400);
    assert_refused(GET("no colon here\r\n"), 400);
}

TEST(folded_headers_are_refused)
{
    assert_refused(GET("X: a\r\n b\r\n"), 400);
    assert_refused(GET("X: a\r\n\tb\r\n"), 400);
    assert_refused("GET / HTTP/1.1\r\n Host: a\r\n\r\n", 400);
}

TEST(control_characters_are_refused)
{
    static const char nul[] = "GET / HTTP/1.1\r\nHost: a\r\nX: a\0b\r\n\r\n";
    assert_refused_n(nul, sizeof nul - 1, 400);
    assert_refused(GET("X: a\x01\r\n"), 400);
    assert_refused(GET("X: a\x7f\r\n"), 400);
    assert_accepted(GET("X: \xc3\xa4\tb\r\n"));
}

TEST(bare_cr_and_bare_lf_are_refused_as_soon_as_they_are_seen)
{
    assert_refused("GET / HTTP/1.1\n", 400);
    assert_refused("GET / HTTP/1.1\r\nHost: a\n", 400);
    assert_refused("GET / HTTP/1.1\r\nHost: a\rb", 400);
    assert_refused("GET / HTTP/1.1\r\r\n", 400);
    assert_refused("\n", 400);
}

TEST(empty_lines_before_the_request_line_are_skipped)
{
    assert_accepted("\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_view(head.method, "GET");
    assert_int_equal(parse("\r\n\r\n"), BATON_AGAIN);
}

TEST(a_host_is_required_on_1_1_and_allowed_once)
{
    assert_refused("GET / HTTP/1.1\r\n\r\n", 400);
    assert_accepted("GET / HTTP/1.0\r\n\r\n");
    assert_accepted("GET / HTTP/1.1\r\nHost:\r\n\r\n");
    assert_refused("GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", 400);
    assert_refused("GET / HTTP/1.0\r\nHost: a\r\nhost: b\r\n\r\n", 400);
    assert_refused("GET / HTTP/1.1\r\nHost: a, b\r\n\r\n", 400);
    assert_refused("GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", 400);
    assert_accepted("GET / HTTP/1.1\r\nHost: [::1]:8000\r\n\r\n");
}

TEST(a_content_length_is_digits_and_comes_once)
{
    assert_accepted(GET("Content-Length: 0012\r\n"));
    assert_int_equal(head.content_length, 12);
    assert_refused(GET("Content-Length: 5\r\nContent-Length: 5\r\n"), 400);
    assert_refused(GET("Content-Length: 5, 5\r\n"), 400);
    assert_refused(GET("Content-Length: +5\r\n"), 400);
    assert_refused(GET("Content-Length: -5\r\n"), 400);
    assert_refused(GET("Content-Length: 0x5\r\n"), 400);
    assert_refused(GET("Content-Length: 5 5\r\n"), 400);
    assert_refused(GET("Content-Length:\r\n"), 400);
}

TEST(a_content_length_past_64_bits_is_read_as_the_largest)
{
    assert_accepted(GET("Content-Length: 18446744073709551614\r\n"));
    assert_true(head.content_length == UINT64_MAX - 1);
    assert_accepted(GET("Content-Length: 18446744073709551621\r\n"));
    assert_true(head.content_length == UINT64_MAX);
    assert_refused(GET("Content-Length: 99999999999999999999999x\r\n"), 400);
}

TEST(the_only_transfer_encoding_is_chunked)
{
    assert_accepted(GET("Transfer-Encoding: Chunked\r\n"));
    assert_true(head.chunked);
    assert_refused(GET("Transfer-Encoding: gzip, chunked\r\n"), 501);
    assert_refused(GET("Transfer-Encoding: chunked, identity\r\n"), 501);
    assert_refused(GET("Transfer-Encoding: identity\r\n"), 501);
    assert_refused(GET("Transfer-Encoding: xchunked\r\n"), 501);
    assert_refused(GET("Transfer-Encoding: \"chunked\"\r\n"), 501);
    assert_refused(GET("Transfer-Encoding:\r\n"), 501);
}

TEST(a_transfer_encoding_comes_once_alone_and_not_on_1_0)
{
    assert_refused(GET("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"), 400);
    assert_refused(GET("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n"), 400);
    assert_refused(GET("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"), 400);
    assert_refused("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 400);
}

TEST(connection_and_version_decide_on_keep_alive)
{
    assert_accepted(GET(""));
    assert_true(head.keep_alive);
    assert_accepted(GET("Connection: upgrade, Close\r\n"));
    assert_false(head.keep_alive);
    assert_accepted(GET("Connection: keep-alive\r\nConnection: close\r\n"));
    assert_false(head.keep_alive);
    assert_accepted("GET / HTTP/1.0\r\n\r\n");
    assert_false(head.keep_alive);
    assert_accepted("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n");
    assert_true(head.keep_alive);
}

TEST(an_upgrade_is_ignored)
{
    assert_accepted(GET("Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"));
    assert_true(head.keep_alive);
}

TEST(the_only_expectation_is_100_continue)
{
    assert_accepted(GET("Expect: 100-Continue\r\n"));
    assert_true(head.expects_continue);
    assert_accepted("GET / HTTP/1.0\r\nExpect: 100-continue\r\n\r\n");
    assert_false(head.expects_continue);
    assert_refused(GET("Expect: cookies\r\n"), 417);
}

TEST(a_head_over_the_limit_is_refused)
{
    static char big[MAX_HEAD_BYTES + 1];
    static const char start[] = "GET / HTTP/1.1\r\nHost: a\r\nX: ";
    memset(big, 'x', sizeof big);
    memcpy(big, start, sizeof start - 1);
    memcpy(big + MAX_HEAD_BYTES - 4, "\r\n\r\n", 4);
    assert_ok(parse_n(big, MAX_HEAD_BYTES));
    assert_int_equal(parse_n(big, MAX_HEAD_BYTES - 1), BATON_AGAIN);
    memcpy(big + MAX_HEAD_BYTES - 4, "x\r\n\r\n", 5);
    assert_refused_n(big, MAX_HEAD_BYTES, 431);
    assert_refused_n(big, MAX_HEAD_BYTES + 1, 431);
}

TEST(a_request_line_over_the_limit_is_a_target_too_long)
{
    static char big[MAX_HEAD_BYTES];
    memset(big, 'x', sizeof big);
    assert_refused_n(big, sizeof big, 414);
}

/* A request with n headers. */
static void put_request(struct baton_buf *out, int n)
{
    baton_buf_reset(out);
    baton_buf_puts(out, "GET / HTTP/1.1\r\nHost: a\r\n");
    for (int i = 1; i < n; i++)
        baton_buf_puts(out, "x: y\r\n");
    baton_buf_puts(out, "\r\n");
}

TEST(too_many_headers_are_refused)
{
    struct baton_buf text;
    baton_buf_init(&text, MAX_HEAD_BYTES);
    put_request(&text, GW_HEAD_MAX_HEADERS);
    assert_accepted(text.data);
    put_request(&text, GW_HEAD_MAX_HEADERS + 1);
    assert_refused(text.data, 431);
    baton_buf_fini(&text);
}

TEST(bytes_after_the_head_are_left_alone)
{
    static const char text[] = GET("Content-Length: 5\r\n") "hello\n\n\0";
    assert_ok(parse_n(text, sizeof text));
    assert_int_equal(n_used, strlen(GET("Content-Length: 5\r\n")));
}

/* Grows the bytes one by one through one scan, as they would trickle in. */
static enum baton_err trickle(const char *text, size_t n)
{
    struct gw_head_scan scan = {0};
    enum baton_err err = BATON_AGAIN;
    for (size_t i = 0; i <= n && err == BATON_AGAIN; i++)
        err = gw_head_parse(text, i, MAX_HEAD_BYTES, &scan, &head, &n_used, &refusal);
    return err;
}

TEST(a_head_that_trickles_in_is_read_the_same)
{
    static const char good[] = "\r\nPOST /a?b HTTP/1.1\r\nHost: a\r\nContent-Length: 7\r\n\r\n";
    static const char bad[] = "GET / HTTP/1.1\r\nHost: a\r\nX : y\r\n\r\n";
    assert_ok(trickle(good, strlen(good)));
    assert_int_equal(n_used, strlen(good));
    assert_view(head.path, "/a");
    assert_int_equal(head.content_length, 7);
    assert_int_equal(trickle(bad, strlen(bad)), BATON_INVALID);
    assert_int_equal(refusal.status, 400);
}

TEARDOWN(teardown)
{
    free(copied);
}

ALL_TESTS(NULL, teardown)
