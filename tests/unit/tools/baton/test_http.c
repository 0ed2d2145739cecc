#include "tests/support/test.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/baton/http.h"

#include "common/base/array.h"

static const struct {
    const char *url, *host, *port, *path;
    bool tls;
} good[] = {
    {"http://127.0.0.1:8000", "127.0.0.1", "8000", "", false},
    {"https://baton.example", "baton.example", "443", "", true},
    {"https://baton.example/api/", "baton.example", "443", "/api", true},
    {"https://baton.example:8443/a:b", "baton.example", "8443", "/a:b", true},
    {"https://[::1]", "::1", "443", "", true},
    {"https://[::1]:8443", "::1", "8443", "", true},
    {"localhost:8001", "localhost", "8001", "", false},
    {"[::1]:8001/v1", "::1", "8001", "", false},
    {"http://a/v1", "a", "80", "", false},
    {"https://a/api/v1/", "a", "443", "/api", true},
    {"http://a/xv1", "a", "80", "/xv1", false},
};

TEST(a_url_tells_host_port_path_and_whether_it_is_encrypted)
{
    for (size_t i = 0; i < BATON_N_OF(good); i++) {
        struct bt_server server;
        assert_ok(bt_server_parse("--url", good[i].url, &server, NULL));
        assert_string_equal(server.url.host, good[i].host);
        assert_string_equal(server.url.port, good[i].port);
        assert_string_equal(server.url.path, good[i].path);
        assert_int_equal(server.url.tls, good[i].tls);
    }
}

TEST(a_bad_url_is_named)
{
    static const char *const bad[] = {"",           "ftp://x",  "https://", "https://a:b",
                                      "http://a?b", "https://["};
    for (size_t i = 0; i < BATON_N_OF(bad); i++) {
        struct bt_server server;
        struct baton_why why = {.text = ""};
        assert_int_equal(bt_server_parse("--url", bad[i], &server, &why), BATON_INVALID);
        assert_non_null(strstr(why.text, "--url"));
    }
}

TEST(the_first_key_of_a_file_is_taken_without_comments_and_limits)
{
    char path[] = "/tmp/baton-keys-XXXXXX";
    static const char text[] = "# ours\n\nalpha-key-0001 max=3\nbeta-key\n";
    struct bt_server server = {.key = ""};
    int fd = mkstemp(path);
    assert_int_equal(write(fd, text, sizeof text - 1), sizeof text - 1);
    (void)close(fd);
    assert_ok(bt_server_read_key(&server, path, NULL));
    assert_string_equal(server.key, "alpha-key-0001");
    (void)unlink(path);
    assert_int_equal(bt_server_read_key(&server, path, NULL), BATON_NOT_FOUND);
}
