#include <string.h>

#include "common/base/array.h"
#include "gateway/observe/otlp_endpoint.h"
#include "gateway/observe/otlp_headers.h"
#include "tests/support/test.h"

static struct baton_why why;

static void expect_path(const char *url, const char *path)
{
    struct gw_otlp_endpoint endpoint;
    assert_ok(gw_otlp_endpoint_parse(&endpoint, url, "", "", &why));
    assert_string_equal(endpoint.path, path);
    gw_otlp_endpoint_fini(&endpoint);
}

TEST(a_base_gets_the_path_of_traces)
{
    expect_path("http://collector:4318", "/v1/traces");
    expect_path("https://collector/", "/v1/traces");
    expect_path("http://collector:4318/tenant/a/", "/tenant/a/v1/traces");
    expect_path("http://collector/v1/traces", "/v1/traces");
    expect_path("http://collector/x/v1/traces/", "/x/v1/traces");
}

static enum baton_err parse(const char *text, const char *lines)
{
    struct baton_buf out;
    baton_buf_init(&out, 4096);
    enum baton_err err = gw_otlp_headers_parse(text, &out, &why);
    if (lines)
        assert_string_equal(baton_buf_text(&out), lines);
    baton_buf_fini(&out);
    return err;
}

TEST(headers_are_pairs_between_commas_or_lines)
{
    assert_ok(parse("", ""));
    assert_ok(parse("a=b", "a: b\r\n"));
    assert_ok(parse(" a = b , c=d e,,\n", "a: b\r\nc: d e\r\n"));
    assert_ok(parse("# one, two=three\r\na=b=c\r\n", "a: b=c\r\n"));
    assert_ok(parse("authorization=Basic%20eDp5%3D%2C", "authorization: Basic eDp5=,\r\n"));
}

TEST(headers_cannot_change_the_message)
{
    static const char *const bad[] = {"a",
                                      "=b",
                                      "a b=c",
                                      "a=%0d%0aX: y",
                                      "a=%zz",
                                      "a=%2",
                                      "a=\x01",
                                      "a=caf\xc3\xa9",
                                      "Content-Length=3",
                                      "transfer-encoding=chunked",
                                      "HOST=x",
                                      "Connection=close"};
    for (size_t i = 0; i < BATON_N_OF(bad); i++) {
        assert_int_equal(parse(bad[i], NULL), BATON_INVALID);
        assert_non_null(strstr(why.text, "header 1: "));
    }
    assert_int_equal(parse("a=b\nc", NULL), BATON_INVALID);
    assert_non_null(strstr(why.text, "header 2: "));
}

TEST(only_what_the_specification_names_is_sent_again)
{
    int n_retryable = 0;
    for (int status = 100; status < 600; status++)
        n_retryable += gw_otlp_is_retryable(status);
    assert_int_equal(n_retryable, 4);
    assert_true(gw_otlp_is_retryable(429) && gw_otlp_is_retryable(502));
    assert_true(gw_otlp_is_retryable(503) && gw_otlp_is_retryable(504));
}
