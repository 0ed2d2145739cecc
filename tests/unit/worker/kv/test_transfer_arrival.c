#include "tests/support/test.h"

#include "worker/kv/transfer.h"

/* The last of four layers holds no K and V. */
enum { N_LAYERS = 4, FIRST = 2, END = 9 };
static const int held[] = {0, 1, 2};

static struct baton_kv_arrival arrival;

SETUP(set_up)
{
    assert_ok(baton_kv_arrival_init(&arrival, N_LAYERS, held, 3, FIRST, END));
}

TEARDOWN(tear_down)
{
    baton_kv_arrival_fini(&arrival);
    baton_kv_arrival_fini(&arrival); /* harmless */
}

TEST(layers_come_in_any_order_and_in_parts)
{
    assert_true(baton_kv_arrival_add(&arrival, 2, 2, 3));
    assert_true(baton_kv_arrival_add(&arrival, 0, 2, 7));
    assert_true(baton_kv_arrival_add(&arrival, 2, 5, 1));
    assert_true(baton_kv_arrival_add(&arrival, 1, 2, 1));
    assert_true(baton_kv_arrival_add(&arrival, 2, 6, 3));
    assert_true(baton_kv_arrival_add(&arrival, 1, 3, 6));
}

TEST(a_block_comes_once)
{
    assert_true(baton_kv_arrival_add(&arrival, 1, 2, 3));
    assert_false(baton_kv_arrival_add(&arrival, 1, 2, 3));
    assert_false(baton_kv_arrival_add(&arrival, 1, 4, 2));
    assert_true(baton_kv_arrival_add(&arrival, 1, 5, 4));
    assert_false(baton_kv_arrival_add(&arrival, 1, 9, 1));
}

TEST(nothing_else_comes)
{
    assert_false(baton_kv_arrival_add(&arrival, 0, 1, 1)); /* it is here already */
    assert_false(baton_kv_arrival_add(&arrival, 0, 3, 1)); /* one before it is missing */
    assert_false(baton_kv_arrival_add(&arrival, 0, 2, 8)); /* past the end */
    assert_false(baton_kv_arrival_add(&arrival, 0, 2, UINT32_MAX));
    assert_false(baton_kv_arrival_add(&arrival, 0, UINT32_MAX, 2));
    assert_false(baton_kv_arrival_add(&arrival, N_LAYERS, 2, 1));
    assert_false(baton_kv_arrival_add(&arrival, N_LAYERS - 1, 2, 1));
    assert_false(baton_kv_arrival_add(&arrival, N_LAYERS - 1, 9, 1));
    assert_true(baton_kv_arrival_add(&arrival, 0, 2, 7));
}

TEST(layers_with_a_window_begin_later)
{
    const int layer = 1;
    baton_kv_arrival_begin_at(&arrival, &layer, 1, 7);
    assert_false(baton_kv_arrival_add(&arrival, 1, 2, 1));
    assert_true(baton_kv_arrival_add(&arrival, 1, 7, 2));
    baton_kv_arrival_begin_at(&arrival, &layer, 1, 3); /* never earlier */
    assert_false(baton_kv_arrival_add(&arrival, 1, 3, 1));
    assert_true(baton_kv_arrival_add(&arrival, 0, 2, 1));
}

EACH_TEST(set_up, tear_down)
