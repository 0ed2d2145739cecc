#include "tests/support/test.h"

#include <stdlib.h>
#include <string.h>

#include "engine/tokenizer/model/bpe.h"
#include "engine/tokenizer/model/vocab.h"

/* A random set of merges over the bytes a..d: id 4 + i is the result of the merge of rank i. */
enum { N_LETTERS = 4, N_MERGES = 24, MAX_WORD = 40, N_ROUNDS = 400, N_WORDS = 50 };

struct merge {
    uint32_t left, right;
};

static void make(struct baton_bpe *bpe, struct merge *merges, unsigned *seed)
{
    assert_ok(baton_bpe_init(bpe, N_MERGES));
    for (unsigned i = 0; i < N_LETTERS; i++)
        bpe->byte_ids['a' + i] = i;
    for (uint32_t rank = 0; rank < N_MERGES; rank++) {
        uint32_t left, right;
        bool known = true;
        while (known) { /* no pair twice */
            left = (uint32_t)rand_r(seed) % (N_LETTERS + rank);
            right = (uint32_t)rand_r(seed) % (N_LETTERS + rank);
            known = false;
            for (uint32_t i = 0; i < rank; i++)
                known |= merges[i].left == left && merges[i].right == right;
        }
        merges[rank] = (struct merge){.left = left, .right = right};
        baton_bpe_add(bpe, left, right, rank, N_LETTERS + rank);
    }
}

/* The definition: while any pair has a rank, merge the leftmost of the lowest rank. */
static size_t naive(const struct merge *merges, uint32_t *ids, size_t n)
{
    for (;;) {
        uint32_t rank = N_MERGES;
        size_t at = 0;
        for (size_t i = 0; i + 1 < n; i++)
            for (uint32_t r = 0; r < rank; r++)
                if (merges[r].left == ids[i] && merges[r].right == ids[i + 1]) {
                    rank = r;
                    at = i;
                }
        if (rank == N_MERGES)
            return n;
        ids[at] = N_LETTERS + rank;
        memmove(ids + at + 1, ids + at + 2, (n - at - 2) * sizeof *ids);
        n--;
    }
}

TEST(random_words_merge_as_the_definition_says)
{
    unsigned seed = 7;
    for (int round = 0; round < N_ROUNDS; round++) {
        struct baton_bpe bpe;
        struct merge merges[N_MERGES];
        make(&bpe, merges, &seed);
        for (int w = 0; w < N_WORDS; w++) {
            char word[MAX_WORD];
            uint32_t ids[MAX_WORD];
            struct baton_tokens tokens = {0};
            size_t n = 1 + (size_t)rand_r(&seed) % MAX_WORD;
            for (size_t i = 0; i < n; i++)
                word[i] = (char)('a' + (ids[i] = (uint32_t)rand_r(&seed) % N_LETTERS));
            size_t n_ids = naive(merges, ids, n);
            assert_ok(baton_bpe_encode(&bpe, word, n, &tokens, NULL));
            assert_int_equal(tokens.n, n_ids);
            assert_memory_equal(tokens.ids, ids, n_ids * sizeof *ids);
            baton_tokens_fini(&tokens);
        }
        baton_bpe_fini(&bpe);
    }
}

TEST(a_byte_without_a_token_is_named_and_nothing_is_appended)
{
    struct baton_bpe bpe;
    struct baton_tokens tokens = {0};
    struct baton_why why;
    assert_ok(baton_bpe_init(&bpe, 0));
    bpe.byte_ids['a'] = 5;
    assert_ok(baton_bpe_encode(&bpe, "a", 1, &tokens, &why));
    assert_int_equal(baton_bpe_encode(&bpe, "a\xe2", 2, &tokens, &why), BATON_INVALID);
    assert_non_null(strstr(why.text, "0xe2"));
    assert_int_equal(tokens.n, 1);
    assert_int_equal(tokens.ids[0], 5);
    baton_tokens_fini(&tokens);
    baton_bpe_fini(&bpe);
}

TEST(a_pair_given_twice_keeps_the_later_rank)
{
    struct baton_bpe bpe;
    struct baton_tokens tokens = {0};
    assert_ok(baton_bpe_init(&bpe, 2));
    bpe.byte_ids['a'] = 0;
    bpe.byte_ids['b'] = 1;
    baton_bpe_add(&bpe, 0, 1, 0, 2); /* ab */
    baton_bpe_add(&bpe, 1, 0, 1, 3); /* ba */
    baton_bpe_add(&bpe, 0, 1, 2, 2);
    assert_ok(baton_bpe_encode(&bpe, "aba", 3, &tokens, NULL));
    assert_int_equal(tokens.n, 2);
    assert_int_equal(tokens.ids[0], 0);
    assert_int_equal(tokens.ids[1], 3);
    baton_tokens_fini(&tokens);
    baton_bpe_fini(&bpe);
}

/* A quadratic algorithm would need longer than ctest gives a test. */
TEST(a_word_of_a_million_bytes_is_merged)
{
    enum { N = 1000000 };
    struct baton_bpe bpe;
    struct baton_tokens tokens = {0};
    char *word = malloc(N);
    assert_non_null(word);
    memset(word, 'a', N);
    assert_ok(baton_bpe_init(&bpe, 3));
    bpe.byte_ids['a'] = 0;
    for (uint32_t i = 0; i < 3; i++)
        baton_bpe_add(&bpe, i, i, i, i + 1);
    assert_ok(baton_bpe_encode(&bpe, word, N, &tokens, NULL));
    assert_int_equal(tokens.n, N / 8);
    assert_int_equal(bpe.scratch_bytes, 0);
    free(word);
    baton_tokens_fini(&tokens);
    baton_bpe_fini(&bpe);
}
