/* The digest of the KV layout: equal for equal layouts, another for every difference. */
#include "tests/support/test.h"

#include <string.h>

#include "engine/arch/kv_layout.h"

static struct baton_spec spec;

SETUP(set_up)
{
    spec = (struct baton_spec){.n_layers = 3, .n_ropes = 2};
    for (int i = 0; i < 3; i++)
        spec.layers[i] = (struct baton_layer_spec){
            .n_kv_heads = 2, .head_dim = 8, .window = i ? 0 : 16, .rope = i % 2, .kv_from = i};
    for (int i = 0; i < 2; i++)
        spec.ropes[i] = (struct baton_rope_spec){
            .n_rotated = 8, .attention_factor = 1, .inverse = {1, .5, .25, .125 + i}};
}

struct digest {
    char hex[BATON_SHA256_HEX];
};

static struct digest digest_of(const char *dtype, int block_tokens)
{
    struct digest digest;
    assert_ok(baton_kv_layout_digest(&spec, dtype, block_tokens, digest.hex));
    return digest;
}

static void assert_differs(const struct digest *original)
{
    struct digest changed = digest_of("f32", 16);
    assert_string_not_equal(changed.hex, original->hex);
    set_up(NULL);
}

TEST(equal_layouts_have_one_digest)
{
    struct digest first = digest_of("f32", 16), second = digest_of("f32", 16);
    assert_int_equal(strlen(first.hex), 64);
    assert_string_equal(first.hex, second.hex);
}

TEST(each_fact_of_the_layout_is_part_of_it)
{
    struct digest original = digest_of("f32", 16), other;
    other = digest_of("f16", 16);
    assert_string_not_equal(other.hex, original.hex);
    other = digest_of("f32", 32);
    assert_string_not_equal(other.hex, original.hex);
    spec.n_layers = 2;
    assert_differs(&original);
    spec.layers[1].n_kv_heads = 1;
    assert_differs(&original);
    spec.layers[2].head_dim = 16;
    assert_differs(&original);
    spec.layers[2].kv_from = 0;
    assert_differs(&original);
    spec.layers[2].n_latent = 6;
    assert_differs(&original);
    spec.layers[0].window = 17;
    assert_differs(&original);
    spec.layers[1].rope = -1;
    assert_differs(&original);
}

/* As when one process serves a longer context than another, and takes longrope's other factors. */
TEST(the_rotation_that_was_chosen_is_part_of_it)
{
    struct digest original = digest_of("f32", 16);
    spec.ropes[1].inverse[3] = 0.12500001;
    assert_differs(&original);
    spec.ropes[0].attention_factor = 1.19;
    assert_differs(&original);
    spec.ropes[0].n_rotated = 6;
    assert_differs(&original);
}

TEST(other_facts_do_not_change_the_digest)
{
    struct digest original = digest_of("f32", 16), same;
    spec.layers[0].n_ff = 99;
    spec.ropes[0].inverse[4] = 7; /* past the last pair */
    spec.logit_cap = 30;
    same = digest_of("f32", 16);
    assert_string_equal(same.hex, original.hex);
}

EACH_TEST(set_up, NULL)
