#include "common/policy/reservations.h"

#include "tests/support/test.h"

TEST(a_full_batch_promises_two_more_and_one_for_every_32_slots)
{
    assert_int_equal(baton_reservations_max(1), 3);
    assert_int_equal(baton_reservations_max(31), 33);
    assert_int_equal(baton_reservations_max(32), 35);
    assert_int_equal(baton_reservations_max(64), 68);
}

/* Two of 16 slots are guaranteed to batch. 18 are promised. */
TEST(batch_sequences_give_their_slots_up_but_for_the_eighth_that_they_are_sure_of)
{
    assert_false(baton_reservations_may(16, BATON_PRIORITY_BATCH, (int[]){0, 18}, 0));
    assert_true(baton_reservations_may(16, BATON_PRIORITY_BATCH, (int[]){0, 17}, 0));
    assert_true(baton_reservations_may(16, BATON_PRIORITY_BATCH, (int[]){0, 18}, 1));
    assert_true(baton_reservations_may(16, BATON_PRIORITY_INTERACTIVE, (int[]){15, 18}, 0));
    assert_false(baton_reservations_may(16, BATON_PRIORITY_INTERACTIVE, (int[]){16, 18}, 0));
    assert_true(baton_reservations_may(16, BATON_PRIORITY_INTERACTIVE, (int[]){16, 1}, 0));
    assert_false(baton_reservations_may(16, BATON_PRIORITY_INTERACTIVE, (int[]){18, 0}, 0));
    assert_false(baton_reservations_may(16, BATON_PRIORITY_BATCH, (int[]){18, 0}, 0));
}
