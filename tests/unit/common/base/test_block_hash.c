#include "tests/support/test.h"

#include <stdbool.h>
#include <string.h>

#include "common/base/array.h"
#include "common/base/block_hash.h"

enum { BLOCK = 16, N_HASHES = 4 };

static const struct baton_block_salt salt = {.config = "c0",
                                             .weights = "77",
                                             .dtype = "q8",
                                             .kv_dtype = "f16",
                                             .block_tokens = BLOCK,
                                             .kv_layout = "1a",
                                             .numeric_class = ""};

static uint32_t tokens[N_HASHES * BLOCK];

static void make(const struct baton_block_salt *of, struct baton_block_hash hashes[N_HASHES])
{
    struct baton_block_hash root;
    assert_ok(baton_block_hash_root(of, &root));
    assert_ok(baton_block_hash_tokens(&root, tokens, BLOCK, hashes, N_HASHES));
}

static bool same(const struct baton_block_hash *a, const struct baton_block_hash *b)
{
    return !memcmp(a, b, sizeof *a);
}

SETUP(set_up)
{
    for (uint32_t i = 0; i < N_HASHES * BLOCK; i++)
        tokens[i] = i * 2654435761U;
}

TEST(a_key_is_the_digest_its_header_says)
{
    /* hashlib.sha256(hashlib.sha256(b"baton KV\nc0\n77\nq8\nf16\n16\n1a\n").digest()[:16] +
     *                struct.pack("<16I", *tokens[:16])).digest()[:16], and so on */
    static const uint8_t first[] = {0xb5, 0x3d, 0x6e, 0x1e, 0x63, 0xc4, 0x59, 0xf9,
                                    0x99, 0x1e, 0xa6, 0x9e, 0xf7, 0x25, 0xe9, 0xda},
                         last[] = {0x62, 0x30, 0x3f, 0x32, 0x64, 0x3a, 0x13, 0xa2,
                                   0x95, 0x9b, 0x99, 0x33, 0x10, 0xdb, 0xb2, 0xe0};
    struct baton_block_hash hashes[N_HASHES];
    make(&salt, hashes);
    assert_memory_equal(hashes[0].bytes, first, sizeof first);
    assert_memory_equal(hashes[N_HASHES - 1].bytes, last, sizeof last);
}

TEST(a_token_changes_its_blocks_key_and_all_that_follow)
{
    struct baton_block_hash before[N_HASHES], after[N_HASHES];
    make(&salt, before);
    tokens[BLOCK + 3] ^= 1U << 31;
    make(&salt, after);
    assert_true(same(&before[0], &after[0]));
    for (int i = 1; i < N_HASHES; i++)
        assert_false(same(&before[i], &after[i]));
}

TEST(equal_blocks_at_other_positions_have_other_hashes)
{
    struct baton_block_hash hashes[N_HASHES];
    memset(tokens, 0, sizeof tokens);
    make(&salt, hashes);
    for (int i = 1; i < N_HASHES; i++)
        assert_false(same(&hashes[i - 1], &hashes[i]));
}

TEST(whatever_else_k_and_v_depend_on_changes_every_key)
{
    struct baton_block_salt others[] = {salt, salt, salt, salt, salt, salt, salt, salt};
    struct baton_block_hash hashes[N_HASHES], other[N_HASHES];
    others[0].config = "c1";
    others[1].weights = "78";
    others[2].dtype = "bf16";
    others[3].kv_dtype = "f32";
    others[4].block_tokens = 32;
    others[5].kv_layout = "1b";
    others[6].kv_layout = "";
    others[7].numeric_class = "0123456789abcdef";
    make(&salt, hashes);
    for (size_t i = 0; i < BATON_N_OF(others); i++) {
        make(&others[i], other);
        for (int k = 0; k < N_HASHES; k++)
            assert_false(same(&hashes[k], &other[k]));
    }
}

TEST_ALONE(the_last_tokens_block_has_no_key)
{
    assert_int_equal(baton_block_hash_count(0, BLOCK), 0);
    assert_int_equal(baton_block_hash_count(1, BLOCK), 0);
    assert_int_equal(baton_block_hash_count(16, BLOCK), 0);
    assert_int_equal(baton_block_hash_count(17, BLOCK), 1);
    assert_int_equal(baton_block_hash_count(512, BLOCK), 31);
}

EACH_TEST(set_up, NULL)
