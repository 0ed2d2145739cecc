#include "tests/support/test.h"

#include <math.h>

#include "bench/handoff/cost.h"
#include "common/wire/handoff.h"

/* 1 ms a token to compute, 1000 bytes a token, 100 kB/ms, half a millisecond to set up. */
static const struct ho_point points[] = {
    {.n_tokens = 16, .n_bytes = 16000, .prefill_s = 0.016, .transfer_s = 0.00066},
    {.n_tokens = 512, .n_bytes = 512000, .prefill_s = 0.512, .transfer_s = 0.00562}};
static const struct ho_network here = {0, 0};

static struct ho_curve curve_of(int n_points)
{
    struct ho_curve curve = {.points = points,
                             .n_points = n_points,
                             .n_layers = 10,
                             .block_tokens = 16,
                             .bytes_per_token = 1000};
    ho_curve_fit(&curve);
    return curve;
}

static void assert_near(double got, double expected)
{
    if (!(fabs(got - expected) <= 1e-9 + 1e-6 * fabs(expected)))
        fail_msg("%.12g is not %.12g", got, expected);
}

TEST(the_line_goes_through_what_was_measured)
{
    struct ho_curve curve = curve_of(2);
    assert_near(curve.setup_s, 0.0005);
    assert_near(curve.bytes_per_s, 1e8);
    for (int i = 0; i < 2; i++) {
        assert_near(ho_transfer_s(&curve, &here, points[i].n_tokens), points[i].transfer_s);
        assert_near(ho_prefill_s(&curve, points[i].n_tokens), points[i].prefill_s);
    }
    assert_near(ho_prefill_s(&curve, 100), 0.1);
    assert_near(ho_prefill_s(&curve, 1000), 1);
    assert_near(ho_prefill_s(&curve, 1), 0.001);
}

TEST(one_length_is_a_line_through_nothing)
{
    struct ho_curve curve = curve_of(1);
    assert_near(ho_prefill_s(&curve, 32), 0.032);
    assert_near(ho_transfer_s(&curve, &here, 16), 0.00066);
}

TEST(whole_blocks_travel)
{
    struct ho_curve curve = curve_of(2);
    assert_near(ho_transfer_s(&curve, &here, 1), ho_transfer_s(&curve, &here, 16));
    assert_true(ho_transfer_s(&curve, &here, 17) > ho_transfer_s(&curve, &here, 16));
}

TEST(the_narrowest_part_of_the_way_sets_the_pace)
{
    struct ho_curve curve = curve_of(2);
    const struct ho_network slow = {.bytes_per_s = 1e6, .latency_s = 0.002}, fast = {1e12, 0};
    const struct ho_network far = {.latency_s = 10};
    assert_near(ho_transfer_s(&curve, &slow, 512), 0.0005 + 0.002 + 0.512);
    assert_near(ho_transfer_s(&curve, &fast, 512), points[1].transfer_s);
    assert_near(ho_transfer_s(&curve, &far, 512),
                0.0005 + 10 + 512000 / (BATON_HANDOFF_CREDIT_BYTES / 20.0));
}

TEST(the_part_that_prefill_does_not_hide_is_exposed_and_the_last_layer_always)
{
    struct ho_curve curve = curve_of(2);
    const struct ho_network slow = {.bytes_per_s = 5e5};
    assert_near(ho_exposed_s(&curve, &here, 512), 0.0005 + 51200 / 1e8);
    assert_near(ho_exposed_s(&curve, &slow, 512), 0.0005 + 1.024 - 0.512);
}

TEST(break_even_is_where_it_begins_to_pay_for_good)
{
    struct ho_curve curve = curve_of(2);
    const struct ho_network far = {.latency_s = 0.05}, slow = {.bytes_per_s = 9e5};
    assert_int_equal(ho_break_even(&curve, &here, 1000, ho_transfer_s), 1);
    int n = ho_break_even(&curve, &far, 1000, ho_transfer_s);
    assert_true(n > 50 && n < 60);
    assert_true(ho_transfer_s(&curve, &far, n) < ho_prefill_s(&curve, n));
    assert_true(ho_transfer_s(&curve, &far, n - 1) >= ho_prefill_s(&curve, n - 1));
    assert_int_equal(ho_break_even(&curve, &far, 40, ho_transfer_s), 0);
    assert_int_equal(ho_break_even(&curve, &slow, 1000, ho_transfer_s), 0);
    assert_true(ho_break_even(&curve, &slow, 1000, ho_exposed_s) > 0);
}
