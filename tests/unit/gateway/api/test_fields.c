#include "tests/support/test.h"

#include <string.h>

#include "gateway/api/fields.h"

static struct baton_json *body;

static struct gw_fields fields_of(const char *text)
{
    struct baton_why why;
    assert_ok(baton_json_parse(text, strlen(text), &body, &why));
    return gw_fields(body);
}

TEARDOWN(release)
{
    baton_json_free(body);
    body = NULL;
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

TEST(an_integer_is_a_number_and_a_whole_number_an_integer)
{
    struct gw_fields fields = fields_of("{\"r\":2,\"w\":4.0,\"i\":2.5}");
    double real = 0;
    int64_t integer = 5;
    gw_field_real(&fields, "r", 0, false, 10, &real);
    assert_false(fields.failed);
    assert_true(real == 2);
    gw_field_int(&fields, "w", 0, 10, &integer);
    assert_int_equal(integer, 4);
    gw_field_int(&fields, "i", 0, 10, &integer);
    assert_string_equal(fields.problem.code, "invalid_type");
    assert_int_equal(integer, 4);
}

TEST(an_integer_beyond_64_bits_is_out_of_range)
{
    struct gw_fields fields = fields_of("{\"i\":18446744073709551615}");
    int64_t integer = 5;
    gw_field_int(&fields, "i", 0, 10, &integer);
    assert_string_equal(fields.problem.code, "out_of_range");
    assert_string_equal(fields.problem.message,
                        "i: must be an integer from 0 to 10, not 1.84467e+19");
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

static const char *const words[] = {"one", "two", "three"};

TEST(a_field_is_of_its_kinds_and_its_words)
{
    struct gw_fields fields = fields_of("{\"a\":\"x\",\"b\":\"two\",\"c\":1,\"d\":\"four\"}");
    assert_non_null(gw_field_of(&fields, "a", GW_IS_STRING | GW_IS_ARRAY, "a string or an array"));
    assert_int_equal(gw_field_word(&fields, "b", words, 3), 1);
    assert_int_equal(gw_field_word(&fields, "absent", words, 3), -1);
    struct gw_fields again = fields;
    assert_null(gw_field_of(&fields, "c", GW_IS_STRING | GW_IS_ARRAY, "a string or an array"));
    assert_string_equal(fields.problem.message, "c: must be a string or an array, not integer");
    assert_int_equal(gw_field_word(&again, "d", words, 3), -1);
    assert_string_equal(again.problem.message, "d: must be \"one\", \"two\" or \"three\"");
}

TEST(a_problem_with_a_member_is_one_with_its_field)
{
    struct gw_fields fields = fields_of("{\"o\":{\"k\":11}}");
    int64_t k = 0;
    struct gw_fields members =
        gw_fields_enter(&fields, "o", gw_field_of(&fields, "o", GW_IS_OBJECT, "an object"));
    gw_field_int(&members, "k", 0, 10, &k);
    gw_fields_leave(&fields, "o", &members);
    assert_string_equal(fields.problem.param, "o");
    assert_string_equal(fields.problem.message, "o.k: must be an integer from 0 to 10, not 11");
}

TEST(readers_record_what_they_check_after_a_problem_too)
{
    static const struct gw_alias aliases[] = {{"k", "kay"}};
    static const char *const off[] = {"k"};
    const struct gw_dialect dialect = {
        .aliases = aliases, .n_aliases = 1, .off_at_minus_one = off, .n_off = 1};
    struct gw_body_schema schema = {0};
    struct gw_fields fields = fields_of("{}");
    int64_t k = 5, none = -1;
    fields.schema = &schema;
    fields.dialect = &dialect;
    gw_fields_fail(&fields, "prompt", "missing_field", "prompt: required");
    gw_field_int(&fields, "k", 0, 10, &k);
    gw_field_int(&fields, "none", 0, 10, &none);
    gw_field_off(&fields, "mirostat", 0, "others");
    struct gw_fields members = gw_fields_enter(&fields, "o", NULL);
    (void)gw_field_word(&members, "k", words, 3);
    gw_fields_refuse_unknown(&fields);
    assert_true(gw_body_schema_find(&schema, "", "prompt")->is_required);
    const struct gw_field_schema *field = gw_body_schema_find(&schema, "", "k");
    assert_true(field->kinds == GW_IS_INT && field->off_at_minus_one && field->has_default);
    assert_true(field->min_int == 0 && field->max_int == 10 && field->fallback == 5);
    assert_string_equal(gw_body_schema_find(&schema, "", "kay")->same_as, "k");
    assert_false(gw_body_schema_find(&schema, "", "none")->has_default);
    assert_true(gw_body_schema_find(&schema, "", "mirostat")->is_refused);
    assert_true(gw_body_schema_find(&schema, "o", "k")->words == words && schema.is_closed);
    assert_null(gw_body_schema_find(&schema, "", "o.k"));
    gw_body_schema_fini(&schema);
}

EACH_TEST(NULL, release)
