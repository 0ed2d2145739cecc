#include "tests/support/test.h"

#include <string.h>

#include "common/base/clock.h"

TEST(time_does_not_run_backwards)
{
    int64_t before = baton_now_ns();
    for (int i = 0; i < 1000; i++) {
        int64_t now = baton_now_ns();
        assert_true(now >= before);
        before = now;
    }
}

TEST(a_process_has_an_age_and_it_is_young)
{
    double age_s = baton_process_age_s();
    assert_true(age_s >= 0 && age_s < 60);
}

TEST(wall_time_is_iso_8601_with_milliseconds)
{
    char text[32];
    baton_wall_time(text, sizeof text);
    assert_int_equal(strlen(text), strlen("2026-11-21T04:16:06.123Z"));
    assert_int_equal(text[10], 'T');
    assert_int_equal(text[19], '.');
    assert_int_equal(text[23], 'Z');
}
