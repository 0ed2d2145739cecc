#include "tests/support/test.h"

#include <string.h>

#include "tools/baton/fleet/progress.h"

#include "common/base/array.h"

TEST(the_last_step_of_a_log_counts_until_it_is_over)
{
    static const struct {
        const char *log, *step; /* step NULL: none */
        int percent;
        double left_s;
    } cases[] = {
        {"", NULL, 0, 0},
        {"ts=1 ev=listening port=1\n", NULL, 0, 0},
        {"ev=weights_digest percent=40 left_s=3.5\n", "checking the weights", 40, 3.5},
        {"ev=weights_digest percent=40 left_s=3\nev=weights_packing percent=10 left_s=9\nev=x\n",
         "packing the weights", 10, 9},
        {"{\"ev\":\"weights_packing\",\"percent\":25,\"left_s\":1.5}\n", "packing the weights", 25,
         1.5},
        {"ev=weights_packing percent=10 left_s=9\nev=weights_packing percent=100 left_s=0\n", NULL,
         0, 0},
        {"ev=weights_packing percent=1", NULL, 0, 0}, /* half a line */
    };
    for (size_t i = 0; i < BATON_N_OF(cases); i++) {
        const char *step = "";
        int percent = -1;
        double left_s = -1;
        bool found = bt_progress_read(cases[i].log, strlen(cases[i].log), &step, &percent, &left_s);
        assert_int_equal(found, cases[i].step != NULL);
        if (!found)
            continue;
        assert_string_equal(step, cases[i].step);
        assert_int_equal(percent, cases[i].percent);
        assert_true(left_s == cases[i].left_s);
    }
}
