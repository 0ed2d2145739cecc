#include "tests/support/test.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "engine/tokenizer/added.h"

static void fill(struct baton_added *added, const char *const *texts, size_t n)
{
    *added = (struct baton_added){0};
    for (size_t i = 0; i < n; i++) {
        struct baton_added_token token = {
            .text = texts[i], .n_bytes = strlen(texts[i]), .id = (uint32_t)i};
        assert_ok(baton_added_add(added, token));
    }
    baton_added_seal(added);
}

TEST(the_leftmost_token_is_found_and_of_those_the_longest)
{
    static const char *const texts[] = {"<a>", "<a><b>", "<b>", "b", "<a><b><c>x"};
    struct baton_added added;
    size_t at;
    fill(&added, texts, 5);
    const char *text = "..<a><b><c>.";
    const struct baton_added_token *token = baton_added_find(&added, text, strlen(text), 0, &at);
    assert_int_equal(token->id, 1);
    assert_int_equal(at, 2);
    token = baton_added_find(&added, text, strlen(text), 3, &at);
    assert_int_equal(token->id, 2);
    assert_int_equal(at, 5);
    token = baton_added_find(&added, text, strlen(text), 6, &at);
    assert_int_equal(token->id, 3);
    assert_null(baton_added_find(&added, text, strlen(text), 7, &at));
    baton_added_fini(&added);
}

TEST(a_token_cut_short_by_the_end_of_the_text_is_not_found)
{
    static const char *const texts[] = {"<end>"};
    struct baton_added added;
    size_t at;
    fill(&added, texts, 1);
    assert_null(baton_added_find(&added, "..<end>", 6, 0, &at));
    assert_non_null(baton_added_find(&added, "..<end>", 7, 0, &at));
    baton_added_fini(&added);
}

TEST(an_empty_set_finds_nothing)
{
    struct baton_added added = {0};
    size_t at;
    baton_added_seal(&added);
    assert_null(baton_added_find(&added, "text", 4, 0, &at));
    baton_added_fini(&added);
}

/* Tries every token at every place. */
static size_t naive_find(const char *const *texts, size_t n_texts, const char *text, size_t start,
                         size_t *at)
{
    for (size_t i = start; text[i]; i++) {
        size_t best = n_texts;
        for (size_t t = 0; t < n_texts; t++)
            if (!strncmp(text + i, texts[t], strlen(texts[t])) &&
                (best == n_texts || strlen(texts[t]) > strlen(texts[best])))
                best = t;
        if (best < n_texts) {
            *at = i;
            return best;
        }
    }
    return n_texts;
}

TEST(random_texts_agree_with_the_naive_search)
{
    static const char *const texts[] = {"ab", "abab", "ba", "bbb", "cab", "abc", "\xc3\xa9"};
    enum { N = BATON_N_OF(texts) };
    struct baton_added added;
    unsigned seed = 1;
    fill(&added, texts, N);
    for (int round = 0; round < 20000; round++) {
        char text[13] = {0};
        size_t at = 0, naive_at = 0;
        for (int i = 0; i < 12; i++)
            text[i] = "abc\xc3\xa9"[rand_r(&seed) % 5];
        size_t naive = naive_find(texts, N, text, 0, &naive_at);
        const struct baton_added_token *token = baton_added_find(&added, text, 12, 0, &at);
        assert_int_equal(token ? token->id : N, naive);
        assert_int_equal(at, naive_at);
    }
    baton_added_fini(&added);
}
