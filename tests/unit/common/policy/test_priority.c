/* The order of classes, and the number of slots of batch. */
#include "common/policy/priority.h"

#include <string.h>

#include "tests/support/test.h"

TEST(while_both_wait_every_eighth_turn_is_batchs)
{
    char order[25] = "";
    uint32_t n_turns = 0;
    for (int i = 0; i < 24; i++) {
        enum baton_priority next = baton_priority_next(n_turns, true, true);
        baton_priority_take(&n_turns, next, true);
        order[i] = next == BATON_PRIORITY_BATCH ? 'b' : 'i';
    }
    assert_string_equal(order, "iiiiiiibiiiiiiibiiiiiiib");
}

TEST(one_class_alone_has_every_turn)
{
    uint32_t n_turns = 0;
    for (int i = 0; i < 20; i++) {
        assert_int_equal(baton_priority_next(n_turns, true, false), BATON_PRIORITY_INTERACTIVE);
        baton_priority_take(&n_turns, BATON_PRIORITY_INTERACTIVE, false);
    }
    assert_int_equal(n_turns, 0); /* batch that comes now has waited for nothing */
    for (int i = 0; i < 20; i++)
        assert_int_equal(baton_priority_next(n_turns, false, true), BATON_PRIORITY_BATCH);
}

TEST(batch_that_is_due_stays_due_until_it_has_its_turn)
{
    uint32_t n_turns = 0;
    for (int i = 0; i < 30; i++)
        baton_priority_take(&n_turns, BATON_PRIORITY_INTERACTIVE, true);
    assert_int_equal(baton_priority_next(n_turns, true, true), BATON_PRIORITY_BATCH);
    baton_priority_take(&n_turns, BATON_PRIORITY_BATCH, true);
    assert_int_equal(baton_priority_next(n_turns, true, true), BATON_PRIORITY_INTERACTIVE);
}

TEST(batch_has_an_eighth_of_any_number_of_slots)
{
    for (int n_slots = 1; n_slots <= 70; n_slots++) {
        int sum = 0;
        for (uint64_t step = 5; step < 5 + 8 * 3; step++) {
            int n = baton_batch_slots(n_slots, step);
            assert_in_range(n, n_slots / 8, (n_slots + 7) / 8);
            sum += n;
        }
        assert_int_equal(sum, 3 * n_slots);
    }
}

TEST(classes_have_names)
{
    assert_string_equal(baton_priority_name(BATON_PRIORITY_INTERACTIVE), "interactive");
    assert_string_equal(baton_priority_name(BATON_PRIORITY_BATCH), "batch");
    assert_int_equal(baton_batch_spare(64), 8);
    assert_int_equal(baton_batch_spare(7), 0);
}
