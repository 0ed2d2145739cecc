#include "tests/support/test.h"

#include "common/policy/draft_length.h"

TEST(a_draft_is_made_while_it_is_worth_its_row)
{
    struct baton_draft_odds odds = baton_draft_odds_of(0.8);
    double least = baton_draft_least(0.010, 0.001, 1);          /* a row is 1/11 of the step */
    assert_int_equal(baton_draft_length(&odds, least, 16), 10); /* 0.8^10 = 0.107 */
    assert_int_equal(baton_draft_length(&odds, least, 4), 4);
    assert_int_equal(baton_draft_length(&odds, least, 0), 0);
    least = baton_draft_least(0.010, 0.001, 16); /* in a large batch it must be surer */
    assert_int_equal(baton_draft_length(&odds, least, 16), 2);
    least = baton_draft_least(0, 0.001, 4); /* nothing is shared: none pays */
    assert_int_equal(baton_draft_length(&odds, least, 16), 0);
    odds.p = 1;
    assert_int_equal(baton_draft_length(&odds, least, 16), 0);
}

TEST(costs_that_are_not_known_forbid_nothing)
{
    struct baton_draft_odds odds = baton_draft_odds_of(0.5);
    assert_int_equal(baton_draft_length(&odds, baton_draft_least(0, 0, 3), 7), 7);
}

TEST(odds_follow_what_was_accepted)
{
    struct baton_draft_odds odds = baton_draft_odds_of(0.5);
    for (int i = 0; i < 20; i++)
        baton_draft_odds_note(&odds, 8, 8);
    assert_true(odds.p > 0.99 && odds.p <= 1);
    for (int i = 0; i < 50; i++)
        baton_draft_odds_note(&odds, 8, 0);
    assert_true(odds.p < 0.01 && odds.p >= 0);
    double before = odds.p;
    baton_draft_odds_note(&odds, 0, 0); /* none was checked: nothing is known */
    assert_true(odds.p == before);
}

TEST(odds_that_are_poor_are_tried_again_in_time)
{
    struct baton_draft_odds odds = baton_draft_odds_of(0.01);
    double least = baton_draft_least(0.010, 0.001, 1);
    int n = 0;
    for (; !baton_draft_length(&odds, least, 8); n++)
        baton_draft_odds_forget(&odds);
    assert_true(n > 3 && n < 20);
    assert_int_equal(baton_draft_length(&odds, least, 8), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_draft_is_made_while_it_is_worth_its_row),
        cmocka_unit_test(costs_that_are_not_known_forbid_nothing),
        cmocka_unit_test(odds_follow_what_was_accepted),
        cmocka_unit_test(odds_that_are_poor_are_tried_again_in_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
