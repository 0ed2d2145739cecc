/* The owners of a divided prompt's blocks: each block has one owner, and every walk agrees. */
#include "worker/kv/transfer.h"

#include "tests/support/test.h"

enum { END = 40, N_LAYERS = 3 };

static const int layers[N_LAYERS] = {0, 1, 2};

static void for_each_split(void (*check)(const struct baton_kv_stripes *stripes))
{
    for (int n_parts = 2; n_parts <= 4; n_parts++)
        for (int first = 0; first < 20; first += 3)
            for (int n_blocks = 1; n_blocks <= 8; n_blocks++)
                for (int holder = 0; holder < n_parts; holder++)
                    check(&(struct baton_kv_stripes){.first = first,
                                                     .n_blocks = n_blocks,
                                                     .n_parts = n_parts,
                                                     .holder = holder});
}

static void assert_walks_agree(const struct baton_kv_stripes *stripes)
{
    int64_t n_all = 0;
    for (int part = 0; part < stripes->n_parts; part++) {
        int n = 0, last = END;
        for (int block = 0; block < END; block++) {
            bool is_own = baton_kv_stripes_owner(stripes, block) == part;
            int next = baton_kv_stripes_next(stripes, part, block, END);
            assert_int_equal(next == block, is_own);
            n += is_own;
            if (is_own && block >= stripes->first &&
                (block - stripes->first) % stripes->n_blocks == 0)
                last = block;
        }
        assert_int_equal(baton_kv_stripes_count(stripes, part, 0, END), n);
        assert_int_equal(baton_kv_stripes_last(stripes, part, END), last);
        n_all += n;
    }
    assert_int_equal(n_all, END);
}

TEST(each_block_is_one_parts)
{
    for_each_split(assert_walks_agree);
}

/* All that a part sends, another that expects it takes: each block of each layer once. */
static void assert_all_arrives(const struct baton_kv_stripes *stripes)
{
    for (int part = 0; part < stripes->n_parts; part++) {
        struct baton_kv_order order;
        struct baton_kv_arrival arrival;
        struct baton_kv_extent extent;
        int64_t n = 0;
        baton_kv_order_init(&order, layers, N_LAYERS, 1, END);
        baton_kv_order_keep_part(&order, stripes, part);
        assert_int_equal(baton_kv_arrival_init(&arrival, N_LAYERS, layers, N_LAYERS, 1, END), 0);
        baton_kv_arrival_keep_part(&arrival, stripes, part);
        for (int done = 0; done <= END; done += 2) {
            struct baton_kv_progress progress = {.n_done = done, .n_end = done + 2, .n_layers = 2};
            while (baton_kv_order_next(&order, progress, &extent)) {
                assert_true(extent.block + extent.n_blocks <= END);
                assert_true(baton_kv_arrival_add(&arrival, (uint32_t)extent.layer,
                                                 (uint32_t)extent.block,
                                                 (uint32_t)extent.n_blocks));
                baton_kv_order_sent(&order, extent.n_blocks);
                n += extent.n_blocks;
            }
        }
        assert_true(baton_kv_order_is_over(&order));
        assert_true(baton_kv_arrival_ends_at(&arrival, END));
        assert_int_equal(n, N_LAYERS * baton_kv_stripes_count(stripes, part, 1, END));
        baton_kv_arrival_fini(&arrival);
    }
}

TEST(each_part_sends_exactly_the_expected_pieces)
{
    for_each_split(assert_all_arrives);
}

TEST(a_piece_of_two_stripes_or_of_another_part_is_refused)
{
    const struct baton_kv_stripes stripes = {.first = 4, .n_blocks = 2, .n_parts = 2, .holder = 1};
    struct baton_kv_arrival arrival;
    assert_int_equal(baton_kv_arrival_init(&arrival, N_LAYERS, layers, N_LAYERS, 0, END), 0);
    baton_kv_arrival_keep_part(&arrival, &stripes, 0);
    assert_false(baton_kv_arrival_add(&arrival, 0, 0, 4)); /* the holder's */
    assert_false(baton_kv_arrival_add(&arrival, 0, 4, 3));
    assert_true(baton_kv_arrival_add(&arrival, 0, 4, 2));
    assert_false(baton_kv_arrival_add(&arrival, 0, 6, 2));
    assert_true(baton_kv_arrival_add(&arrival, 0, 8, 1));
    assert_true(baton_kv_arrival_add(&arrival, 0, 9, 1));
    baton_kv_arrival_fini(&arrival);
}
