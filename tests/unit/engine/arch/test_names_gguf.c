#include "tests/support/test.h"

#include <string.h>

#include "engine/arch/arch.h"

enum { HEADS = 2, HEAD_DIM = 4, WIDTH = HEADS * HEAD_DIM };

/* Two layers, of which the second is without rotation. */
static const struct baton_spec spec = {
    .n_layers = 2,
    .n_embd = WIDTH,
    .n_heads = HEADS,
    .n_vocab = 16,
    .n_context = 8,
    .mlp = BATON_MLP_GATED,
    .n_ropes = 1,
    .ropes = {{.n_rotated = HEAD_DIM}},
    .layers = {{.n_kv_heads = 1, .head_dim = HEAD_DIM, .n_ff = 8},
               {.n_kv_heads = 1, .head_dim = HEAD_DIM, .n_ff = 8, .rope = -1, .kv_from = 1}},
};

static const struct baton_tensor_row *row_of(const struct baton_tensor_names *names,
                                             const char *name)
{
    const struct baton_tensor_row *row;
    for (int i = 0; (row = baton_tensor_row_at(names, i)); i++)
        if (!strcmp(row->name, name))
            return row;
    fail_msg("no row %s", name);
    return NULL;
}

static struct baton_named_tensor tensor_of(const char *model_type, const char *name, int layer)
{
    const struct baton_arch *arch = baton_arch_find(model_type);
    const struct baton_tensor_row *row = row_of(arch->gguf, name);
    const struct baton_array array = baton_array_of(&spec, row->kind, layer);
    return baton_tensor_of(&spec, &array, row);
}

TEST(a_models_names_are_those_of_its_format)
{
    const struct baton_arch *llama = baton_arch_find("llama");
    struct baton_model_config config = baton_model_config_unsaid;
    assert_ptr_equal(baton_arch_tensors(llama, &config), llama->tensors);
    config.gguf_names = true;
    assert_ptr_equal(baton_arch_tensors(llama, &config), llama->gguf);
}

/* Converters permute the rows of layers without rotary embedding, too. */
TEST(gguf_rows_of_llamas_heads_are_in_pairs_in_every_layer)
{
    static const int order[WIDTH] = {0, 2, 1, 3, 4, 6, 5, 7};
    for (int layer = 0; layer < 2; layer++) {
        const struct baton_named_tensor paired = tensor_of("llama", "attn_q.weight", layer);
        const struct baton_named_tensor plain = tensor_of("qwen2", "attn_q.weight", layer);
        const struct baton_named_tensor values = tensor_of("llama", "attn_v.weight", layer);
        assert_int_equal(paired.n_rows, WIDTH);
        assert_int_equal(paired.slices[0].first, 0);
        assert_int_equal(values.slices[0].first, WIDTH + HEAD_DIM);
        for (int r = 0; r < WIDTH; r++) {
            assert_int_equal(baton_row_order_at(&paired.slices[0].order, r), order[r]);
            assert_int_equal(baton_row_order_at(&plain.slices[0].order, r), r);
        }
        for (int r = 0; r < HEAD_DIM; r++)
            assert_int_equal(baton_row_order_at(&values.slices[0].order, r), r);
    }
}

TEST(one_name_may_hold_up_or_gate_and_up)
{
    const struct baton_named_tensor up = tensor_of("llama", "ffn_up.weight", 0);
    const struct baton_named_tensor both = tensor_of("phi3", "ffn_up.weight", 0);
    assert_int_equal(up.slices[0].first, 8);
    assert_int_equal(up.n_rows, 8);
    assert_int_equal(both.slices[0].first, 0);
    assert_int_equal(both.n_rows, 16);
}

TEST(only_tensors_that_are_read_elsewhere_are_ignored)
{
    const struct baton_tensor_names *names = baton_arch_find("llama")->gguf;
    char name[BATON_TENSOR_NAME_BYTES];
    assert_true(baton_tensor_is_ignored(names, "", "rope_freqs.weight"));
    assert_true(baton_tensor_is_ignored(names, "", "rope_factors_long.weight"));
    assert_false(baton_tensor_is_ignored(names, "", "output_norm.bias"));
    assert_false(baton_tensor_is_ignored(names, "", "blk.0.attn_q.scale"));
    assert_string_equal(baton_tensor_name(names, row_of(names, "attn_q.weight"), 1, 0, "", name),
                        "blk.1.attn_q.weight");
    assert_string_equal(baton_tensor_name(names, row_of(names, "output.weight"), 0, 0, "", name),
                        "output.weight");
}
