#include "tests/support/test.h"

#include <math.h>
#include <stdio.h>
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
                                      "'a'",
                                      "[01]",
                                      "\"\xff\"",
                                      "[+1]",
                                      "{a:1}",
                                      "\"\t\"",
                                      "[-]",
                                      "[1.]",
                                      "[1e]",
                                      "[-01]",
                                      "[018446744073709551616]",
                                      "Infinity",
                                      "\"\\ud80\"",
                                      "tru",
                                      "[\"\\x\"]"};
    for (size_t i = 0; i < BATON_N_OF(bad); i++) {
        struct baton_json *root = NULL;
        assert_int_equal(parse(bad[i], &root), BATON_INVALID);
        assert_null(root);
    }
}

TEST(text_of_others_is_mended)
{
    static const struct {
        const char *text, *means;
    } texts[] = {
        {"\xef\xbb\xbf{\"a\":1}", "{\"a\":1}"},
        {"[18446744073709551615,-9223372036854775809]",
         "[1.8446744073709552e+19,-9.2233720368547758e+18]"},
        {"[9223372036854775807, -9223372036854775808]",
         "[9223372036854775807,-9223372036854775808]"},
        {"[1e999,-1e999,1E-999]", "[1.7976931348623157e+308,-1.7976931348623157e+308,0]"},
        {"\"18446744073709551616 \\\" 18446744073709551616\"",
         "\"18446744073709551616 \\\" 18446744073709551616\""},
        {"\"\\ud800\"", "\"\xef\xbf\xbd\""},
        {"\"\\udc00\\ud83d\\ude00\\uD83Dx\\uD83D\\uD83D\\uDE00\"",
         "\"\xef\xbf\xbd\xf0\x9f\x98\x80\xef\xbf\xbdx\xef\xbf\xbd\xf0\x9f\x98\x80\""},
        {"\"\\\\ud800\"", "\"\\\\ud800\""},
    };
    for (size_t i = 0; i < BATON_N_OF(texts); i++) {
        struct baton_json *root = NULL;
        struct baton_buf buf;
        baton_buf_init(&buf, 1000);
        struct baton_json_out out = baton_json_out(&buf);
        assert_ok(parse(texts[i].text, &root));
        baton_json_put_value(&out, NULL, root);
        assert_string_equal(baton_buf_text(&buf), texts[i].means);
        baton_json_free(root);
        baton_buf_fini(&buf);
    }
}

TEST(numbers_of_any_length_are_read)
{
    static char digits[3000];
    struct baton_json *root = NULL;
    struct baton_why why;
    memset(digits, '9', sizeof digits);
    for (size_t n = 1; n < sizeof digits; n += n < 1100 ? 1 : 97) {
        assert_ok(baton_json_parse(digits, n, &root, &why));
        assert_int_equal(baton_json_kind(root), n < 19 ? BATON_JSON_INT : BATON_JSON_REAL);
        baton_json_free(root);
    }
}

TEST(whole_numbers_are_integers)
{
    static const struct {
        const char *text;
        bool is_whole;
        int64_t number;
    } numbers[] = {{"4", true, 4},      {"4.0", true, 4},   {"-4e2", true, -400},
                   {"4.5", false, 0},   {"1e19", false, 0}, {"9223372036854775808", false, 0},
                   {"\"4\"", false, 0}, {"-0.0", true, 0},  {"null", false, 0}};
    for (size_t i = 0; i < BATON_N_OF(numbers); i++) {
        struct baton_json *root = NULL;
        int64_t number = 0;
        assert_ok(parse(numbers[i].text, &root));
        assert_int_equal(baton_json_whole(root, &number), numbers[i].is_whole);
        assert_int_equal(number, numbers[i].number);
        baton_json_free(root);
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

/* ---- bounds of a tree ---- */

enum { TEXT_BYTES = 32 << 10 };

/* Fills text with "[" item "," item ... "]"; a %d in the item counts. Returns the length. */
static size_t repeat(char *text, char bracket, const char *item)
{
    size_t n = 0;
    text[n++] = bracket;
    for (int i = 0; n < TEXT_BYTES - 64; i++)
        n += (size_t)snprintf(text + n, TEXT_BYTES - n, item, i);
    text[n - 1] = bracket == '[' ? ']' : '}';
    return n;
}

static enum baton_err parse_within(const char *text, size_t n, size_t max, size_t *bytes)
{
    struct baton_json *root = NULL;
    struct baton_why why;
    enum baton_err err = baton_json_parse_within(text, n, max, &root, bytes, &why);
    baton_json_free(root);
    return err;
}

TEST(a_tree_is_refused_while_it_is_parsed_if_it_is_larger_than_allowed)
{
    static const struct {
        char bracket;
        const char *item;
    } kinds[] = {{'[', "[],"},  {'[', "{},"},       {'[', "1,"},          {'[', "\"\","},
                 {'[', "0.5,"}, {'{', "\"%d\":1,"}, {'[', "{\"\":[{}]},"}};
    static char text[TEXT_BYTES];
    for (size_t i = 0; i < BATON_N_OF(kinds); i++) {
        size_t bytes = 0, n = repeat(text, kinds[i].bracket, kinds[i].item);
        assert_ok(parse_within(text, n, SIZE_MAX, &bytes));
        assert_in_range(bytes, 2 * n, 96 * n); /* jansson's, which gateway/api/routes relies on */
        assert_int_equal(parse_within(text, n, bytes / 2, &bytes), BATON_LIMIT);
        text[n - 1] = '!'; /* the bound is reached before this is read */
        assert_int_equal(parse_within(text, n, bytes / 2, &bytes), BATON_LIMIT);
        assert_int_equal(parse_within(text, n, SIZE_MAX, &bytes), BATON_INVALID);
    }
}

TEST(reading_a_string_takes_three_times_its_length_at_most)
{
    static char text[TEXT_BYTES];
    size_t bytes = 0, n = sizeof text;
    memset(text, 'a', n);
    text[0] = text[n - 1] = '"';
    assert_ok(parse_within(text, n, 3 * n + 4096, &bytes));
    assert_in_range(bytes, n, n + 4096);
    assert_int_equal(parse_within(text, n, n, &bytes), BATON_LIMIT);
}

TEST(a_bound_does_not_change_other_errors)
{
    struct baton_json *root = NULL;
    struct baton_why free_why, bound_why;
    static const char text[] = "{\n\"a\":1,\"a\":2}";
    assert_int_equal(baton_json_parse(text, sizeof text - 1, &root, &free_why), BATON_INVALID);
    assert_int_equal(
        baton_json_parse_within(text, sizeof text - 1, 1 << 20, &root, NULL, &bound_why),
        BATON_INVALID);
    assert_string_equal(free_why.text, bound_why.text);
    assert_non_null(strstr(free_why.text, "line 2 column"));
    assert_non_null(strstr(free_why.text, "duplicate object key"));
}
