#include "tests/support/test.h"

#include <stdlib.h>
#include <string.h>

#include "gateway/routing/prefix_table.h"

enum { MAX_BLOCKS = 16 };

/* The hashes of prompt `seed`, of which the first n_shared are those of prompt 0. */
struct prompt {
    struct baton_block_hash hashes[MAX_BLOCKS];
};

static struct prompt prompt(uint32_t seed, size_t n_shared)
{
    struct baton_block_salt salt = {.config = "c",
                                    .weights = "w",
                                    .dtype = "f32",
                                    .kv_dtype = "f32",
                                    .block_tokens = 1,
                                    .kv_layout = "",
                                    .numeric_class = ""};
    struct baton_block_hash root;
    struct prompt out;
    uint32_t tokens[MAX_BLOCKS];
    for (size_t i = 0; i < MAX_BLOCKS; i++)
        tokens[i] = i < n_shared ? 7 : 1000 + seed;
    assert_ok(baton_block_hash_root(&salt, &root));
    assert_ok(baton_block_hash_tokens(&root, tokens, 1, out.hashes, MAX_BLOCKS));
    return out;
}

static uint32_t matched(const struct gw_prefix_table *table, const struct prompt *p, uint32_t tag)
{
    struct gw_prefix_match matches[GW_PREFIX_TAGS];
    size_t n = gw_prefix_table_match(table, p->hashes, MAX_BLOCKS, matches);
    for (size_t i = 0; i < n; i++)
        if (matches[i].tag == tag)
            return matches[i].n_blocks;
    return 0;
}

TEST(each_worker_matches_as_far_as_it_was_sent)
{
    struct gw_prefix_table *table = gw_prefix_table_create(MAX_BLOCKS + 3); /* 6 are common */
    struct prompt a = prompt(1, 6), b = prompt(2, 6), other = prompt(3, 0);
    assert_non_null(table);
    gw_prefix_table_note(table, a.hashes, MAX_BLOCKS, 11);
    gw_prefix_table_note(table, b.hashes, 9, 12);
    assert_int_equal(matched(table, &a, 11), MAX_BLOCKS);
    assert_int_equal(matched(table, &a, 12), 6);
    assert_int_equal(matched(table, &b, 11), 6);
    assert_int_equal(matched(table, &b, 12), 9);
    assert_int_equal(matched(table, &other, 11), 0);
    assert_int_equal(gw_prefix_table_match(table, a.hashes, 0, NULL), 0);
    gw_prefix_table_destroy(table);
}

TEST(where_states_are_saved_a_match_is_the_last_end)
{
    struct gw_prefix_table *table = gw_prefix_table_create(MAX_BLOCKS);
    struct gw_prefix_match matches[GW_PREFIX_TAGS];
    struct prompt a = prompt(1, 6), b = prompt(2, 6);
    gw_prefix_table_note_end(table, &a.hashes[4 - 1], 11);
    gw_prefix_table_note_end(table, &a.hashes[9 - 1], 11);
    gw_prefix_table_note_end(table, &a.hashes[4 - 1], 12);
    assert_int_equal(gw_prefix_table_match_ends(table, a.hashes, MAX_BLOCKS, matches), 2);
    assert_int_equal(matches[0].tag, 11);
    assert_int_equal(matches[0].n_blocks, 9);
    assert_int_equal(matches[1].tag, 12);
    assert_int_equal(matches[1].n_blocks, 4);
    /* The other prompt shares six blocks, of which the state after the fourth is of use. */
    assert_int_equal(gw_prefix_table_match_ends(table, b.hashes, MAX_BLOCKS, matches), 2);
    assert_int_equal(matches[0].n_blocks, 4);
    assert_int_equal(gw_prefix_table_match_ends(table, b.hashes, 3, matches), 0);
    gw_prefix_table_destroy(table);
}

TEST(the_last_workers_are_remembered)
{
    struct gw_prefix_table *table = gw_prefix_table_create(MAX_BLOCKS);
    struct prompt a = prompt(1, 0);
    for (uint32_t tag = 1; tag <= GW_PREFIX_TAGS + 2; tag++)
        gw_prefix_table_note(table, a.hashes, MAX_BLOCKS, tag);
    gw_prefix_table_note(table, a.hashes, MAX_BLOCKS, GW_PREFIX_TAGS); /* again */
    for (uint32_t tag = 1; tag <= GW_PREFIX_TAGS + 2; tag++)
        assert_int_equal(matched(table, &a, tag), tag > 2 ? MAX_BLOCKS : 0);
    gw_prefix_table_destroy(table);
}

TEST(a_full_table_forgets_the_oldest_from_their_end)
{
    struct gw_prefix_table *table = gw_prefix_table_create(2 * MAX_BLOCKS);
    struct prompt a = prompt(1, 0), b = prompt(2, 0), c = prompt(3, 0);
    gw_prefix_table_note(table, a.hashes, MAX_BLOCKS, 1);
    gw_prefix_table_note(table, b.hashes, MAX_BLOCKS, 1);
    gw_prefix_table_note(table, c.hashes, 4, 1);
    assert_int_equal(matched(table, &a, 1), MAX_BLOCKS - 4);
    assert_int_equal(matched(table, &b, 1), MAX_BLOCKS);
    gw_prefix_table_note(table, a.hashes, MAX_BLOCKS - 4, 1); /* used again: b is older now */
    gw_prefix_table_note(table, c.hashes, MAX_BLOCKS, 1);
    assert_int_equal(matched(table, &a, 1), MAX_BLOCKS - 4);
    assert_int_equal(matched(table, &b, 1), 4);
    gw_prefix_table_destroy(table);
}

TEST(a_prompt_larger_than_the_table_leaves_its_prefix)
{
    struct gw_prefix_table *table = gw_prefix_table_create(3);
    struct prompt a = prompt(1, 0);
    gw_prefix_table_note(table, a.hashes, MAX_BLOCKS, 1);
    assert_int_equal(matched(table, &a, 1), 3);
    gw_prefix_table_destroy(table);
}

TEST(a_worker_that_died_matches_nothing)
{
    /* Just as large as needed: what is forgotten makes room. */
    struct gw_prefix_table *table = gw_prefix_table_create(2 * MAX_BLOCKS - 6);
    struct prompt a = prompt(1, 6), b = prompt(2, 6), c = prompt(3, 0);
    gw_prefix_table_note(table, a.hashes, MAX_BLOCKS, 1);
    gw_prefix_table_note(table, b.hashes, MAX_BLOCKS, 2);
    gw_prefix_table_forget(table, 1);
    assert_int_equal(matched(table, &a, 1), 0);
    assert_int_equal(matched(table, &a, 2), 6);
    gw_prefix_table_note(table, c.hashes, MAX_BLOCKS - 6, 3);
    assert_int_equal(matched(table, &b, 2), MAX_BLOCKS);
    assert_int_equal(matched(table, &c, 3), MAX_BLOCKS - 6);
    gw_prefix_table_forget(table, 2);
    gw_prefix_table_forget(table, 3);
    gw_prefix_table_note(table, a.hashes, MAX_BLOCKS, 3);
    gw_prefix_table_note(table, c.hashes, MAX_BLOCKS - 6, 3);
    assert_int_equal(matched(table, &a, 3), MAX_BLOCKS);
    assert_int_equal(matched(table, &c, 3), MAX_BLOCKS - 6);
    gw_prefix_table_destroy(table);
}

/* Against a table that keeps everything: what the small one says is never more. */
TEST(a_small_table_never_claims_what_was_not_sent)
{
    enum { PROMPTS = 40, ROUNDS = 20000 };
    struct gw_prefix_table *small = gw_prefix_table_create(97);
    struct gw_prefix_table *large = gw_prefix_table_create((size_t)PROMPTS * MAX_BLOCKS);
    static struct prompt prompts[PROMPTS];
    unsigned random = 1;
    for (uint32_t i = 0; i < PROMPTS; i++)
        prompts[i] = prompt(i, i % MAX_BLOCKS);
    for (int round = 0; round < ROUNDS; round++) {
        const struct prompt *p = &prompts[(size_t)rand_r(&random) % PROMPTS];
        size_t n = (size_t)rand_r(&random) % (MAX_BLOCKS + 1);
        uint32_t tag = 1 + (uint32_t)rand_r(&random) % 3;
        if (rand_r(&random) % 500) {
            gw_prefix_table_note(small, p->hashes, n, tag);
            gw_prefix_table_note(large, p->hashes, n, tag);
            assert_int_equal(matched(small, p, tag) >= n, 1);
        } else {
            gw_prefix_table_forget(small, tag);
            gw_prefix_table_forget(large, tag);
        }
        assert_true(matched(small, p, tag) <= matched(large, p, tag));
    }
    gw_prefix_table_destroy(small);
    gw_prefix_table_destroy(large);
}
