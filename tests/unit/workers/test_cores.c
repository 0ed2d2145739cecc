#include "tests/support/test.h"

#include <string.h>

#include "common/worker/cores.h"
#include "common/worker/plan.h"

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

static void a_plan_knows_its_stop_tokens(void **state)
{
    Baton__V1__Sampling sampling = BATON__V1__SAMPLING__INIT;
    struct baton_plan plan;
    uint32_t ids[] = {3, 5};
    (void)state;
    baton_plan_set(&plan, &sampling);
    assert_false(baton_plan_is_stop(&plan, 0));
    sampling.stop_token_ids = ids;
    sampling.n_stop_token_ids = 2;
    sampling.top_k = 9;
    baton_plan_set(&plan, &sampling);
    assert_true(baton_plan_is_stop(&plan, 5));
    assert_false(baton_plan_is_stop(&plan, 4));
    assert_int_equal(plan.sampling.top_k, 9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_list_changes_nothing_and_counts_what_there_is),
        cmocka_unit_test(a_list_is_taken),
        cmocka_unit_test(a_bad_list_is_refused_with_its_text),
        cmocka_unit_test(a_plan_knows_its_stop_tokens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
