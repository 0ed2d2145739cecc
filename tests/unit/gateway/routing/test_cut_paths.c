#include "tests/support/test.h"

#include "common/base/clock.h"
#include "gateway/routing/cut_paths.h"

#include "common/base/array.h"

static struct gw_cut_paths cut;
static int64_t now_ns;

SETUP(init)
{
    cut = (struct gw_cut_paths){.n = 0};
    now_ns = 1000 * BATON_SECOND;
}

TEST(a_pair_is_avoided_for_a_while_and_longer_each_time)
{
    static const int seconds[] = {2, 4, 8, 16, 16};
    for (size_t i = 0; i < BATON_N_OF(seconds); i++) {
        assert_int_equal(gw_cut_paths_note(&cut, 1, 2, now_ns), seconds[i] * BATON_SECOND);
        assert_true(gw_cut_paths_has(&cut, 1, 2, now_ns));
        now_ns += seconds[i] * BATON_SECOND;
        assert_false(gw_cut_paths_has(&cut, 1, 2, now_ns));
    }
    assert_int_equal(cut.n_cuts, 1);
}

TEST(requests_of_one_cut_count_once)
{
    for (int i = 0; i < 50; i++)
        assert_int_equal(gw_cut_paths_note(&cut, 1, 2, now_ns), 2 * BATON_SECOND);
}

TEST(other_pairs_of_its_workers_are_not_avoided)
{
    (void)gw_cut_paths_note(&cut, 1, 2, now_ns);
    assert_false(gw_cut_paths_has(&cut, 1, 3, now_ns));
    assert_false(gw_cut_paths_has(&cut, 3, 2, now_ns));
    assert_false(gw_cut_paths_has(&cut, 2, 1, now_ns));
}

TEST(a_hand_off_mends_a_pair_and_a_worker_that_leaves_takes_its_pairs_along)
{
    (void)gw_cut_paths_note(&cut, 1, 2, now_ns);
    (void)gw_cut_paths_note(&cut, 1, 3, now_ns);
    (void)gw_cut_paths_note(&cut, 4, 3, now_ns);
    assert_true(gw_cut_paths_mend(&cut, 1, 2));
    assert_false(gw_cut_paths_mend(&cut, 1, 2));
    assert_false(gw_cut_paths_has(&cut, 1, 2, now_ns));
    gw_cut_paths_forget(&cut, 3);
    assert_int_equal(cut.n, 0);
}

TEST(the_number_of_pairs_is_bounded)
{
    for (uint32_t i = 1; i <= 2 * GW_MAX_CUT_PATHS; i++)
        (void)gw_cut_paths_note(&cut, i, i, now_ns);
    assert_int_equal(cut.n, GW_MAX_CUT_PATHS);
    assert_true(gw_cut_paths_has(&cut, 2 * GW_MAX_CUT_PATHS, 2 * GW_MAX_CUT_PATHS, now_ns));
}

EACH_TEST(init, NULL)
