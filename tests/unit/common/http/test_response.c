#include <string.h>

#include "common/base/array.h"
#include "common/http/response.h"
#include "tests/support/test.h"

static struct baton_http_response response;
static struct baton_buf body;

/* Reads the text in pieces of step bytes; *n_used is what belonged to the response. */
static enum baton_err read_in_steps(const char *text, size_t step, size_t *n_used)
{
    struct baton_why why;
    enum baton_err err = BATON_AGAIN;
    size_t n = strlen(text);
    baton_http_response_reset(&response);
    baton_buf_reset(&body);
    *n_used = 0;
    for (size_t at = 0; at < n && err == BATON_AGAIN; at += step) {
        size_t used = 0;
        err = baton_http_response_feed(&response, text + at, n - at < step ? n - at : step, &used,
                                       &body, &why);
        *n_used += used;
    }
    return err;
}

static void expect(const char *text, enum baton_err err, int status, const char *decoded)
{
    for (size_t step = 1; step <= strlen(text); step++) {
        size_t n_used;
        assert_int_equal(read_in_steps(text, step, &n_used), err);
        assert_int_equal(response.status, status);
        assert_string_equal(baton_buf_text(&body), decoded);
    }
}

TEST(a_body_ends_by_its_length)
{
    size_t n_used;
    const char *text = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
    expect(text, BATON_OK, 200, "hello");
    assert_true(response.keep_alive && !response.is_events);
    assert_ok(read_in_steps("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nabc", 100, &n_used));
    assert_int_equal(n_used, 39);
    expect("HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\n\r\n", BATON_OK, 503, "");
}

TEST(a_body_ends_by_its_last_chunk)
{
    expect(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n"
        "Content-Type: text/event-stream; charset=utf-8\r\n\r\n3\r\nabc\r\n1;x\r\nd\r\n0\r\n\r\n",
        BATON_OK, 200, "abcd");
    assert_true(response.is_events && response.keep_alive);
}

TEST(a_body_ends_with_the_connection)
{
    expect("HTTP/1.0 200 OK\r\n\r\nabc", BATON_AGAIN, 200, "abc");
    assert_false(response.keep_alive);
    assert_ok(baton_http_response_eof(&response));
    expect("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc", BATON_AGAIN, 200, "abc");
    assert_int_equal(baton_http_response_eof(&response), BATON_PEER);
    expect("HTTP/1.1 200 OK\r\nContent", BATON_AGAIN, 0, "");
    assert_int_equal(baton_http_response_eof(&response), BATON_PEER);
}

TEST(interim_responses_are_skipped)
{
    expect("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n", BATON_OK, 204, "");
}

TEST(connection_and_retry_after_are_noted)
{
    expect("HTTP/1.1 429 Too Many Requests\r\nRetry-After:  7 \r\nConnection: x, Close\r\n"
           "Content-Length: 0\r\n\r\n",
           BATON_OK, 429, "");
    assert_true(response.retry_after_s == 7 && !response.keep_alive);
    expect("HTTP/1.0 429 -\r\nRetry-After: Fri, 31 Dec 1999 23:59:59 GMT\r\n"
           "Connection: keep-alive\r\nContent-Length: 0\r\n\r\n",
           BATON_OK, 429, "");
    assert_true(response.retry_after_s < 0 && response.keep_alive);
}

TEST(bytes_that_are_no_response_are_refused)
{
    static const char *const bad[] = {
        "SSH-2.0-OpenSSH\r\n\r\n",
        "HTTP/2 200\r\n\r\n",
        "HTTP/1.1 20 OK\r\n\r\n",
        "HTTP/1.1 2000 OK\r\n\r\n",
        "HTTP/1.1 099 Hm\r\n\r\n",
        "\r\n\r\n",
        "HTTP/1.1 101 Switching\r\n\r\n",
        "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        "HTTP/1.1 200 OK\r\n: x\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n"};
    for (size_t i = 0; i < BATON_N_OF(bad); i++)
        for (size_t step = 1; step <= strlen(bad[i]); step++) {
            size_t n_used;
            assert_int_equal(read_in_steps(bad[i], step, &n_used), BATON_INVALID);
        }
}

TEST(a_head_without_end_is_bounded)
{
    static char block[BATON_HTTP_HEAD_MAX_BYTES];
    struct baton_why why;
    size_t n_used;
    baton_http_response_reset(&response);
    memset(block, 'a', sizeof block);
    assert_int_equal(baton_http_response_feed(&response, block, sizeof block, &n_used, &body, &why),
                     BATON_AGAIN);
    assert_int_equal(baton_http_response_feed(&response, block, sizeof block, &n_used, &body, &why),
                     BATON_LIMIT);
}

SETUP(begin)
{
    baton_http_response_init(&response);
    baton_buf_init(&body, 4096);
}

TEARDOWN(end)
{
    baton_http_response_fini(&response);
    baton_buf_fini(&body);
}

EACH_TEST(begin, end)
