#include "tests/support/test.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "common/base/buf.h"
#include "common/base/utf8.h"
#include "engine/checkpoint/tokenizer_tables.h"
#include "engine/tokenizer/tokenizer.h"

enum { END_OF_TEXT = 2559, GPT2_END_OF_TEXT = 50256, PLENTY = 1 << 20 };

static struct baton_tokenizer *tale, *gpt2;

SETUP(set_up)
{
    struct baton_why why;
    if (baton_tokenizer_open("models/tale", &tale, &why) ||
        baton_tokenizer_open("tests/golden/gpt2-tokenizer", &gpt2, &why))
        fail_msg("%s", why.text);
}

TEARDOWN(tear_down)
{
    baton_tokenizer_close(tale);
    baton_tokenizer_close(gpt2);
}

static struct baton_tokens encode(struct baton_tokenizer *tokenizer, const char *text, size_t n,
                                  bool parse_special)
{
    struct baton_tokens tokens = {0};
    assert_ok(baton_tokenizer_encode(tokenizer, text, n, parse_special, PLENTY, &tokens, NULL));
    return tokens;
}

static void assert_round_trip(struct baton_tokenizer *tokenizer, const char *text, size_t n,
                              bool parse_special)
{
    struct baton_tokens tokens = encode(tokenizer, text, n, parse_special);
    struct baton_buf back;
    baton_buf_init(&back, n + 1);
    for (size_t i = 0; i < tokens.n; i++) {
        size_t n_bytes;
        const char *bytes = baton_tokenizer_bytes(tokenizer, tokens.ids[i], &n_bytes);
        assert_non_null(bytes);
        baton_buf_append(&back, bytes, n_bytes);
    }
    assert_ok(baton_buf_err(&back));
    assert_int_equal(back.len, n);
    assert_memory_equal(baton_buf_text(&back), text, n);
    baton_buf_fini(&back);
    baton_tokens_fini(&tokens);
}

TEST(a_known_text_has_its_known_ids)
{
    struct baton_tokens tokens = encode(gpt2, "Hello, world!", 13, true);
    assert_int_equal(tokens.n, 4);
    assert_int_equal(tokens.ids[0], 15496);
    assert_int_equal(tokens.ids[1], 11);
    assert_int_equal(tokens.ids[2], 995);
    assert_int_equal(tokens.ids[3], 0);
    baton_tokens_fini(&tokens);
}

TEST(a_special_token_is_one_id_only_on_request)
{
    static const char text[] = "one<|endoftext|>two";
    struct baton_tokens special = encode(tale, text, strlen(text), true);
    struct baton_tokens plain = encode(tale, text, strlen(text), false);
    size_t n_special = 0;
    for (size_t i = 0; i < special.n; i++)
        n_special += special.ids[i] == END_OF_TEXT;
    assert_int_equal(n_special, 1);
    for (size_t i = 0; i < plain.n; i++)
        assert_int_not_equal(plain.ids[i], END_OF_TEXT);
    assert_round_trip(tale, text, strlen(text), true);
    assert_round_trip(tale, text, strlen(text), false);
    baton_tokens_fini(&special);
    baton_tokens_fini(&plain);
}

/* The <|endoftext|> of the three in text that become one id, with the given spans. */
static void assert_special(const struct baton_span *spans, size_t n_spans, size_t expected)
{
    static const char text[] = "one<|endoftext|> two<|endoftext|><|endoftext|>";
    struct baton_tokens tokens = {0};
    size_t n_special = 0;
    assert_ok(baton_tokenizer_encode_spans(tale, text, strlen(text), spans, n_spans, PLENTY,
                                           &tokens, NULL));
    for (size_t i = 0; i < tokens.n; i++)
        n_special += tokens.ids[i] == END_OF_TEXT;
    assert_int_equal(n_special, expected);
    baton_tokens_fini(&tokens);
}

TEST(a_special_token_counts_only_within_a_span)
{
    static const struct baton_span first = {3, 16}, from_within = {4, 46}, to_within = {0, 32},
                                   second_and_third = {20, 46}, empty = {3, 3};
    static const struct baton_span halves[] = {{20, 25}, {25, 33}}, outer[] = {{0, 16}, {33, 46}};
    assert_special(NULL, 0, 0);
    assert_special(&first, 1, 1);
    assert_special(&from_within, 1, 2);
    assert_special(&to_within, 1, 1);
    assert_special(&second_and_third, 1, 2);
    assert_special(&empty, 1, 0);
    assert_special(halves, 2, 0);
    assert_special(outer, 2, 2);
}

TEST(words_run_across_the_borders_of_spans)
{
    static const char text[] = "user\n\nOnce upon<|endoftext|>a time";
    struct baton_tokens whole = encode(tale, text, strlen(text), true);
    for (size_t i = 0; i < strlen("user\n\nOnce upon"); i++) {
        struct baton_span spans[] = {{0, i}, {i, strlen(text)}};
        struct baton_tokens tokens = {0};
        assert_ok(baton_tokenizer_encode_spans(tale, text, strlen(text), spans, 2, PLENTY, &tokens,
                                               NULL));
        assert_int_equal(tokens.n, whole.n);
        assert_memory_equal(tokens.ids, whole.ids, whole.n * sizeof *whole.ids);
        baton_tokens_fini(&tokens);
    }
    baton_tokens_fini(&whole);
}

TEST(a_special_token_is_found_by_its_text)
{
    uint32_t id = 0;
    assert_true(baton_tokenizer_special_id(tale, "<|endoftext|>", 13, &id));
    assert_int_equal(id, END_OF_TEXT);
    assert_true(baton_tokenizer_special_id(gpt2, "<|endoftext|>", 13, &id));
    assert_int_equal(id, GPT2_END_OF_TEXT);
    assert_false(baton_tokenizer_special_id(tale, "<|endoftext|> ", 14, &id));
    assert_false(baton_tokenizer_special_id(tale, "<|endoftext|", 12, &id));
    assert_false(baton_tokenizer_special_id(tale, "a", 1, &id));
    assert_false(baton_tokenizer_special_id(tale, "", 0, &id));
}

TEST(end_of_text_is_special_without_a_tokenizer_json)
{
    struct baton_tokens tokens = encode(gpt2, "<|endoftext|>", 13, true);
    assert_int_equal(tokens.n, 1);
    assert_int_equal(tokens.ids[0], GPT2_END_OF_TEXT);
    assert_true(baton_tokenizer_is_special(gpt2, GPT2_END_OF_TEXT));
    assert_false(baton_tokenizer_is_special(gpt2, 0));
    baton_tokens_fini(&tokens);
}

TEST(an_id_outside_the_vocabulary_has_no_bytes)
{
    size_t n;
    assert_int_equal(baton_tokenizer_n_vocab(tale), 2560);
    assert_non_null(baton_tokenizer_bytes(tale, 2559, &n));
    assert_int_equal(n, strlen("<|endoftext|>"));
    assert_null(baton_tokenizer_bytes(tale, 2560, &n));
    assert_null(baton_tokenizer_bytes(tale, UINT32_MAX, &n));
    assert_false(baton_tokenizer_is_special(tale, 2560));
}

TEST(ids_are_appended_to_those_of_the_list)
{
    struct baton_tokens tokens = {0};
    assert_ok(baton_tokenizer_encode(tale, "a", 1, true, 1, &tokens, NULL));
    assert_ok(baton_tokenizer_encode(tale, "a", 1, true, 1, &tokens, NULL));
    assert_int_equal(tokens.n, 2);
    assert_int_equal(tokens.ids[0], tokens.ids[1]);
    baton_tokens_fini(&tokens);
}

TEST(one_token_too_many_is_a_limit_and_appends_nothing)
{
    static const char text[] = "Once upon a time<|endoftext|>";
    struct baton_why why;
    struct baton_tokens all = encode(tale, text, strlen(text), true), tokens = {0};
    assert_ok(baton_tokenizer_encode(tale, text, strlen(text), true, all.n, &tokens, &why));
    assert_int_equal(
        baton_tokenizer_encode(tale, text, strlen(text), true, all.n - 1, &tokens, &why),
        BATON_LIMIT);
    assert_int_equal(tokens.n, all.n);
    assert_int_equal(baton_tokenizer_encode(tale, text, strlen(text), true, 0, &tokens, &why),
                     BATON_LIMIT);
    assert_non_null(strstr(why.text, "0 tokens"));
    baton_tokens_fini(&all);
    baton_tokens_fini(&tokens);
}

TEST(an_empty_text_has_no_tokens)
{
    struct baton_tokens tokens = {0};
    assert_ok(baton_tokenizer_encode(tale, "", 0, true, 0, &tokens, NULL));
    assert_int_equal(tokens.n, 0);
    baton_tokens_fini(&tokens);
}

TEST(text_that_is_not_utf8_is_refused)
{
    struct baton_tokens tokens = {0};
    struct baton_why why;
    assert_int_equal(baton_tokenizer_encode(tale, "a\xff", 2, true, PLENTY, &tokens, &why),
                     BATON_INVALID);
    assert_int_equal(baton_tokenizer_encode(tale, "\xe2\x82", 2, true, PLENTY, &tokens, &why),
                     BATON_INVALID);
    assert_null(tokens.ids);
}

static size_t put_character(char *text, uint32_t c)
{
    size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const unsigned char leads[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = n; i-- > 1; c >>= 6)
        text[i] = (char)(0x80 | (c & 0x3f));
    text[0] = (char)(leads[n] | c);
    return n;
}

static uint32_t random_character(unsigned *seed)
{
    static const uint32_t ends[] = {0x80,   0x80,   0x80,    0x250,   0x800,
                                    0x3100, 0xd800, 0x20000, 0x110000};
    uint32_t c = (uint32_t)rand_r(seed) % ends[rand_r(seed) % 9];
    return c >= 0xd800 && c < 0xe000 ? ' ' : c;
}

TEST(any_characters_come_back_exactly)
{
    unsigned seed = 3;
    for (int round = 0; round < 3000; round++) {
        char text[4 * 64];
        size_t n = 0;
        for (int length = rand_r(&seed) % 64; length > 0; length--)
            n += put_character(text + n, random_character(&seed));
        assert_round_trip(tale, text, n, round & 1);
        assert_round_trip(gpt2, text, n, round & 1);
    }
}

TEST(any_bytes_come_back_exactly_or_are_refused)
{
    unsigned seed = 4;
    size_t n_valid = 0;
    for (int round = 0; round < 50000; round++) {
        char text[6];
        size_t n = 1 + (size_t)rand_r(&seed) % sizeof text;
        for (size_t i = 0; i < n; i++)
            text[i] = (char)(rand_r(&seed) % 3 ? rand_r(&seed) % 128 : rand_r(&seed) % 256);
        struct baton_tokens tokens = {0};
        bool valid = baton_utf8_valid(text, n);
        enum baton_err err = baton_tokenizer_encode(tale, text, n, true, PLENTY, &tokens, NULL);
        assert_int_equal(err, valid ? BATON_OK : BATON_INVALID);
        baton_tokens_fini(&tokens);
        if (valid)
            assert_round_trip(tale, text, n, true);
        n_valid += valid;
    }
    assert_true(n_valid > 1000);
}

TEST(every_single_byte_has_a_token)
{
    for (unsigned byte = 0; byte < 256; byte++) {
        bool found = false;
        for (uint32_t id = 0; id < baton_tokenizer_n_vocab(gpt2) && !found; id++) {
            size_t n;
            const char *bytes = baton_tokenizer_bytes(gpt2, id, &n);
            found = bytes && n == 1 && (unsigned char)bytes[0] == byte;
        }
        assert_true(found);
    }
}

TEST(a_hostile_million_bytes_is_refused_at_once_or_encoded)
{
    enum { N = 1000000 };
    char *text = malloc(N);
    struct baton_tokens tokens = {0};
    assert_non_null(text);
    for (size_t i = 0; i < N; i++)
        text[i] = "abcdefghij"[i * i % 7];
    assert_int_equal(baton_tokenizer_encode(gpt2, text, N, true, 512, &tokens, NULL), BATON_LIMIT);
    assert_null(tokens.ids);
    assert_round_trip(gpt2, text, N, true);
    free(text);
}

/* ---- two threads ---- */

enum { N_ENCODED = 20000 };

static const char mixed[] = "Once upon a time, naïve 日本 <|endoftext|>\n\n  x1234567890abcdefgh";

static void *encode_often(void *tokenizer)
{
    struct baton_tokens *tokens = calloc(1, sizeof *tokens);
    for (int i = 0; tokens && i < N_ENCODED / 10; i++)
        if (baton_tokenizer_encode(tokenizer, mixed, sizeof mixed - 1, true, PLENTY, tokens, NULL))
            break;
    return tokens;
}

TEST(a_second_tokenizer_encodes_the_same_at_the_same_time)
{
    static const char *const models[] = {"models/tale", "tests/golden/gpt2-tokenizer"};
    for (size_t i = 0; i < BATON_N_OF(models); i++) {
        struct baton_tokenizer_tables *tables = NULL;
        struct baton_tokenizer *first = NULL, *second = NULL;
        pthread_t thread;
        void *result;
        assert_ok(baton_tokenizer_tables_read(models[i], &tables, NULL));
        assert_ok(baton_tokenizer_create(tables, &first, NULL));
        assert_ok(baton_tokenizer_create_second(first, tables, &second, NULL));
        baton_tokenizer_tables_free(tables);
        assert_int_equal(pthread_create(&thread, NULL, encode_often, second), 0);
        struct baton_tokens *ours = encode_often(first), *theirs;
        assert_int_equal(pthread_join(thread, &result), 0);
        theirs = result;
        assert_true(ours && theirs && ours->n > N_ENCODED && ours->n == theirs->n);
        assert_memory_equal(ours->ids, theirs->ids, ours->n * sizeof *ours->ids);
        baton_tokens_fini(ours);
        baton_tokens_fini(theirs);
        free(ours);
        free(theirs);
        baton_tokenizer_close(second);
        baton_tokenizer_close(first);
    }
}

ALL_TESTS(set_up, tear_down)
