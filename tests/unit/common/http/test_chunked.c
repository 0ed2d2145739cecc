#include "tests/support/test.h"

#include <string.h>

#include "common/base/array.h"
#include "common/http/chunked.h"

enum { MAX_BODY_BYTES = 64 };

static struct baton_buf body;

/* Feeds the text in two pieces, or as a whole when cut is its length. Adds up *n_used. */
static enum baton_err decode_cut(const char *text, size_t cut, size_t *n_used)
{
    struct baton_chunked chunked;
    size_t used = 0;
    baton_chunked_init(&chunked);
    baton_buf_reset(&body);
    *n_used = 0;
    enum baton_err err = baton_chunked_feed(&chunked, text, cut, &used, &body);
    *n_used = used;
    if (err != BATON_AGAIN)
        return err;
    used = 0;
    err = baton_chunked_feed(&chunked, text + cut, strlen(text) - cut, &used, &body);
    *n_used += used;
    return err;
}

static enum baton_err decode(const char *text)
{
    size_t n_used;
    return decode_cut(text, strlen(text), &n_used);
}

TEST(chunks_are_put_together)
{
    assert_ok(decode("5\r\nhello\r\n1\r\n \r\n5\r\nworld\r\n0\r\n\r\n"));
    assert_string_equal(baton_buf_text(&body), "hello world");
}

TEST(an_empty_body_is_its_last_chunk_alone)
{
    assert_ok(decode("0\r\n\r\n"));
    assert_int_equal(body.len, 0);
    assert_ok(decode("00000000\r\n\r\n"));
}

TEST(sizes_are_hexadecimal_in_either_case)
{
    assert_ok(decode("a\r\n0123456789\r\n0A\r\n0123456789\r\n0\r\n\r\n"));
    assert_int_equal(body.len, 20);
}

TEST(bytes_after_the_body_are_left_alone)
{
    size_t n_used;
    const char *text = "1\r\na\r\n0\r\n\r\nGET /";
    assert_ok(decode_cut(text, strlen(text), &n_used));
    assert_int_equal(n_used, strlen(text) - 5);
}

TEST(extensions_and_trailers_are_dropped)
{
    assert_ok(decode("3;name=\"a b\"\r\nabc\r\n0;last\r\nX-Sum: 1\r\nY:\r\n\r\n"));
    assert_string_equal(baton_buf_text(&body), "abc");
}

TEST(malformed_sizes_are_refused)
{
    static const char *const bad[] = {"\r\n",          ";\r\n",      "g\r\n",     " 5\r\n",
                                      "5 \r\n",        "5 ;a\r\n",   "+5\r\n",    "-5\r\n",
                                      "0x5\r\n",       "5\n",        "5\r5\r\n",  "5\r\r\n",
                                      "5,5\r\n",       "5\t\r\n",    "5h\r\n",    "000000005\r\n",
                                      "123456789\r\n", "5;a\nb\r\n", "5;a\rb\r\n"};
    for (size_t i = 0; i < BATON_N_OF(bad); i++)
        if (decode(bad[i]) != BATON_INVALID)
            fail_msg("accepted: %s", bad[i]);
}

TEST(a_chunk_ends_in_exactly_cr_lf)
{
    assert_int_equal(decode("1\r\nab\r\n"), BATON_INVALID);
    assert_int_equal(decode("1\r\na\n"), BATON_INVALID);
    assert_int_equal(decode("1\r\na\rb"), BATON_INVALID);
    assert_int_equal(decode("1\r\na\r\n\r\n"), BATON_INVALID);
}

TEST(malformed_trailers_are_refused)
{
    static const char *const bad[] = {"0\r\n: a\r\n",      "0\r\n a: b\r\n", "0\r\na : b\r\n",
                                      "0\r\na\r\n",        "0\r\na: b\n",    "0\r\na: b\r\r\n",
                                      "0\r\na: b\x01\r\n", "0\r\n\rx",       "0\r\n\n"};
    for (size_t i = 0; i < BATON_N_OF(bad); i++)
        if (decode(bad[i]) != BATON_INVALID)
            fail_msg("accepted: %s", bad[i]);
}

TEST(a_body_over_the_limit_is_refused_before_its_bytes)
{
    assert_int_equal(decode("41\r\n"), BATON_LIMIT);
    assert_int_equal(decode("FFFFFFFF\r\n"), BATON_LIMIT);
    assert_int_equal(decode("40\r\n"), BATON_AGAIN);
    assert_int_equal(decode("1\r\na\r\n40\r\n"), BATON_LIMIT);
}

/* `before`, then n times c, then `after`. */
static enum baton_err decode_long(const char *before, char c, size_t n, const char *after)
{
    struct baton_buf text;
    baton_buf_init(&text, 1 << 16);
    baton_buf_puts(&text, before);
    while (n--)
        baton_buf_putc(&text, c);
    baton_buf_puts(&text, after);
    enum baton_err err = decode(baton_buf_text(&text));
    baton_buf_fini(&text);
    return err;
}

TEST(extensions_are_capped)
{
    size_t max = BATON_CHUNK_MAX_EXTENSION_BYTES;
    assert_ok(decode_long("0;", 'a', max, "\r\n\r\n"));
    assert_int_equal(decode_long("0;", 'a', max + 1, "\r\n\r\n"), BATON_INVALID);
}

TEST(trailers_are_capped)
{
    size_t max = BATON_CHUNK_MAX_TRAILER_BYTES;
    assert_ok(decode_long("0\r\na:", 'a', max - 2, "\r\n\r\n"));
    assert_int_equal(decode_long("0\r\na:", 'a', max + 1, "\r\n\r\n"), BATON_INVALID);
}

TEST(a_body_split_at_any_byte_decodes_the_same)
{
    const char *text = "5;x=y\r\nhello\r\n6\r\n world\r\n0\r\nT: v\r\n\r\nrest";
    for (size_t cut = 0; cut <= strlen(text); cut++) {
        size_t n_used;
        assert_ok(decode_cut(text, cut, &n_used));
        assert_int_equal(n_used, strlen(text) - 4);
        assert_string_equal(baton_buf_text(&body), "hello world");
    }
}

SETUP(setup)
{
    baton_buf_init(&body, MAX_BODY_BYTES);
}

TEARDOWN(teardown)
{
    baton_buf_fini(&body);
}

ALL_TESTS(setup, teardown)
