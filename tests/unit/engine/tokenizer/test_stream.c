#include "tests/support/test.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/utf8.h"
#include "engine/tokenizer/stream.h"

enum { MAX_OUT = 1 << 16 };

static struct baton_text_stream stream;
static struct baton_buf out;

static void start(const char *const *stops, int n_stops)
{
    size_t n_bytes[BATON_STOP_MAX];
    for (int i = 0; i < n_stops; i++)
        n_bytes[i] = strlen(stops[i]);
    baton_buf_init(&out, MAX_OUT);
    assert_ok(baton_text_stream_init(&stream, stops, n_bytes, n_stops));
}

/* Pushes bytes and checks all that was shown so far. */
static void push(const char *bytes, const char *shown)
{
    baton_text_stream_push(&stream, bytes, strlen(bytes), &out);
    assert_string_equal(baton_buf_text(&out), shown);
}

static void end(const char *shown)
{
    baton_text_stream_end(&stream, &out);
    assert_string_equal(baton_buf_text(&out), shown);
    baton_text_stream_fini(&stream);
    baton_buf_fini(&out);
}

TEST(plain_text_is_shown_at_once)
{
    start(NULL, 0);
    push("Once", "Once");
    push(" upon", "Once upon");
    end("Once upon");
}

TEST(half_a_character_waits_for_its_rest)
{
    start(NULL, 0);
    push("a\xf0", "a");
    push("\x9f\xa6", "a");
    push("\x99z\xc3", "a\xf0\x9f\xa6\x99z");
    push("\xa9", "a\xf0\x9f\xa6\x99z\xc3\xa9");
    end("a\xf0\x9f\xa6\x99z\xc3\xa9");
}

TEST(bad_bytes_become_replacement_characters)
{
    start(NULL, 0);
    push("\xff\x80", "\ufffd\ufffd");
    push("\xe2\x82", "\ufffd\ufffd");
    push("x", "\ufffd\ufffd\ufffdx");
    push("\xf0\x9f", "\ufffd\ufffd\ufffdx");
    push("\xe9", "\ufffd\ufffd\ufffdx\ufffd");
    end("\ufffd\ufffd\ufffdx\ufffd\ufffd");
}

TEST(an_incomplete_character_ends_as_one_replacement)
{
    start(NULL, 0);
    push("a\xf0\x9f\xa6", "a");
    end("a\ufffd");
}

TEST(a_stop_string_split_over_two_tokens_is_withheld)
{
    static const char *const stops[] = {"\n\nUser:"};
    start(stops, 1);
    push("yes.\n", "yes.");
    push("\nUs", "yes.");
    push("er: and", "yes.");
    assert_true(stream.stopped);
    push("more", "yes.");
    end("yes.");
}

TEST(text_that_turns_out_not_to_be_a_stop_string_is_shown)
{
    static const char *const stops[] = {"aab"};
    start(stops, 1);
    push("xaa", "x");
    push("a", "xa");
    push("c", "xaaac");
    push("aa", "xaaac");
    assert_false(stream.stopped);
    end("xaaacaa");
}

TEST(the_stop_string_that_is_complete_first_ends_the_text)
{
    static const char *const stops[] = {"abcd", "bc"};
    start(stops, 2);
    push("xabcd", "xa");
    assert_true(stream.stopped);
    end("xa");
}

TEST(the_longest_of_simultaneous_stop_strings_is_removed)
{
    static const char *const stops[] = {"c", "abc"};
    start(stops, 2);
    push("xab", "x");
    assert_null(baton_text_stream_met(&stream));
    push("cab", "x");
    assert_ptr_equal(baton_text_stream_met(&stream), &stream.stops[1]);
    end("x");
}

TEST(a_stop_string_may_begin_with_part_of_a_character_shown)
{
    static const char *const stops[] = {"\u00e9!"};
    start(stops, 1);
    push("\u00e8\u00e9", "\u00e8");
    push("\u00e9!", "\u00e8\u00e9");
    assert_true(stream.stopped);
    end("\u00e8\u00e9");
}

TEST(a_replacement_at_the_end_can_complete_a_stop_string)
{
    static const char *const stops[] = {"z\ufffd"};
    start(stops, 1);
    push("az\xc3", "a");
    end("a");
}

TEST(a_restart_forgets_the_text_and_keeps_the_stop_strings)
{
    static const char *const stops[] = {"end"};
    start(stops, 1);
    push("a\xc3", "a");
    push("en", "a\xef\xbf\xbd");
    baton_text_stream_restart(&stream);
    baton_buf_reset(&out);
    push("d b", "d b");
    push(" end", "d b ");
    assert_true(stream.stopped);
    baton_text_stream_restart(&stream);
    push("c", "d b c");
    end("d b c");
}

TEST(init_refuses_too_many_and_too_long_stop_strings)
{
    const char *many[BATON_STOP_MAX + 1];
    size_t n_bytes[BATON_STOP_MAX + 1];
    char longest[BATON_STOP_MAX_BYTES + 1];
    const char *one;
    size_t n;
    for (int i = 0; i <= BATON_STOP_MAX; i++) {
        many[i] = "x";
        n_bytes[i] = 1;
    }
    assert_int_equal(baton_text_stream_init(&stream, many, n_bytes, BATON_STOP_MAX + 1),
                     BATON_LIMIT);
    memset(longest, 'x', sizeof longest);
    one = longest;
    n = sizeof longest;
    assert_int_equal(baton_text_stream_init(&stream, &one, &n, 1), BATON_LIMIT);
    n = 0;
    assert_int_equal(baton_text_stream_init(&stream, &one, &n, 1), BATON_INVALID);
    one = "\xc3";
    n = 1;
    assert_int_equal(baton_text_stream_init(&stream, &one, &n, 1), BATON_INVALID);
}

TEST(the_longest_stop_string_is_held_back_whole)
{
    enum { N = BATON_STOP_MAX_BYTES };
    char stop[N + 1] = {0}, almost[N] = {0}, shown[N + 1] = {0};
    const char *const stops[] = {stop};
    memset(stop, 'x', N);
    memset(almost, 'x', N - 1);
    memcpy(shown, almost, N - 1);
    shown[N - 1] = 'y';
    start(stops, 1);
    push(almost, "");
    push("y", shown);
    push(almost, shown);
    assert_false(stream.stopped);
    push("x", shown);
    assert_true(stream.stopped);
    end(shown);
}

/* The text that a stream must show in all: up to the match that is complete first. */
static size_t naive_length(const char *text, const char *const *stops, int n_stops)
{
    for (size_t done = 1; done <= strlen(text); done++) {
        size_t longest = 0;
        for (int i = 0; i < n_stops; i++) {
            size_t n = strlen(stops[i]);
            if (n <= done && n > longest && !memcmp(text + done - n, stops[i], n))
                longest = n;
        }
        if (longest)
            return done - longest;
    }
    return strlen(text);
}

TEST(random_texts_in_random_pieces_agree_with_the_naive_search)
{
    static const char *const stops[] = {"abab", "bb\u00e9", "caa", "\u00e9\u00e9"};
    static const char *const letters[] = {"a", "b", "c", "a", "b", "\u00e9"};
    unsigned seed = 9;
    for (int round = 0; round < 20000; round++) {
        char text[64] = {0};
        size_t n = 0;
        for (int i = 0; i < 24; i++) {
            const char *letter = letters[rand_r(&seed) % 6];
            memcpy(text + n, letter, strlen(letter));
            n += strlen(letter);
        }
        int n_stops = rand_r(&seed) % 5;
        start(stops, n_stops);
        for (size_t at = 0, piece; at < n; at += piece) {
            piece = 1 + (size_t)rand_r(&seed) % 5;
            piece = piece < n - at ? piece : n - at;
            baton_text_stream_push(&stream, text + at, piece, &out);
            assert_true(baton_utf8_valid(baton_buf_text(&out), out.len));
        }
        text[naive_length(text, stops, n_stops)] = 0;
        end(text);
    }
}

TEST(each_bad_byte_may_be_one_replacement)
{
    struct baton_text_stream bad = {.n_stops = 0};
    struct baton_buf text;
    baton_buf_init(&text, 100);
    baton_text_stream_push(&bad,
                           "\xe2\x82"
                           "a",
                           3, &text);
    assert_string_equal(text.data, "\ufffd"
                                   "a");
    baton_buf_reset(&text);
    bad.each_byte = true;
    baton_text_stream_push(&bad,
                           "\xe2\x82"
                           "a",
                           3, &text);
    assert_string_equal(text.data, "\ufffd\ufffd"
                                   "a");
    baton_buf_reset(&text);
    baton_text_stream_push(&bad, "\xf0\x9f", 2, &text);
    baton_text_stream_push(&bad, "\x98", 1, &text);
    assert_int_equal(text.len, 0);
    baton_text_stream_end(&bad, &text);
    assert_string_equal(text.data, "\ufffd\ufffd\ufffd");
    baton_buf_fini(&text);
}
