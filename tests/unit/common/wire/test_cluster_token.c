#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/wire/cluster_token.h"

static struct baton_cluster_token token;
static struct baton_why why;

static enum baton_err parse(const char *text)
{
    token = (struct baton_cluster_token){.path = "token.txt"};
    why.text[0] = 0;
    return baton_cluster_token_parse(&token, text, strlen(text), &why);
}

static void refuses(const char *text, const char *reason)
{
    assert_int_equal(parse(text), BATON_INVALID);
    assert_non_null(strstr(why.text, reason));
    assert_int_equal(token.n, 0);
}

TEST(a_token_has_a_line_of_its_own)
{
    assert_ok(parse("# of the fleet\n\nfirst-token \r\n"));
    assert_int_equal(token.n, 1);
    assert_string_equal(token.texts[0], "first-token");
    assert_true(baton_cluster_token_accepts(&token, "first-token"));
    assert_false(baton_cluster_token_accepts(&token, ""));
    assert_false(baton_cluster_token_accepts(&token, "first-toke"));
    assert_false(baton_cluster_token_accepts(&token, "first-token "));
    assert_false(baton_cluster_token_accepts(&token, "First-token"));
}

TEST(the_first_of_two_is_sent_and_both_are_accepted)
{
    assert_ok(parse("first-token\nsecond-token"));
    assert_string_equal(token.texts[0], "first-token");
    assert_true(baton_cluster_token_accepts(&token, "first-token"));
    assert_true(baton_cluster_token_accepts(&token, "second-token"));
    assert_false(baton_cluster_token_accepts(&token, "first-token\nsecond-token"));
}

TEST(a_bad_line_is_named_by_its_number_and_never_shown)
{
    char long_line[BATON_CLUSTER_TOKEN_MAX_BYTES + 2] = "";
    memset(long_line, 'x', BATON_CLUSTER_TOKEN_MAX_BYTES + 1);
    refuses("", "token.txt: holds no token");
    refuses("# none\n\n", "token.txt: holds no token");
    refuses("#\nsecret7\n", "token.txt: line 2: a token has 8 to 256 characters");
    refuses(long_line, "line 1: a token has 8 to 256 characters");
    refuses("a secret token\n", "line 1: a token holds printable ASCII");
    refuses("one-token\ntwo-token\n\nthree-token\n", "line 4: a file holds at most two tokens");
    assert_null(strstr(why.text, "three"));
    assert_ok(parse(long_line + 1));
}

TEST(without_a_file_the_option_is_the_token)
{
    assert_ok(baton_cluster_token_open(&token, "s", "", &why));
    assert_true(baton_cluster_token_accepts(&token, "s"));
    assert_ok(baton_cluster_token_open(&token, "", "", &why));
    assert_true(baton_cluster_token_accepts(&token, ""));
    assert_false(baton_cluster_token_accepts(&token, "s"));
    assert_int_equal(baton_cluster_token_open(&token, "s", "f", &why), BATON_INVALID);
    assert_non_null(strstr(why.text, "both given"));
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

TEST(a_reload_takes_the_file_as_it_is_now_or_leaves_everything)
{
    char path[] = "/tmp/baton-token-XXXXXX";
    close(mkstemp(path));
    write_file(path, "first-token\n");
    assert_ok(baton_cluster_token_open(&token, "", path, &why));
    const char *sent = token.texts[0];
    write_file(path, "second-token\nfirst-token\n");
    baton_cluster_token_reload(&token);
    assert_string_equal(sent, "second-token");
    assert_true(baton_cluster_token_accepts(&token, "first-token"));
    write_file(path, "short\n");
    baton_cluster_token_reload(&token);
    assert_int_equal(unlink(path), 0);
    baton_cluster_token_reload(&token);
    assert_int_equal(token.n, 2);
    assert_string_equal(sent, "second-token");
}
