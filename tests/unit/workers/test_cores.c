#include "tests/support/test.h"

#include <string.h>

#include "common/worker/cores.h"

static void no_list_changes_nothing_and_counts_what_there_is(void **state)
{
    struct baton_why why;
    int n = 0;
    (void)state;
    assert_int_equal(baton_cores_choose("", &n, &why), BATON_OK);
    assert_true(n >= 1);
}

static void a_list_is_taken(void **state)
{
    struct baton_why why;
    int n = 0;
    (void)state;
    assert_int_equal(baton_cores_choose("0", &n, &why), BATON_OK);
    assert_int_equal(n, 1);
}

static void a_bad_list_is_refused_with_its_text(void **state)
{
    static const char *const bad[] = {"x", "0,", "1-0", "-1", "0-", "99999", "0 1", ","};
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct baton_why why = {""};
        int n = 0;
        assert_int_equal(baton_cores_choose(bad[i], &n, &why), BATON_INVALID);
        assert_non_null(strstr(why.text, bad[i]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_list_changes_nothing_and_counts_what_there_is),
        cmocka_unit_test(a_list_is_taken),
        cmocka_unit_test(a_bad_list_is_refused_with_its_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
