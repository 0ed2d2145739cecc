#include "tests/support/test.h"

#include "tools/baton/fleet/supervisor.h"

TEST(the_pause_before_a_restart_doubles_up_to_half_a_minute)
{
    static const int64_t expected_ms[] = {500, 1000, 2000, 4000, 8000, 16000, 30000, 30000};
    for (int n = 0; n < 8; n++)
        assert_int_equal(bt_restart_delay_ms(n), expected_ms[n]);
    assert_int_equal(bt_restart_delay_ms(INT32_MAX), 30000);
}

TEST(a_drained_process_starts_at_once_but_not_faster_than_it_becomes_ready)
{
    assert_int_equal(bt_drained_delay_ms(2000, 1000), 0);
    assert_int_equal(bt_drained_delay_ms(1000, 1000), 0);
    assert_int_equal(bt_drained_delay_ms(999, 1000), 500);
}
