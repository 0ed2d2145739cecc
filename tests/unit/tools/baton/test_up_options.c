#include "tests/support/test.h"

#include <string.h>

#include "tools/baton/fleet/up_options.h"

#include "common/base/array.h"

TEST(processors_are_auto_all_or_a_list)
{
    static const char *const good[] = {"auto", "all", "0", "0,2-3", "10-12,1"};
    static const char *const bad[] = {"", "a", "0,", "-1", "1-", "0-1-2", "0;1"};
    struct bt_up_options options = {.model = "/nowhere", .host = "localhost"};
    for (size_t i = 0; i < BATON_N_OF(good); i++) {
        struct baton_why why = {.text = ""};
        options.decode_cores = good[i];
        assert_int_equal(bt_up_check(&options, &why), BATON_INVALID);
        assert_non_null(strstr(why.text, "--model")); /* cores are right */
    }
    for (size_t i = 0; i < BATON_N_OF(bad); i++) {
        struct baton_why why = {.text = ""};
        options.decode_cores = bad[i];
        assert_int_equal(bt_up_check(&options, &why), BATON_INVALID);
        assert_non_null(strstr(why.text, "--decode-cores"));
    }
}
