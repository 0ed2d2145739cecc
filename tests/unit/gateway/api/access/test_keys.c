#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/array.h"
#include "common/base/buf.h"
#include "gateway/api/access/keys.h"

static struct gw_keys *parse(const char *text)
{
    struct gw_keys *keys = NULL;
    struct baton_why why = {""};
    if (gw_keys_parse("keys.txt", text, strlen(text), &keys, &why))
        fail_msg("%s", why.text);
    return keys;
}

static bool admits(const struct gw_keys *keys, const char *authorization)
{
    return gw_keys_find(keys, authorization) != NULL;
}

static void refuses(const char *text, size_t n, enum baton_err expected, const char *reason)
{
    struct gw_keys *keys = NULL;
    struct baton_why why = {""};
    assert_int_equal(gw_keys_parse("keys.txt", text, n, &keys, &why), expected);
    assert_null(keys);
    assert_string_equal(why.text, reason);
}

TEST(comments_blank_lines_and_trailing_space_are_no_part_of_a_key)
{
    struct gw_keys *keys =
        parse("# ours\n\n  \t\nalpha-key-1\r\n\r\nbeta-key-22 \t\n#no-key-at-all\n"
              "last-without-newline");
    assert_int_equal(gw_keys_n(keys), 3);
    assert_true(admits(keys, "Bearer alpha-key-1"));
    assert_true(admits(keys, "Bearer beta-key-22"));
    assert_true(admits(keys, "Bearer last-without-newline"));
    assert_false(admits(keys, "Bearer #no-key-at-all"));
    gw_keys_free(keys);
}

TEST(only_a_whole_key_after_bearer_is_admitted)
{
    static const char *const refused[] = {"",
                                          "Bearer",
                                          "Bearer ",
                                          "alpha-key-1",
                                          "Bearer alpha-key-",
                                          "Bearer alpha-key-11",
                                          "Bearer Alpha-key-1",
                                          "Bearer alpha-key-1 beta-key-22",
                                          "Bearer alpha-key-1,beta-key-22",
                                          "Bearer\talpha-key-1",
                                          "Basic alpha-key-1",
                                          "Bearers alpha-key-1"};
    struct gw_keys *keys = parse("alpha-key-1\nbeta-key-22\n");
    for (size_t i = 0; i < BATON_N_OF(refused); i++)
        if (admits(keys, refused[i]))
            fail_msg("admitted: %s", refused[i]);
    assert_true(admits(keys, "bearer alpha-key-1"));
    assert_true(admits(keys, "BEARER   beta-key-22"));
    gw_keys_free(keys);
}

TEST(a_key_has_8_to_256_characters)
{
    static const char short_or_long[] = "keys.txt: line 1: a key has 8 to 256 characters";
    char text[300], header[320];
    memset(text, 'k', sizeof text);
    refuses(text, 7, BATON_INVALID, short_or_long);
    refuses(text, 257, BATON_INVALID, short_or_long);
    text[256] = 0;
    struct gw_keys *keys = parse(text);
    (void)snprintf(header, sizeof header, "Bearer %s", text);
    assert_true(admits(keys, header));
    gw_keys_free(keys);
    gw_keys_free(parse("kkkkkkkk"));
}

TEST(a_bad_line_is_named_by_its_number_and_never_shown)
{
    static const char reason[] =
        "keys.txt: line 3: a key holds printable ASCII characters only, and no spaces";
    static const char *const bad[] = {"caf\xc3\xa9-key-1", "tab\tin-it-1", "del\x7fin-it-1"};
    char text[64];
    for (size_t i = 0; i < BATON_N_OF(bad); i++) {
        int n = snprintf(text, sizeof text, "good-key-1\n#\n%s\n", bad[i]);
        refuses(text, (size_t)n, BATON_INVALID, reason);
    }
    refuses("good-key-1\n#\nnul\0in-it-1", 24, BATON_INVALID, reason);
    refuses("good-key-1\n leading1", 20, BATON_INVALID,
            "keys.txt: line 2: a key has 8 to 256 characters");
}

TEST(a_line_may_say_how_much_its_key_may_have_at_once)
{
    struct gw_keys *keys = parse("alpha-key-1 max=3\nbeta-key-22\ngamma-key-3   max=0 \n");
    assert_int_equal(gw_key_max(gw_keys_find(keys, "Bearer alpha-key-1"), 7), 3);
    assert_int_equal(gw_key_max(gw_keys_find(keys, "Bearer beta-key-22"), 7), 7);
    assert_int_equal(gw_key_max(gw_keys_find(keys, "Bearer gamma-key-3"), 7), 0);
    assert_false(admits(keys, "Bearer alpha-key-1 max=3"));
    gw_keys_free(keys);
}

static double rate(const struct gw_keys *keys, const char *authorization, enum gw_limit limit)
{
    return gw_key_account(gw_keys_find(keys, authorization))->limits.per_s[limit];
}

TEST(a_line_may_say_what_its_key_may_do_a_second)
{
    const struct gw_limits otherwise = {.per_s = {[GW_LIMIT_requests] = 5, [GW_LIMIT_bytes] = 6}};
    struct gw_keys *keys =
        parse("alpha-key-1 bytes_per_s=0  max=3 tokens_per_s=250\nbeta-key-22\n");
    gw_keys_limit(keys, &otherwise);
    assert_true(rate(keys, "Bearer alpha-key-1", GW_LIMIT_requests) == 5);
    assert_true(rate(keys, "Bearer alpha-key-1", GW_LIMIT_tokens) == 250);
    assert_true(rate(keys, "Bearer alpha-key-1", GW_LIMIT_bytes) == 0);
    assert_int_equal(gw_key_max(gw_keys_find(keys, "Bearer alpha-key-1"), 7), 3);
    assert_true(rate(keys, "Bearer beta-key-22", GW_LIMIT_tokens) == 0);
    assert_true(rate(keys, "Bearer beta-key-22", GW_LIMIT_bytes) == 6);
    gw_keys_free(keys);
}

TEST(what_a_key_did_is_not_forgotten_when_the_file_is_read_again)
{
    struct gw_keys *old = parse("alpha-key-1 requests_per_s=1\n");
    struct gw_keys *new = parse("alpha-key-1 requests_per_s=2\n");
    const struct gw_limits none = {0};
    gw_keys_limit(old, &none);
    struct gw_account *account = gw_key_account(gw_keys_find(old, "Bearer alpha-key-1"));
    gw_account_charge(account, GW_LIMIT_requests, 100, 0);
    gw_keys_inherit(new, old);
    gw_keys_limit(new, &none);
    gw_keys_free(old);
    assert_ptr_equal(gw_key_account(gw_keys_find(new, "Bearer alpha-key-1")), account);
    assert_false(gw_account_is_even(account, 0));
    assert_true(account->limits.per_s[GW_LIMIT_requests] == 2);
    gw_keys_free(new);
}

TEST(nothing_else_may_follow_a_key)
{
    static const char *const bad[] = {"max=",
                                      "max=-1",
                                      "max=1x",
                                      "min=1",
                                      "max=1234567890",
                                      "max=1 max=2",
                                      "second-key",
                                      "requests_per_s",
                                      "bytes_per_s=1.5",
                                      "max=1 =2",
                                      "max=1 tokens=2",
                                      "max =1",
                                      "max=1\tmax=2",
                                      "tokens_per_s=1 tokens_per_s=1",
                                      "name=",
                                      "name=a name=b",
                                      "name=a/b",
                                      "priority=",
                                      "priority=low",
                                      "priority=batch priority=batch",
                                      "admin admin",
                                      "admin=1"};
    char text[64];
    for (size_t i = 0; i < BATON_N_OF(bad); i++) {
        int n = snprintf(text, sizeof text, "alpha-key-1 %s\n", bad[i]);
        refuses(text, (size_t)n, BATON_INVALID,
                "keys.txt: line 1: after a key there may only be name=TEXT of at most 64 letters, "
                "digits and . _ -, admin, priority=interactive, priority=batch, max=N, "
                "requests_per_s=N, "
                "tokens_per_s=N and bytes_per_s=N, each once, with N of at most 9 digits");
    }
}

TEST(a_key_has_the_name_of_its_line_or_its_number)
{
    struct gw_keys *keys = parse("alpha-key-1 name=team.a_7 max=2\n# ours\nbeta-key-22 max=1\n");
    assert_string_equal(gw_key_name(gw_keys_find(keys, "Bearer alpha-key-1")), "team.a_7");
    assert_string_equal(gw_key_name(gw_keys_find(keys, "Bearer beta-key-22")), "line-3");
    struct gw_keys *renamed = parse("alpha-key-1 name=b\n");
    gw_keys_inherit(renamed, keys);
    gw_keys_free(keys);
    assert_string_equal(gw_key_name(gw_keys_find(renamed, "Bearer alpha-key-1")), "b");
    gw_keys_free(renamed);
}

TEST(a_line_may_mark_an_operators_key)
{
    struct gw_keys *keys = parse("alpha-key-1 name=a admin max=2\nbeta-key-22\n");
    assert_true(gw_key_is_admin(gw_keys_find(keys, "Bearer alpha-key-1")));
    assert_false(gw_key_is_admin(gw_keys_find(keys, "Bearer beta-key-22")));
    struct gw_keys *changed = parse("alpha-key-1\nbeta-key-22 admin\n");
    gw_keys_inherit(changed, keys);
    gw_keys_free(keys);
    assert_false(gw_key_is_admin(gw_keys_find(changed, "Bearer alpha-key-1")));
    assert_true(gw_key_is_admin(gw_keys_find(changed, "Bearer beta-key-22")));
    gw_keys_free(changed);
}

TEST(a_line_may_say_that_its_keys_requests_are_batch)
{
    struct gw_keys *keys =
        parse("alpha-key-1 priority=batch max=2\nbeta-key-22 priority=interactive\n"
              "gamma-key-33\n");
    const struct gw_key *alpha = gw_keys_find(keys, "Bearer alpha-key-1");
    assert_int_equal(gw_key_priority(alpha), BATON_PRIORITY_BATCH);
    assert_int_equal(gw_key_max(alpha, 0), 2);
    assert_int_equal(gw_key_priority(gw_keys_find(keys, "Bearer beta-key-22")),
                     BATON_PRIORITY_INTERACTIVE);
    assert_int_equal(gw_key_priority(gw_keys_find(keys, "Bearer gamma-key-33")),
                     BATON_PRIORITY_INTERACTIVE);
    assert_int_equal(gw_key_priority(NULL), BATON_PRIORITY_INTERACTIVE);
    struct gw_keys *new = parse("alpha-key-1\n");
    gw_keys_inherit(new, keys);
    gw_keys_free(keys);
    assert_int_equal(gw_key_priority(gw_keys_find(new, "Bearer alpha-key-1")),
                     BATON_PRIORITY_INTERACTIVE);
    gw_keys_free(new);
}

TEST(generations_outlive_the_table_that_their_key_came_from)
{
    struct gw_keys *old = parse("alpha-key-1\nbeta-key-22 max=9\n");
    struct gw_keys *new = parse("alpha-key-1 max=2\nalpha-key-1\n");
    struct gw_key *alpha = gw_keys_find(old, "Bearer alpha-key-1");
    struct gw_key *beta = gw_keys_find(old, "Bearer beta-key-22");
    gw_key_take(alpha, 2);
    gw_key_take(beta, 1);
    gw_keys_inherit(new, old);
    gw_keys_free(old);
    assert_ptr_equal(gw_keys_find(new, "Bearer alpha-key-1"), alpha);
    assert_int_equal(gw_key_n_open(alpha), 2);
    assert_null(gw_keys_find(new, "Bearer beta-key-22"));
    gw_key_give(beta, 1); /* the last to know of it */
    gw_key_give(alpha, 1);
    gw_keys_free(new);
    gw_key_give(alpha, 1);
}

TEST(a_file_without_a_key_is_refused)
{
    refuses("", 0, BATON_INVALID, "keys.txt: holds no key");
    refuses("\n# none yet\n", 12, BATON_INVALID, "keys.txt: holds no key");
}

TEST(there_are_at_most_1024_keys)
{
    struct baton_buf text;
    struct gw_keys *keys;
    baton_buf_init(&text, 1 << 20);
    for (int i = 0; i < GW_KEYS_MAX; i++)
        baton_buf_printf(&text, "key-%08d\n", i);
    keys = parse(baton_buf_text(&text));
    assert_int_equal(gw_keys_n(keys), GW_KEYS_MAX);
    assert_true(admits(keys, "Bearer key-00000000"));
    assert_true(admits(keys, "Bearer key-00001023"));
    assert_false(admits(keys, "Bearer key-00001024"));
    gw_keys_free(keys);
    baton_buf_puts(&text, "one-too-many\n");
    refuses(text.data, text.len, BATON_LIMIT, "keys.txt: line 1025: more than 1024 keys");
    baton_buf_fini(&text);
}

TEST(a_file_is_read_or_named)
{
    char path[] = "/tmp/baton-keys-XXXXXX";
    struct gw_keys *keys = NULL;
    struct baton_why why = {""};
    int fd = mkstemp(path);
    assert_int_equal(write(fd, "alpha-key-1\n", 12), 12);
    close(fd);
    assert_ok(gw_keys_read(path, &keys, &why));
    assert_int_equal(gw_keys_n(keys), 1);
    gw_keys_free(keys);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(gw_keys_read(path, &keys, &why), BATON_NOT_FOUND);
    assert_non_null(strstr(why.text, path));
}
