#include "common/policy/reservations.h"

#include "tests/support/test.h"

TEST(a_full_batch_promises_two_more_and_one_for_every_32_slots)
{
    assert_int_equal(baton_reservations_max(1), 3);
    assert_int_equal(baton_reservations_max(31), 33);
    assert_int_equal(baton_reservations_max(32), 35);
    assert_int_equal(baton_reservations_max(64), 68);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_full_batch_promises_two_more_and_one_for_every_32_slots),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
