#include <string.h>

#include "tests/support/test.h"
#include "tools/load/server_url.h"

static void expect(const char *text, const char *host, const char *port, const char *authority,
                   const char *path)
{
    struct ld_url url;
    struct baton_why why;
    assert_int_equal(ld_url_parse("--url", text, &url, &why), BATON_OK);
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
    struct ld_url url;
    struct baton_why why;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(ld_url_parse("--url", bad[i], &url, &why), BATON_INVALID);
        assert_non_null(strstr(why.text, "--url"));
    }
}

TEST(an_address_without_a_listener_is_an_error)
{
    struct sockaddr_storage address;
    struct ld_url url;
    struct baton_why why;
    assert_int_equal(ld_url_parse("--url", "http://127.0.0.1:1", &url, &why), BATON_OK);
    assert_int_equal(ld_url_resolve(&url, &address, &why), BATON_IO);
    assert_non_null(strstr(why.text, "127.0.0.1:1"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hosts_ports_and_paths_are_told_apart),
        cmocka_unit_test(other_forms_are_refused),
        cmocka_unit_test(an_address_without_a_listener_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
