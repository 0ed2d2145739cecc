#include "tests/support/test.h"

#include <math.h>

#include "engine/arch/spec_attention.h"

/* Row by row. */
static double sum_of_rows(int window, int n_past, int n_rows)
{
    double sum = 0;
    for (int i = 0; i < n_rows; i++)
        sum += baton_spec_seen(window, n_past + i + 1);
    return sum;
}

TEST(a_row_sees_what_is_before_it_or_its_window)
{
    assert_true(baton_spec_seen(0, 1000) == 1000);
    assert_true(baton_spec_seen(16, 15) == 15);
    assert_true(baton_spec_seen(16, 17) == 16);
}

TEST(rows_see_the_sum_of_each)
{
    const int windows[] = {0, 1, 7, 64}, pasts[] = {0, 1, 6, 7, 8, 100}, rows[] = {1, 2, 7, 50};
    for (int w = 0; w < 4; w++)
        for (int p = 0; p < 6; p++)
            for (int r = 0; r < 4; r++)
                assert_true(fabs(baton_spec_seen_by_rows(windows[w], pasts[p], rows[r]) -
                                 sum_of_rows(windows[w], pasts[p], rows[r])) < 1e-9);
}

TEST(layers_sum_and_those_that_read_others_hold_nothing)
{
    struct baton_spec spec = {.n_layers = 4, .n_heads = 4};
    for (int i = 0; i < 4; i++)
        spec.layers[i] = (struct baton_layer_spec){
            .n_kv_heads = 2, .head_dim = 8, .kv_from = i, .window = i == 3 ? 0 : 512};
    spec.layers[2].kv_from = 1;
    assert_true(baton_spec_kv_elements(&spec) == 3 * 2 * 16);
    assert_int_equal(baton_spec_window(&spec), 512);
    assert_true(baton_spec_windowed_share(&spec) == 0.75);
    for (int i = 0; i < 4; i++)
        spec.layers[i].window = 0;
    assert_int_equal(baton_spec_window(&spec), 0);
    assert_true(baton_spec_windowed_share(&spec) == 0);
}
