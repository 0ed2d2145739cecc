#include "tests/support/test.h"

#include <string.h>

#include "common/base/array.h"
#include "gateway/api/page.h"
#include "gateway/web/files.h"

TEST(every_file_has_bytes_a_type_and_a_tag_of_its_own)
{
    assert_true(gw_web_n_files > 0);
    for (size_t i = 0; i < gw_web_n_files; i++) {
        const struct gw_web_file *file = &gw_web_files[i];
        size_t n_tag = strlen(file->etag);
        assert_true(file->n > 0 && *file->content_type);
        assert_true(n_tag == 34 && file->etag[0] == '"' && file->etag[n_tag - 1] == '"');
        assert_ptr_equal(gw_web_find(file->name), file);
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(file->etag, gw_web_files[j].etag);
    }
    assert_null(gw_web_find("none.js"));
    assert_null(gw_web_find(""));
}

TEST(a_file_is_embedded_to_the_byte)
{
    static const char begin[] = "<!doctype html>\n", end[] = "</html>\n";
    const struct gw_web_file *file = gw_web_find("index.html");
    assert_non_null(file);
    assert_memory_equal(file->bytes, begin, strlen(begin));
    assert_memory_equal(file->bytes + file->n - strlen(end), end, strlen(end));
}

TEST(the_page_is_its_root_and_its_parts_and_nothing_else)
{
    static const char *const others[] = {"",      "/web", "/web/",           "/web/none.js",
                                         "/web.", "//",   "/web//style.css", "/webstyle.css"};
    assert_true(gw_page_has("/"));
    assert_true(gw_page_has("/web/app.js"));
    assert_true(gw_page_has("/web/style.css"));
    for (size_t i = 0; i < BATON_N_OF(others); i++)
        if (gw_page_has(others[i]))
            fail_msg("has: %s", others[i]);
}

TEST(a_tag_is_matched_alone_in_a_list_weakly_or_by_a_star)
{
    static const char *const matching[] = {
        "\"abc\"",      "W/\"abc\"", "*", "\"x\", \"abc\"", "\"abc\",\"x\"", "  \"x\",W/\"abc\"  ",
        "\"\",\"abc\"",
    };
    static const char *const others[] = {
        "",      "abc",        "\"ab\"",   "\"abcd\"", "\"abc", "W/",        "W/abc",
        "\"x\"", "x, \"abc\"", "*, \"x\"", ",",        "\"",    "w/\"abc\"",
    };
    for (size_t i = 0; i < BATON_N_OF(matching); i++)
        if (!gw_web_etag_matches(matching[i], "\"abc\""))
            fail_msg("does not match: %s", matching[i]);
    for (size_t i = 0; i < BATON_N_OF(others); i++)
        if (gw_web_etag_matches(others[i], "\"abc\""))
            fail_msg("matches: %s", others[i]);
}
