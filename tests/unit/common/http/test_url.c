#include <string.h>

#include "common/base/array.h"
#include "common/http/url.h"
#include "tests/support/test.h"

static void expect(const char *text, const char *host, const char *port, const char *authority,
                   const char *path)
{
    struct baton_http_url url;
    struct baton_why why;
    assert_ok(baton_http_url_parse("--url", text, &url, &why));
    assert_string_equal(url.host, host);
    assert_string_equal(url.port, port);
    assert_string_equal(url.authority, authority);
    assert_string_equal(url.path, path);
}

TEST(hosts_ports_and_paths_are_told_apart)
{
    expect("http://127.0.0.1:8000", "127.0.0.1", "8000", "127.0.0.1:8000", "");
    expect("http://localhost", "localhost", "80", "localhost:80", "");
    expect("http://[::1]:9/", "::1", "9", "[::1]:9", "");
    expect("http://a.b:1/llm/x/", "a.b", "1", "a.b:1", "/llm/x");
}

TEST(other_forms_are_refused)
{
    static const char *const bad[] = {"",
                                      "127.0.0.1:8000",
                                      "https://a",
                                      "http://",
                                      "http://:80",
                                      "http://a:",
                                      "http://a:0",
                                      "http://a:65536",
                                      "http://a:80x",
                                      "http://[::1",
                                      "http://a/b?c",
                                      "http://a/b c",
                                      "http://a\r\nX: y",
                                      "http://user@host"};
    struct baton_http_url url;
    struct baton_why why;
    for (size_t i = 0; i < BATON_N_OF(bad); i++) {
        assert_int_equal(baton_http_url_parse("--url", bad[i], &url, &why), BATON_INVALID);
        assert_non_null(strstr(why.text, "--url"));
    }
}

TEST(https_is_taken_where_it_may_be)
{
    struct baton_http_url url;
    struct baton_why why;
    assert_ok(baton_http_url_parse_any("--x", "https://[::1]/a", &url, &why));
    assert_true(url.tls);
    assert_string_equal(url.port, "443");
    assert_string_equal(url.authority, "[::1]:443");
    assert_ok(baton_http_url_parse_any("--x", "http://a", &url, &why));
    assert_false(url.tls);
    assert_int_equal(baton_http_url_parse_any("--x", "ftp://a", &url, &why), BATON_INVALID);
    assert_non_null(strstr(why.text, "--x: must be https:// or http://HOST"));
}
