#include "tests/support/test.h"

#include <math.h>
#include <string.h>

#include "common/base/array.h"
#include "common/base/json.h"

static enum baton_err parse(const char *text, struct baton_json **root)
{
    struct baton_why why;
    return baton_json_parse(text, strlen(text), root, &why);
}

TEST(values_are_read_back_with_their_kinds)
{
    struct baton_json *root = NULL;
    size_t n;
    assert_ok(
        parse("{\"i\":-7,\"r\":2.5,\"s\":\"a\\u0000b\",\"t\":true,\"n\":null,\"a\":[1,2]}", &root));
    assert_int_equal(baton_json_size(root), 6);
    assert_int_equal(baton_json_int(baton_json_get(root, "i")), -7);
    assert_true(baton_json_number(baton_json_get(root, "r")) == 2.5);
    assert_true(baton_json_number(baton_json_get(root, "i")) == -7);
    assert_memory_equal(baton_json_string(baton_json_get(root, "s"), &n), "a\0b", 4);
    assert_int_equal(n, 3);
    assert_true(baton_json_bool(baton_json_get(root, "t")));
    assert_int_equal(baton_json_kind(baton_json_get(root, "n")), BATON_JSON_NULL);
    assert_int_equal(baton_json_kind(baton_json_get(root, "absent")), BATON_JSON_NULL);
    assert_int_equal(baton_json_int(baton_json_at(baton_json_get(root, "a"), 1)), 2);
    assert_null(baton_json_at(baton_json_get(root, "a"), 2));
    assert_string_equal(baton_json_key(baton_json_first(root)), "i");
    baton_json_free(root);
}

TEST(a_tree_is_made_of_new_values_and_shares_in_others)
{
    struct baton_json *root = NULL, *tree = baton_json_new_object(), *list = baton_json_new_array();
    struct baton_buf text;
    assert_ok(parse("{\"a\":[1,{\"b\":2.5}]}", &root));
    assert_true(baton_json_push(list, baton_json_share(baton_json_get(root, "a"))));
    assert_true(baton_json_push(list, baton_json_new_bool(false)));
    assert_true(baton_json_set(tree, "list", list));
    assert_true(baton_json_set(tree, "text", baton_json_new_text("zero\0 inside", 12)));
    assert_true(baton_json_set(tree, "text", baton_json_new_text("a\0b", 3)));
    baton_json_free(root);
    baton_buf_init(&text, 1024);
    struct baton_json_out out = baton_json_out(&text);
    baton_json_put_value(&out, NULL, tree);
    assert_string_equal(baton_buf_text(&text),
                        "{\"list\":[[1,{\"b\":2.5}],false],\"text\":\"a\\u0000b\"}");
    baton_json_free(tree);
    baton_buf_fini(&text);
}

TEST(what_cannot_be_made_is_told)
{
    struct baton_json *object = baton_json_new_object();
    assert_null(baton_json_new_text("\xff", 1));
    assert_null(baton_json_share(NULL));
    assert_false(baton_json_set(object, "a", NULL));
    assert_false(baton_json_set(NULL, "a", baton_json_new_bool(true)));
    assert_false(baton_json_push(NULL, baton_json_new_bool(true)));
    assert_false(baton_json_push(object, baton_json_new_array()));
    assert_int_equal(baton_json_size(object), 0);
    baton_json_free(object);
}

TEST(text_that_is_not_strict_json_is_refused)
{
    static const char *const bad[] = {"",
                                      "{",
                                      "{\"a\":1,\"a\":2}",
                                      "[1,]",
                                      "{} x",
                                      "NaN",
                                      "[1e999]",
                                      "'a'",
                                      "[01]",
                                      "\"\xff\"",
                                      "[+1]",
                                      "{a:1}",
                                      "\"\t\"",
                                      "[18446744073709551616]",
                                      "\"\\ud800\"",
                                      "tru",
                                      "[\"\\x\"]"};
    for (size_t i = 0; i < BATON_N_OF(bad); i++) {
        struct baton_json *root = NULL;
        assert_int_equal(parse(bad[i], &root), BATON_INVALID);
        assert_null(root);
    }
}

TEST(depth_is_bounded)
{
    static char deep[200000];
    struct baton_json *root = NULL;
    struct baton_why why;
    memset(deep, '[', sizeof deep);
    assert_int_equal(baton_json_parse(deep, sizeof deep, &root, &why), BATON_INVALID);
}

TEST(the_writer_sets_commas_and_escapes)
{
    struct baton_buf buf;
    baton_buf_init(&buf, 1000);
    struct baton_json_out out = baton_json_out(&buf);
    baton_json_open(&out, NULL, '{');
    baton_json_put_string(&out, "s", "a\"\\\n\x01");
    baton_json_open(&out, "a", '[');
    baton_json_put_int(&out, NULL, -1);
    baton_json_put_uint(&out, NULL, UINT64_MAX);
    baton_json_open(&out, NULL, '{');
    baton_json_close(&out, '}');
    baton_json_close(&out, ']');
    baton_json_put_real(&out, "r", 0.5);
    baton_json_put_real(&out, "nan", NAN);
    baton_json_put_bool(&out, "b", false);
    baton_json_put_null(&out, "n");
    baton_json_close(&out, '}');
    assert_string_equal(baton_buf_text(&buf),
                        "{\"s\":\"a\\\"\\\\\\n\\u0001\",\"a\":[-1,18446744073709551615,{}],"
                        "\"r\":0.5,\"nan\":null,\"b\":false,\"n\":null}");
    baton_buf_fini(&buf);
}

TEST(text_that_is_not_utf8_leaves_as_valid_json)
{
    struct baton_buf buf;
    baton_buf_init(&buf, 1000);
    struct baton_json_out out = baton_json_out(&buf);
    baton_json_put_text(&out, NULL, "a\xff\xe2\x82z\xe2\x82", 7);
    assert_string_equal(baton_buf_text(&buf), "\"a\xef\xbf\xbd\xef\xbf\xbdz\xef\xbf\xbd\"");
    baton_buf_fini(&buf);
}
