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

/* The expected tokens of n drafts over the time that they take. */
static double rate_of(double p, double cost, int n)
{
    double tokens = 1, right = p;
    for (int i = 0; i < n; i++, right *= p)
        tokens += right;
    return tokens / (1 + n * cost);
}

TEST(as_many_drafts_are_paid_as_make_the_most_tokens_a_second)
{
    for (double p = 0.05; p < 1; p += 0.05)
        for (double cost = 0.02; cost < 1.2; cost *= 1.3) {
            struct baton_draft_odds odds = baton_draft_odds_of(p);
            int n = baton_draft_length_paid(&odds, cost, 16);
            for (int other = 0; other <= 16; other++)
                assert_true(rate_of(p, cost, n) > rate_of(p, cost, other) - 1e-9);
        }
}

TEST(a_paid_draft_costs_its_row_and_its_part_of_a_round)
{
    /* A step of 10 + 1 takes a row of its own 1, and a round of 1 + 0.5 another 1.5. */
    assert_float_equal(baton_draft_cost(10, 1, 1, 1, 0.5, 1), 2.5 / 11, 1e-12);
    /* Ten sequences share the step, and five of them the round. */
    assert_float_equal(baton_draft_cost(10, 1, 10, 1, 0.5, 5), 1.7 / 2, 1e-12);
    assert_float_equal(baton_draft_cost(0, 0, 4, 1, 1, 4), 0, 0);
    assert_float_equal(baton_draft_cost(1, 1, 4, 0, 0, 4), 0, 0);
}
