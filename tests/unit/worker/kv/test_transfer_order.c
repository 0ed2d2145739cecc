/* The order in which a context leaves: each block of each layer leaves once, never before it is
 * ready. */
#include "common/base/array.h"
#include "worker/kv/transfer.h"

#include "tests/support/test.h"

enum { MAX_LAYERS = 5, MAX_BLOCKS = 40 };

static const int all_layers[MAX_LAYERS] = {0, 1, 2, 3, 4};

struct receiver {
    int n_layers, first_block, n_blocks;
    int n_received[MAX_LAYERS][MAX_BLOCKS];
};

static bool is_ready(struct baton_kv_progress progress, int layer, int block)
{
    return block < progress.n_done || (block < progress.n_end && layer < progress.n_layers);
}

/* Sends what can go, at most max_extents, each in cuts of at most max_blocks. */
static void pump(struct baton_kv_order *order, struct baton_kv_progress progress,
                 struct receiver *receiver, int max_extents, int max_blocks)
{
    struct baton_kv_extent extent;
    while (max_extents-- > 0 && baton_kv_order_next(order, progress, &extent)) {
        int n = extent.n_blocks < max_blocks ? extent.n_blocks : max_blocks;
        assert_true(n > 0 && extent.block >= receiver->first_block);
        assert_true(extent.block + extent.n_blocks <= receiver->n_blocks);
        for (int block = extent.block; block < extent.block + n; block++) {
            assert_true(is_ready(progress, extent.layer, block));
            receiver->n_received[extent.layer][block]++;
        }
        baton_kv_order_sent(order, n);
    }
}

static void assert_complete(const struct baton_kv_order *order, const struct receiver *receiver)
{
    assert_true(baton_kv_order_is_over(order));
    for (int layer = 0; layer < receiver->n_layers; layer++)
        for (int block = 0; block < receiver->n_blocks; block++)
            assert_int_equal(receiver->n_received[layer][block], block >= receiver->first_block);
}

TEST(a_layer_goes_as_soon_as_it_is_ready)
{
    struct baton_kv_order order;
    struct baton_kv_extent extent;
    baton_kv_order_init(&order, all_layers, 3, 0, 4);
    assert_false(baton_kv_order_next(&order, (struct baton_kv_progress){0, 0, 0}, &extent));
    assert_false(baton_kv_order_next(&order, (struct baton_kv_progress){0, 4, 0}, &extent));
    assert_true(baton_kv_order_next(&order, (struct baton_kv_progress){0, 4, 1}, &extent));
    assert_int_equal(extent.layer, 0);
    assert_int_equal(extent.n_blocks, 4);
    baton_kv_order_sent(&order, 4);
    assert_false(baton_kv_order_next(&order, (struct baton_kv_progress){0, 4, 1}, &extent));
    assert_false(baton_kv_order_is_over(&order));
}

TEST(spans_that_wait_until_all_is_computed_become_one)
{
    struct baton_kv_order order;
    struct baton_kv_extent extent;
    baton_kv_order_init(&order, all_layers, 2, 1, 9);
    assert_true(baton_kv_order_next(&order, (struct baton_kv_progress){8, 9, 2}, &extent));
    assert_int_equal(extent.block, 1);
    assert_int_equal(extent.n_blocks, 8);
}

TEST(cached_blocks_go_before_the_rest_is_computed)
{
    struct baton_kv_order order;
    struct receiver receiver = {.n_layers = 2, .n_blocks = 6};
    baton_kv_order_init(&order, all_layers, 2, 0, 6);
    pump(&order, (struct baton_kv_progress){5, 5, 0}, &receiver, 100, 100);
    assert_int_equal(receiver.n_received[1][4], 1);
    pump(&order, (struct baton_kv_progress){5, 6, 2}, &receiver, 100, 100);
    assert_complete(&order, &receiver);
}

TEST(blocks_that_the_receiver_has_stay_here)
{
    struct baton_kv_order order;
    struct receiver receiver = {.n_layers = 2, .first_block = 5, .n_blocks = 7};
    baton_kv_order_init(&order, all_layers, 2, 5, 7);
    pump(&order, (struct baton_kv_progress){0, 4, 2}, &receiver, 100, 100);
    pump(&order, (struct baton_kv_progress){4, 7, 1}, &receiver, 100, 100);
    pump(&order, (struct baton_kv_progress){4, 7, 2}, &receiver, 100, 100);
    assert_complete(&order, &receiver);
}

/* The second, fourth and last of five layers hold none: no block of theirs leaves, and the context
 * is complete with the third. */
TEST(layers_without_k_and_v_are_passed_over)
{
    const int held[] = {0, 2};
    struct baton_kv_order order;
    struct baton_kv_extent extent;
    baton_kv_order_init(&order, held, 2, 0, 4);
    assert_true(baton_kv_order_next(&order, (struct baton_kv_progress){0, 4, 1}, &extent));
    assert_int_equal(extent.layer, 0);
    baton_kv_order_sent(&order, 4);
    assert_false(baton_kv_order_next(&order, (struct baton_kv_progress){0, 4, 2}, &extent));
    assert_false(baton_kv_order_is_ready(&order, (struct baton_kv_progress){0, 4, 2}));
    assert_true(baton_kv_order_is_ready(&order, (struct baton_kv_progress){0, 4, 3}));
    assert_true(baton_kv_order_next(&order, (struct baton_kv_progress){0, 4, 3}, &extent));
    assert_int_equal(extent.layer, 2);
    baton_kv_order_sent(&order, 4);
    assert_true(baton_kv_order_is_over(&order));
}

/* The same numbers every run (Knuth's MMIX). */
static int below(int n)
{
    static uint64_t state = 1;
    state = state * 6364136223846793005U + 1442695040888963407U;
    return (int)((state >> 33) % (uint64_t)n);
}

/* Any chunks, any cached prefix, any pace of sending. */
TEST(whatever_the_pace_each_block_leaves_once)
{
    for (int round = 0; round < 3000; round++) {
        struct receiver receiver = {.n_layers = 1 + below(MAX_LAYERS),
                                    .n_blocks = 1 + below(MAX_BLOCKS)};
        struct baton_kv_order order;
        receiver.first_block = below(receiver.n_blocks);
        baton_kv_order_init(&order, all_layers, receiver.n_layers, receiver.first_block,
                            receiver.n_blocks);
        int n_cached = below(receiver.n_blocks);
        struct baton_kv_progress progress = {.n_done = n_cached, .n_end = n_cached};
        pump(&order, progress, &receiver, below(3), 1 + below(9));
        while (progress.n_end < receiver.n_blocks) {
            progress =
                (struct baton_kv_progress){.n_done = progress.n_end, .n_end = progress.n_end};
            progress.n_end += 1 + below(receiver.n_blocks - progress.n_end);
            for (; progress.n_layers < receiver.n_layers; progress.n_layers++)
                pump(&order, progress, &receiver, below(4), 1 + below(9));
        }
        pump(&order, progress, &receiver, 10000, 1 + below(9));
        assert_complete(&order, &receiver);
    }
}

TEST(progress_survives_its_word)
{
    baton_kv_progress_word word;
    const struct baton_kv_progress all[] = {
        {0, 0, 0}, {1, 2, 3}, {(1 << 24) - 2, (1 << 24) - 1, 65535}};
    for (size_t i = 0; i < BATON_N_OF(all); i++) {
        baton_kv_progress_publish(&word, all[i]);
        struct baton_kv_progress read = baton_kv_progress_read(&word);
        assert_memory_equal(&read, &all[i], sizeof read);
    }
}
