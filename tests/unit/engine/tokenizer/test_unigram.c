#include "tests/support/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/tokenizer/model/unigram.h"

enum { N_PIECES = 24, MAX_WORD = 14, N_ROUNDS = 300, UNKNOWN = 0 };

static char texts[N_PIECES][8];
static struct baton_token_row rows[N_PIECES];
static double scores[N_PIECES];

/* Random pieces over a, b, c and two-byte é; d is unknown. Piece 0 is the unknown token. */
static void make(struct baton_unigram *unigram, unsigned *seed)
{
    static const char *const letters[] = {"a", "b", "c", "é"};
    struct baton_tokenizer_tables tables = {
        .tokens = rows, .n_tokens = N_PIECES, .scores = scores, .unk_id = UNKNOWN};
    for (uint32_t id = 0; id < N_PIECES; id++) {
        texts[id][0] = 0;
        if (id > 0 && id <= 4) /* each letter but d is a piece of its own */
            (void)strcat(texts[id], letters[id - 1]);
        for (int n = 1 + rand_r(seed) % 3; id > 4 && n > 0; n--)
            (void)strcat(texts[id], letters[rand_r(seed) % 4]);
        /* Random reals: no two segmentations have the same score. */
        scores[id] = -(double)(1 + rand_r(seed) % 100000) / 7919 - id * 1e-7;
        rows[id] = (struct baton_token_row){.text = texts[id], .n_bytes = strlen(texts[id])};
    }
    assert_ok(baton_unigram_init(unigram, &tables));
    for (uint32_t id = 1; id < N_PIECES; id++) {
        bool is_new = true;
        for (uint32_t other = 1; other < id; other++)
            is_new &= strcmp(texts[id], texts[other]) != 0;
        struct baton_text_entry piece = {
            .text = texts[id], .n_bytes = rows[id].n_bytes, .value = id};
        if (is_new)
            assert_ok(baton_text_set_add(&unigram->pieces, piece));
    }
    baton_text_set_seal(&unigram->pieces);
}

static size_t character(const char *text)
{
    return (unsigned char)*text < 0x80 ? 1 : 2;
}

/* The definition: the best of all ways to cut the word. */
static double best_score(const struct baton_unigram *unigram, const char *word, size_t n)
{
    double best = -INFINITY;
    bool has_character = false;
    if (!n)
        return 0;
    for (size_t i = 0; i < unigram->pieces.n; i++) {
        const struct baton_text_entry *piece = &unigram->pieces.entries[i];
        if (piece->n_bytes > n || memcmp(piece->text, word, piece->n_bytes) != 0)
            continue;
        has_character |= piece->n_bytes == character(word);
        double score =
            scores[piece->value] + best_score(unigram, word + piece->n_bytes, n - piece->n_bytes);
        best = score > best ? score : best;
    }
    size_t skip = character(word);
    double unknown = unigram->unk_score + best_score(unigram, word + skip, n - skip);
    return !has_character && unknown > best ? unknown : best;
}

/* Neighbouring unknowns are one id. */
static double score_of(const struct baton_unigram *unigram, const struct baton_tokens *tokens,
                       const char *word)
{
    double sum = 0;
    size_t at = 0;
    for (size_t i = 0; i < tokens->n; i++) {
        uint32_t id = tokens->ids[i];
        if (id == UNKNOWN)
            for (; word[at] == 'd'; at++)
                sum += unigram->unk_score;
        else
            assert_memory_equal(word + at, texts[id], rows[id].n_bytes);
        sum += id == UNKNOWN ? 0 : scores[id];
        at += id == UNKNOWN ? 0 : rows[id].n_bytes;
    }
    assert_int_equal(at, strlen(word));
    return sum;
}

TEST(the_segmentation_is_the_best_of_all)
{
    static const char *const letters[] = {"a", "b", "c", "é", "a", "b", "c", "d"};
    unsigned seed = 11;
    for (int round = 0; round < N_ROUNDS; round++) {
        struct baton_unigram unigram;
        struct baton_tokens tokens = {0};
        struct baton_why why;
        char word[4 * MAX_WORD] = "";
        make(&unigram, &seed);
        for (int n = 1 + rand_r(&seed) % (MAX_WORD - 1); n > 0; n--)
            (void)strcat(word, letters[rand_r(&seed) % 8]);
        assert_ok(baton_unigram_encode(&unigram, word, strlen(word), &tokens, &why));
        double best = best_score(&unigram, word, strlen(word));
        if (fabs(score_of(&unigram, &tokens, word) - best) > 1e-9)
            fail_msg("\"%s\"", word);
        baton_tokens_fini(&tokens);
        baton_unigram_fini(&unigram);
    }
}

TEST(a_search_takes_no_more_steps_than_it_may)
{
    unsigned seed = 5;
    struct baton_unigram unigram;
    struct baton_tokens tokens = {0};
    struct baton_why why;
    make(&unigram, &seed);
    unigram.left_steps = 3;
    assert_int_equal(baton_unigram_encode(&unigram, "dddd", 4, &tokens, &why), BATON_INVALID);
    assert_non_null(strstr(why.text, "too many steps"));
    assert_int_equal(tokens.n, 0);
    unigram.left_steps = 4;
    assert_ok(baton_unigram_encode(&unigram, "dddd", 4, &tokens, &why));
    baton_tokens_fini(&tokens);
    baton_unigram_fini(&unigram);
}

TEST(unknown_characters_need_an_unknown_token)
{
    unsigned seed = 5;
    struct baton_unigram unigram;
    struct baton_tokens tokens = {0};
    struct baton_why why;
    make(&unigram, &seed);
    assert_ok(baton_unigram_encode(&unigram, "dd", 2, &tokens, &why));
    assert_int_equal(tokens.n, 1);
    assert_int_equal(tokens.ids[0], UNKNOWN);
    unigram.fallback_ids['d'] = 7;
    assert_ok(baton_unigram_encode(&unigram, "dd", 2, &tokens, &why));
    assert_int_equal(tokens.n, 3);
    assert_int_equal(tokens.ids[2], 7);
    unigram.unk_id = BATON_NO_TOKEN;
    assert_int_equal(baton_unigram_encode(&unigram, "d", 1, &tokens, &why), BATON_INVALID);
    assert_non_null(strstr(why.text, "no token for U+0064"));
    assert_int_equal(tokens.n, 3);
    baton_tokens_fini(&tokens);
    baton_unigram_fini(&unigram);
}
