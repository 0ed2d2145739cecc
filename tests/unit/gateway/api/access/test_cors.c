#include "tests/support/test.h"

#include <string.h>

#include "common/base/array.h"
#include "common/base/buf.h"
#include "gateway/api/access/cors.h"

static struct gw_cors read_list(const char *list)
{
    struct gw_cors cors = {0};
    struct baton_why why = {""};
    if (gw_cors_read(list, &cors, &why))
        fail_msg("%s", why.text);
    return cors;
}

TEST(without_origins_no_page_is_allowed)
{
    struct gw_cors cors = read_list("");
    assert_false(gw_cors_allows(&cors, "https://app.example"));
    assert_false(gw_cors_allows(&cors, ""));
}

TEST(an_origin_is_allowed_when_it_is_exactly_one_of_the_list)
{
    static const char *const others[] = {"",
                                         "null",
                                         "*",
                                         "https://app.example:8443",
                                         "http://app.example",
                                         "https://app.example.evil",
                                         "https://evil-app.example",
                                         "https://app.example, http://localhost:3000",
                                         "HTTPS://APP.EXAMPLE"};
    struct gw_cors cors = read_list(" https://app.example , http://localhost:3000,http://[::1]:80");
    assert_int_equal(cors.n, 3);
    assert_true(gw_cors_allows(&cors, "https://app.example"));
    assert_true(gw_cors_allows(&cors, "http://localhost:3000"));
    assert_true(gw_cors_allows(&cors, "http://[::1]:80"));
    for (size_t i = 0; i < BATON_N_OF(others); i++)
        if (gw_cors_allows(&cors, others[i]))
            fail_msg("allowed: %s", others[i]);
}

TEST(a_star_allows_every_origin_but_none_at_all)
{
    struct gw_cors cors = read_list("*");
    assert_true(gw_cors_allows(&cors, "https://anything.example"));
    assert_true(gw_cors_allows(&cors, "null"));
    assert_false(gw_cors_allows(&cors, ""));
}

TEST(an_origin_that_no_browser_sends_is_a_mistake_that_is_named)
{
    static const char *const bad[] = {"app.example",
                                      "https://app.example/",
                                      "https://app.example/path",
                                      "https://*.example",
                                      "https://App.example",
                                      "https://",
                                      "://app.example",
                                      "https:/app.example",
                                      "https:app.example",
                                      "https://me@app.example",
                                      "https://app.example?x",
                                      "https://a b",
                                      "https://a\r\nb",
                                      "https://a,*",
                                      "*,https://a",
                                      "https://a,",
                                      ",https://a",
                                      "https://a,,https://b",
                                      ",",
                                      "null"};
    struct gw_cors cors;
    for (size_t i = 0; i < BATON_N_OF(bad); i++) {
        struct baton_why why = {""};
        if (gw_cors_read(bad[i], &cors, &why) != BATON_INVALID)
            fail_msg("accepted: %s", bad[i]);
        assert_non_null(strstr(why.text, "cors-origins: "));
    }
}

TEST(the_list_and_its_origins_are_bounded)
{
    char origin[GW_CORS_MAX_ORIGIN_BYTES + 2];
    struct baton_buf list;
    struct gw_cors cors;
    struct baton_why why;
    baton_buf_init(&list, 1 << 16);
    for (int i = 0; i < GW_CORS_MAX_ORIGINS; i++)
        baton_buf_printf(&list, "%shttps://a%d.example", i ? "," : "", i);
    cors = read_list(baton_buf_text(&list));
    assert_int_equal(cors.n, GW_CORS_MAX_ORIGINS);
    assert_true(gw_cors_allows(&cors, "https://a63.example"));
    baton_buf_puts(&list, ",https://more.example");
    assert_int_equal(gw_cors_read(baton_buf_text(&list), &cors, &why), BATON_LIMIT);
    baton_buf_fini(&list);
    memset(origin, 'a', sizeof origin);
    memcpy(origin, "https://", 8);
    origin[GW_CORS_MAX_ORIGIN_BYTES + 1] = 0;
    assert_int_equal(gw_cors_read(origin, &cors, &why), BATON_INVALID);
    origin[GW_CORS_MAX_ORIGIN_BYTES] = 0;
    cors = read_list(origin);
    assert_true(gw_cors_allows(&cors, origin));
}
