#include "tests/support/test.h"

#include "common/base/array.h"

#include <string.h>

#include "tests/support/random_gpt2.h"
#include "worker/kv/budget.h"

/* A context of 100 tokens takes 7 blocks. */
static const struct baton_kv_needs needs = {.block_bytes = 1000,
                                            .context_tokens = 100,
                                            .n_contexts = 8,
                                            .share_bytes = 500000,
                                            .memory_bytes = 1000000,
                                            .limit = "the machine"};

static void assert_room(const struct baton_kv_options *options, int n_blocks, int n_cached)
{
    struct baton_kv_budget budget;
    struct baton_why why = {""};
    assert_ok(baton_kv_budget_choose(options, &needs, &budget, &why));
    assert_int_equal(budget.n_blocks, n_blocks);
    assert_int_equal(budget.n_cached, n_cached);
}

static void assert_refused(const struct baton_kv_options *options, enum baton_err wanted,
                           const char *field, const char *bound)
{
    struct baton_kv_budget budget = {.n_blocks = -7};
    struct baton_why why = {""};
    assert_int_equal(baton_kv_budget_choose(options, &needs, &budget, &why), wanted);
    assert_ptr_equal(strstr(why.text, field), why.text);
    assert_non_null(strstr(why.text, bound));
    assert_int_equal(budget.n_blocks, -7);
}

TEST(the_default_is_a_number_of_contexts_without_a_bound)
{
    assert_room(&(struct baton_kv_options){.prefix_cache_tokens = -1}, 56, 56);
}

TEST(a_worker_short_of_memory_uses_its_share)
{
    struct baton_kv_needs few = needs;
    struct baton_kv_budget budget;
    struct baton_why why = {""};
    few.share_bytes = 5500; /* less than a context */
    assert_ok(baton_kv_budget_choose(&(struct baton_kv_options){0}, &few, &budget, &why));
    assert_int_equal(budget.n_blocks, 5);
    few.share_bytes = 999;
    assert_int_equal(baton_kv_budget_choose(&(struct baton_kv_options){0}, &few, &budget, &why),
                     BATON_NO_MEMORY);
    assert_non_null(strstr(why.text, "kv-tokens or kv-bytes override"));
    /* An option decides, whatever the share. */
    assert_ok(
        baton_kv_budget_choose(&(struct baton_kv_options){.tokens = 160}, &few, &budget, &why));
    assert_int_equal(budget.n_blocks, 10);
}

TEST(long_contexts_are_counted_at_their_usual_length)
{
    struct baton_kv_needs long_context = needs;
    struct baton_kv_budget budget;
    long_context.share_bytes = UINT64_MAX;
    long_context.memory_bytes = UINT64_MAX;
    long_context.context_tokens = 32768;
    assert_ok(baton_kv_budget_choose(&(struct baton_kv_options){0}, &long_context, &budget, NULL));
    assert_int_equal(budget.n_blocks, 8 * 8192 / 16);
    long_context.context_tokens = 131072; /* one of these fits too */
    assert_ok(baton_kv_budget_choose(&(struct baton_kv_options){0}, &long_context, &budget, NULL));
    assert_int_equal(budget.n_blocks, 131072 / 16);
    /* A bound of the whole fleet is there to be used. */
    assert_ok(baton_kv_budget_choose(&(struct baton_kv_options){.memory = 1}, &long_context,
                                     &budget, NULL));
    assert_int_equal(budget.n_blocks, 8 * 131072 / 16);
}

TEST(workers_that_start_together_divide_a_half)
{
    const struct baton_memory_peers none = {0},
                                    one_prefill = {.n_prefill = 1, .n_unsized_prefill = 1};
    const struct baton_memory_peers pairs = {
        .n_prefill = 2, .n_decode = 1, .n_unsized_prefill = 2, .n_unsized_decode = 1};
    const struct baton_memory_peers small = {.n_prefill = 3, .n_decode = 2};
    const struct baton_memory_peers decided = {.n_decode = 1, .pool_bytes = 8000};
    const struct baton_memory_peers full = {.n_prefill = 1, .n_decode = 1, .pool_bytes = 12000};
    /* One of the other role is expected, whether it is here or not. */
    assert_int_equal(baton_kv_budget_share(24000, true, &none), 8000);
    assert_int_equal(baton_kv_budget_share(24000, true, &one_prefill), 8000);
    assert_int_equal(baton_kv_budget_share(24000, false, &none), 4000);
    /* Two of each role: 16 + 16 + 8 + 8 contexts. */
    assert_int_equal(baton_kv_budget_share(24000, true, &pairs), 4000);
    assert_int_equal(baton_kv_budget_share(24000, true, &small), 12000);
    /* The decode worker took its two thirds before: the rest is the same as at once. */
    assert_int_equal(baton_kv_budget_share(16000, false, &decided), 4000);
    /* The half is gone, and one more comes. */
    assert_int_equal(baton_kv_budget_share(12000, true, &full), 3000);
    assert_true(baton_kv_budget_share(UINT64_MAX, true, &none) == UINT64_MAX);
}

TEST(tokens_are_rounded_up_to_whole_blocks)
{
    assert_room(&(struct baton_kv_options){.tokens = 100}, 7, 0);
    assert_room(&(struct baton_kv_options){.tokens = 160}, 10, 0);
    assert_room(&(struct baton_kv_options){.tokens = 161}, 11, 0);
}

TEST(bytes_are_rounded_down_to_whole_blocks)
{
    assert_room(&(struct baton_kv_options){.bytes = 7000}, 7, 0);
    assert_room(&(struct baton_kv_options){.bytes = 11999}, 11, 0);
}

TEST(the_caches_bound_is_in_whole_blocks_and_at_most_the_pool)
{
    assert_room(&(struct baton_kv_options){.tokens = 160, .prefix_cache_tokens = 16}, 10, 1);
    assert_room(&(struct baton_kv_options){.tokens = 160, .prefix_cache_tokens = 47}, 10, 2);
    assert_room(&(struct baton_kv_options){.tokens = 160, .prefix_cache_tokens = 1 << 28}, 10, 10);
    assert_refused(&(struct baton_kv_options){.tokens = 160, .prefix_cache_tokens = 15},
                   BATON_INVALID, "prefix-cache-tokens:", "16");
}

TEST(both_at_once_are_refused)
{
    assert_refused(&(struct baton_kv_options){.tokens = 160, .bytes = 10000}, BATON_INVALID,
                   "kv-bytes:", "kv-tokens");
}

TEST(less_than_a_context_is_allowed_and_less_than_a_block_is_not)
{
    assert_room(&(struct baton_kv_options){.tokens = 96}, 6, 0);
    assert_room(&(struct baton_kv_options){.tokens = 1}, 1, 0);
    assert_room(&(struct baton_kv_options){.bytes = 1999}, 1, 0);
    assert_refused(&(struct baton_kv_options){.bytes = 999}, BATON_INVALID, "kv-bytes:", "1000");
}

TEST(more_than_the_memory_left_is_refused_by_name)
{
    assert_room(&(struct baton_kv_options){.bytes = 1000000}, 1000, 0);
    assert_refused(&(struct baton_kv_options){.bytes = 1001000}, BATON_NO_MEMORY,
                   "kv-bytes:", "memory");
    assert_refused(&(struct baton_kv_options){.tokens = 16001}, BATON_NO_MEMORY,
                   "kv-tokens:", "16016");
}

/* 800 of a block's 1000 bytes are in layers with a window, of which a sequence keeps 3 blocks. */
static void assert_windows(const struct baton_kv_options *options, uint64_t share_bytes,
                           int n_blocks, int n_window_blocks)
{
    struct baton_kv_needs windowed = needs;
    struct baton_kv_budget budget;
    struct baton_why why = {""};
    windowed.window_bytes = 800;
    windowed.window_blocks = 3;
    windowed.share_bytes = share_bytes;
    assert_ok(baton_kv_budget_choose(options, &windowed, &budget, &why));
    assert_int_equal(budget.n_blocks, n_blocks);
    assert_int_equal(budget.n_window_blocks, n_window_blocks);
}

TEST(layers_with_a_window_have_that_of_each_sequence)
{
    assert_windows(&(struct baton_kv_options){.tokens = 1600, .n_sequences = 10}, 0, 100, 30);
    assert_windows(&(struct baton_kv_options){.tokens = 320, .n_sequences = 10}, 0, 20, 20);
    /* Eight contexts of 7 blocks: 56 * 200 + 30 * 800. */
    assert_windows(&(struct baton_kv_options){.n_sequences = 10}, 35200, 56, 30);
}

TEST(bytes_are_divided_among_layers_with_a_window_and_the_others)
{
    /* As many windows as there are sequences; what whole contexts need; less than the window of one
     * sequence. */
    assert_windows(&(struct baton_kv_options){.bytes = 20000, .n_sequences = 2}, 0, 76, 6);
    assert_windows(&(struct baton_kv_options){.bytes = 32000, .n_sequences = 10}, 0, 60, 25);
    assert_windows(&(struct baton_kv_options){.n_sequences = 10}, 16000, 32, 12);
    assert_windows(&(struct baton_kv_options){.bytes = 4000, .n_sequences = 10}, 0, 8, 3);
    assert_windows(&(struct baton_kv_options){.bytes = 3000, .n_sequences = 10}, 0, 3, 3);
}

TEST(saved_states_take_as_much_memory_as_k_and_v_at_most)
{
    static const struct {
        struct baton_kv_options options;
        int n_blocks, n_states;
    } cases[] = {{{.tokens = 1600, .n_sequences = 10}, 100, 30 + 12},
                 {{.bytes = 20000, .n_sequences = 2}, 52, 12},
                 {{.bytes = 32000, .n_sequences = 10}, 60, 25},
                 {{.tokens = 1600}, 100, BATON_KV_PREFILL_CONTEXTS * 3 + 12}};
    for (size_t i = 0; i < BATON_N_OF(cases); i++) {
        struct baton_kv_needs saves = needs;
        struct baton_kv_budget budget;
        struct baton_why why = {""};
        saves.window_bytes = 800;
        saves.window_blocks = 3;
        saves.saves_states = true;
        assert_ok(baton_kv_budget_choose(&cases[i].options, &saves, &budget, &why));
        assert_int_equal(budget.n_blocks, cases[i].n_blocks);
        assert_int_equal(budget.n_window_blocks, cases[i].n_states);
    }
}

TEST(a_count_beyond_int_is_refused)
{
    assert_refused(&(struct baton_kv_options){.bytes = INT64_MAX}, BATON_INVALID,
                   "kv-bytes:", "268435456");
}

TEST(a_worker_gets_the_pool_its_options_describe)
{
    static const struct baton_gpt2_sizes sizes = {.n_layers = 3,
                                                  .n_embd = 8,
                                                  .n_heads = 2,
                                                  .n_kv_heads = 2,
                                                  .head_dim = 4,
                                                  .n_ff = 8,
                                                  .n_vocab = 5,
                                                  .n_context = 64};
    struct baton_kv_options options = {.prefix_cache_tokens = 32};
    struct baton_model *model;
    struct baton_kv *kv = NULL;
    struct baton_why why = {""};
    assert_ok(random_gpt2(&sizes, 1, NULL, &model));
    assert_ok(baton_kv_budget_create(&options, model, "f16", false, NULL, &kv, &why));
    assert_int_equal(baton_kv_n_blocks(kv), 8 * 4);
    /* 3 layers x 2 heads x (K [4][16] and V [16][16]) x 2 bytes */
    options.bytes = (int64_t)baton_kv_all_block_bytes(kv) * 5;
    assert_int_equal(options.bytes, 3 * 2 * (64 + 256) * 2 * 5);
    baton_kv_destroy(kv);
    assert_ok(baton_kv_budget_create(&options, model, "f16", false, NULL, &kv, &why));
    assert_int_equal(baton_kv_n_blocks(kv), 5);
    baton_kv_destroy(kv);
    assert_int_equal(baton_kv_budget_create(&options, model, "f8", false, NULL, &kv, &why),
                     BATON_INVALID);
    options.bytes = 1LL << 40;
    assert_int_not_equal(baton_kv_budget_create(&options, model, "f16", false, NULL, &kv, &why),
                         BATON_OK);
    baton_model_close(model);
}

TEST(a_model_larger_than_memory_is_refused_before_it_is_loaded)
{
    static const struct baton_gpt2_sizes sizes = {
        .n_layers = 2, SMALL_GPT2, .n_vocab = 1000, .n_context = 64};
    const struct baton_kv_options few = {.tokens = 64}, many = {.tokens = 1 << 20};
    struct baton_memory_left left = {.limit = "1 MiB of /sys/fs/cgroup/a"};
    struct baton_model *model;
    struct baton_why why = {""};
    assert_ok(random_gpt2(&sizes, 1, NULL, &model));
    left.bytes = baton_model_info(model)->weight_bytes;
    assert_int_equal(baton_kv_budget_check_in(&left, &few, model, "f32", true, NULL, &why),
                     BATON_NO_MEMORY);
    assert_ptr_equal(strstr(why.text, "dtype: in f32 the weights take"), why.text);
    assert_non_null(strstr(why.text, left.limit));
    left.bytes += 1 << 20;
    assert_ok(baton_kv_budget_check_in(&left, &few, model, "f32", true, NULL, &why));
    assert_int_equal(baton_kv_budget_check_in(&left, &many, model, "f32", true, NULL, &why),
                     BATON_NO_MEMORY);
    assert_ptr_equal(strstr(why.text, "kv-tokens:"), why.text);
    assert_non_null(strstr(why.text, left.limit));
    baton_model_close(model);
}

TEST(a_draft_models_block_comes_with_each_block)
{
    const struct baton_gpt2_sizes sizes = {SMALL_GPT2, .n_layers = 4, .n_vocab = 5,
                                           .n_context = 64};
    const struct baton_gpt2_sizes small = {SMALL_GPT2, .n_layers = 1, .n_vocab = 5,
                                           .n_context = 64};
    struct baton_model *model, *draft;
    struct baton_kv *kv = NULL;
    const struct baton_kv_pool_options pool = {.dtype = "f32"};
    struct baton_kv_sizes whole, small_one;
    assert_ok(random_gpt2(&sizes, 1, NULL, &model));
    assert_ok(random_gpt2(&small, 1, NULL, &draft));
    assert_ok(baton_kv_measure(model, &pool, &whole, NULL));
    assert_ok(baton_kv_measure(draft, &pool, &small_one, NULL));
    size_t block_bytes = whole.block_bytes, draft_bytes = small_one.block_bytes;
    struct baton_kv_options options = {.bytes = (int64_t)(10 * block_bytes)};
    for (int with_draft = 0; with_draft < 2; with_draft++) {
        options.draft = with_draft ? draft : NULL;
        assert_ok(baton_kv_budget_create(&options, model, "f32", true, NULL, &kv, NULL));
        size_t all_bytes = block_bytes + (with_draft ? draft_bytes : 0);
        assert_int_equal(baton_kv_n_blocks(kv), 10 * block_bytes / all_bytes);
        baton_kv_destroy(kv);
    }
    baton_model_close(draft);
    baton_model_close(model);
}

TEST(a_block_that_no_message_carries_is_refused)
{
    const struct baton_gpt2_sizes wide = {.n_layers = 1,
                                          .n_embd = 2,
                                          .n_heads = 1024,
                                          .n_kv_heads = 1024,
                                          .head_dim = 66,
                                          .n_ff = 2,
                                          .n_vocab = 5,
                                          .n_context = 16};
    struct baton_model *model;
    struct baton_kv *kv = NULL;
    struct baton_why why = {""};
    struct baton_kv_options options = {.tokens = 16};
    assert_ok(random_gpt2(&wide, 1, NULL, &model));
    assert_int_equal(baton_kv_budget_create(&options, model, "f32", true, NULL, &kv, &why),
                     BATON_INVALID);
    assert_non_null(strstr(why.text, "block of layer 0"));
    assert_null(kv);
    assert_ok(baton_kv_budget_create(&options, model, "f16", true, NULL, &kv, &why));
    baton_kv_destroy(kv);
    baton_model_close(model);
}
