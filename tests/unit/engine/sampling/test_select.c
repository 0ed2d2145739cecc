#include "common/base/array.h"
#include "tests/unit/engine/sampling/reference.h"

#include "engine/sampling/select.h"

enum { MAX_ITEMS = 3000 };

TEST(keys_have_the_order_of_the_floats)
{
    const float rising[] = {-INFINITY, -3e38F, -2,         -1e-45F, 0,
                            1e-45F,    1,      1.0000001F, 3e38F,   INFINITY};
    enum { N = BATON_N_OF(rising) };
    for (int i = 0; i < N; i++) {
        assert_true(baton_select_value(baton_select_key(rising[i])) == rising[i]);
        if (i)
            assert_true(baton_select_key(rising[i - 1]) < baton_select_key(rising[i]));
    }
    assert_int_equal(baton_select_key(-0.0F), baton_select_key(0));
    assert_int_equal(baton_select_key(NAN), baton_select_key(-INFINITY));
    assert_int_equal(baton_select_key(-NAN), baton_select_key(-INFINITY));
}

static int compare_keys_falling(const void *a, const void *b)
{
    const struct baton_item *x = a, *y = b;
    return (x->key < y->key) - (x->key > y->key);
}

static void fill_items(struct baton_item *items, size_t n, struct dice *dice)
{
    uint32_t kind = throw_dice(dice, 4);
    for (size_t i = 0; i < n; i++) {
        double x = kind == 0   ? throw_dice(dice, 5) - 2.0
                   : kind == 1 ? throw_real(dice, -1e-3, 1e-3)
                   : kind == 2 ? throw_real(dice, -40, 40)
                               : exp(throw_real(dice, -80, 80));
        uint32_t key = baton_select_key((float)x);
        items[i] = (struct baton_item){.key = key, .weight = (float)(1 + key % 13)};
    }
}

/* Weights are whole numbers, so that sums are exact in any order. */
TEST(selection_finds_the_same_as_a_sort)
{
    static struct baton_item items[MAX_ITEMS], sorted[MAX_ITEMS];
    struct dice dice = {.seed = 31};
    for (int round = 0; round < 500; round++) {
        size_t n = 1 + throw_dice(&dice, round % 2 ? 20 : MAX_ITEMS), last = 0;
        double total = 0, sum = 0, above = 0;
        fill_items(items, n, &dice);
        memcpy(sorted, items, sizeof items);
        qsort(sorted, n, sizeof sorted[0], compare_keys_falling);
        for (size_t i = 0; i < n; i++)
            total += sorted[i].weight;
        double wanted = 1 + throw_dice(&dice, (uint32_t)total);
        while ((sum += sorted[last].weight) < wanted)
            last++;
        size_t n_equal = 0;
        for (size_t i = 0; i < n; i++) {
            above += sorted[i].key > sorted[last].key ? sorted[i].weight : 0;
            n_equal += sorted[i].key == sorted[last].key;
        }
        struct baton_selected selected = baton_select(items, n, wanted);
        assert_int_equal(selected.key, sorted[last].key);
        assert_int_equal(selected.n_equal, n_equal);
        assert_true(selected.above == above);
        for (size_t i = 0; i < n_equal; i++)
            assert_true(items[i].key == selected.key && items[i].weight == sorted[last].weight);
    }
}

TEST(a_sum_out_of_reach_selects_the_lowest)
{
    struct baton_item items[] = {{5, 1}, {900000, 1}, {7, 1}};
    assert_int_equal(baton_select(items, 3, 3.0001).key, 5);
}
