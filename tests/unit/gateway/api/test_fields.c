#include "tests/support/test.h"

#include <string.h>

#include "gateway/api/fields.h"

static struct baton_json *body;

static struct gw_fields fields_of(const char *text)
{
    struct baton_why why;
    assert_int_equal(baton_json_parse(text, strlen(text), &body, &why), BATON_OK);
    return gw_fields(body);
}

TEARDOWN(release)
{
    baton_json_free(body);
    body = NULL;
    return 0;
}

TEST(absent_and_null_leave_the_default)
{
    struct gw_fields fields = fields_of("{\"k\":null}");
    int64_t k = 7, n = 8;
    bool on = true;
    gw_field_int(&fields, "k", 0, 10, &k);
    gw_field_int(&fields, "n", 0, 10, &n);
    gw_field_bool(&fields, "on", &on);
    gw_fields_refuse_unknown(&fields);
    assert_false(fields.failed);
    assert_int_equal(k, 7);
    assert_int_equal(n, 8);
    assert_true(on);
}

TEST(the_first_problem_names_field_and_range_and_stays)
{
    struct gw_fields fields = fields_of("{\"top_p\":0,\"top_k\":-1}");
    double top_p = 1;
    int64_t top_k = 0;
    gw_field_real(&fields, "top_p", 0, true, 1, &top_p);
    gw_field_int(&fields, "top_k", 0, 10, &top_k);
    assert_true(fields.failed);
    assert_int_equal(fields.problem.status, 400);
    assert_string_equal(fields.problem.param, "top_p");
    assert_string_equal(fields.problem.code, "out_of_range");
    assert_string_equal(fields.problem.message, "top_p: must be a number above 0 up to 1, not 0");
    assert_true(top_p == 1);
}

TEST(an_integer_is_a_number_but_a_number_is_no_integer)
{
    struct gw_fields fields = fields_of("{\"r\":2,\"i\":2.0}");
    double real = 0;
    int64_t integer = 5;
    gw_field_real(&fields, "r", 0, false, 10, &real);
    assert_false(fields.failed);
    assert_true(real == 2);
    gw_field_int(&fields, "i", 0, 10, &integer);
    assert_string_equal(fields.problem.code, "invalid_type");
    assert_int_equal(integer, 5);
}

TEST(ids_are_checked_one_by_one)
{
    struct gw_fields fields = fields_of("{\"a\":[1,2],\"b\":[1,99]}");
    uint32_t ids[4];
    assert_int_equal(gw_field_ids(&fields, "a", gw_field(&fields, "a"), 10, 4, ids), 2);
    assert_int_equal(ids[1], 2);
    assert_int_equal(gw_field_ids(&fields, "b", gw_field(&fields, "b"), 10, 4, ids), 0);
    assert_string_equal(fields.problem.message, "b[1]: must be a token id from 0 to 9");
}

TEST(an_unknown_member_is_refused)
{
    struct gw_fields fields = fields_of("{\"a\":1,\"b\":2}");
    int64_t a = 0;
    gw_field_int(&fields, "a", 0, 10, &a);
    gw_fields_refuse_unknown(&fields);
    assert_string_equal(fields.problem.param, "b");
    assert_string_equal(fields.problem.code, "unknown_field");
}

TEST(a_body_that_is_no_object_is_refused)
{
    struct gw_fields fields = fields_of("[1]");
    assert_true(fields.failed);
    assert_string_equal(fields.problem.code, "invalid_json");
    gw_fields_refuse_unknown(&fields);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(absent_and_null_leave_the_default, release),
        cmocka_unit_test_teardown(the_first_problem_names_field_and_range_and_stays, release),
        cmocka_unit_test_teardown(an_integer_is_a_number_but_a_number_is_no_integer, release),
        cmocka_unit_test_teardown(ids_are_checked_one_by_one, release),
        cmocka_unit_test_teardown(an_unknown_member_is_refused, release),
        cmocka_unit_test_teardown(a_body_that_is_no_object_is_refused, release),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
