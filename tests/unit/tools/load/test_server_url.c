#include <string.h>

#include "tests/support/test.h"
#include "tools/load/http/server_url.h"

TEST(an_address_without_a_listener_is_an_error)
{
    struct sockaddr_storage address;
    struct baton_http_url url;
    struct baton_why why;
    assert_ok(baton_http_url_parse("--url", "http://127.0.0.1:1", &url, &why));
    assert_int_equal(ld_url_resolve(&url, &address, &why), BATON_IO);
    assert_non_null(strstr(why.text, "127.0.0.1:1"));
}
