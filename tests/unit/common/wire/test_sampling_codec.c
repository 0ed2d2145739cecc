#include "tests/support/test.h"

#include <math.h>
#include <string.h>

#include "common/wire/envelope/sampling_codec.h"

static const ProtobufCMessageDescriptor *const descriptor = &baton__v1__sampling__descriptor;

static bool has_row(const char *name)
{
    const struct baton_sampling_field *field;
    for (int i = 0; (field = baton_sampling_field_at(i)); i++)
        if (strcmp(field->name, name) == 0)
            return true;
    return false;
}

TEST(every_row_is_a_field_of_the_message_of_the_same_type)
{
    static const ProtobufCType types[] = {[BATON_PARAM_REAL] = PROTOBUF_C_TYPE_DOUBLE,
                                          [BATON_PARAM_COUNT] = PROTOBUF_C_TYPE_UINT32,
                                          [BATON_PARAM_FLAG] = PROTOBUF_C_TYPE_BOOL};
    const struct baton_sampling_field *field;
    for (int i = 0; (field = baton_sampling_field_at(i)); i++) {
        const ProtobufCFieldDescriptor *found =
            protobuf_c_message_descriptor_get_field_by_name(descriptor, field->name);
        if (!found)
            fail_msg("Sampling has no field %s", field->name);
        assert_int_equal(found->type, types[field->type]);
        assert_int_equal(found->label, PROTOBUF_C_LABEL_NONE);
    }
}

TEST(every_scalar_field_of_the_message_but_the_seed_has_a_row)
{
    for (unsigned i = 0; i < descriptor->n_fields; i++) {
        const ProtobufCFieldDescriptor *field = &descriptor->fields[i];
        bool listed = field->label == PROTOBUF_C_LABEL_REPEATED ||
                      field->type == PROTOBUF_C_TYPE_MESSAGE || !strcmp(field->name, "seed");
        if (has_row(field->name) == listed)
            fail_msg("%s: %s", field->name, listed ? "has a row" : "has no row");
    }
}

TEST(the_defaults_are_in_range_and_nan_and_infinity_are_not)
{
    const struct baton_sampling_params defaults = {BATON_SAMPLING_DEFAULTS};
    const struct baton_sampling_field *field;
    for (int i = 0; (field = baton_sampling_field_at(i)); i++) {
        double value = baton_sampling_field_get(field, &defaults);
        assert_true(baton_sampling_field_in_range(field, value));
        assert_int_equal(baton_sampling_field_in_range(field, field->min), !field->above_min);
        assert_int_equal(baton_sampling_field_in_range(field, field->max), !isinf(field->max));
        assert_false(baton_sampling_field_in_range(field, NAN));
        assert_false(baton_sampling_field_in_range(field, INFINITY));
        assert_false(baton_sampling_field_in_range(field, field->min - 1));
    }
}

/* A value that no other row has. */
static double value_for(const struct baton_sampling_field *field, int i)
{
    return field->type == BATON_PARAM_FLAG    ? 1
           : field->type == BATON_PARAM_COUNT ? i + 1
                                              : 1 / (double)(i + 2);
}

TEST(params_survive_the_trip)
{
    struct baton_logit_bias bias[] = {{7, -1.5F}, {9, 100}};
    uint32_t allowed[] = {5, 80000}, close[] = {9, 8};
    struct baton_sampling_params params = {.seed = UINT64_MAX,
                                           .bias = bias,
                                           .n_bias = 2,
                                           .stop_ids = {3, 1, 4},
                                           .n_stop_ids = 3,
                                           .allowed_ids = allowed,
                                           .n_allowed_ids = 2,
                                           .thinking = {.begin = "<think>",
                                                        .end = "</think>",
                                                        .is_open = true,
                                                        .repeats = true,
                                                        .max_tokens = 7,
                                                        .close = close,
                                                        .n_close = 2,
                                                        .n_first = 1}};
    struct baton_sampling_params got;
    struct baton_sampling_message message;
    const struct baton_sampling_field *field;
    uint8_t packed[1024];
    for (int i = 0; (field = baton_sampling_field_at(i)); i++)
        baton_sampling_field_set(field, &params, value_for(field, i));
    baton_sampling_encode(&message, &params);
    size_t n = baton__v1__sampling__pack(&message.message, packed);
    Baton__V1__Sampling *unpacked = baton__v1__sampling__unpack(NULL, n, packed);
    assert_non_null(unpacked);
    assert_ok(baton_sampling_decode(&got, unpacked));
    baton__v1__sampling__free_unpacked(unpacked, NULL);
    for (int i = 0; (field = baton_sampling_field_at(i)); i++)
        assert_true(baton_sampling_field_get(field, &got) == value_for(field, i));
    assert_true(got.seed == UINT64_MAX);
    assert_int_equal(got.n_bias, 2);
    assert_memory_equal(got.bias, bias, sizeof bias);
    assert_int_equal(got.n_allowed_ids, 2);
    assert_memory_equal(got.allowed_ids, allowed, sizeof allowed);
    assert_int_equal(got.n_stop_ids, 3);
    assert_memory_equal(got.stop_ids, params.stop_ids, sizeof got.stop_ids);
    assert_memory_equal(got.thinking.close, close, sizeof close);
    got.thinking.close = close;
    assert_memory_equal(&got.thinking, &params.thinking, sizeof got.thinking);
    got.thinking.close = NULL;
    baton_sampling_params_fini(&got);
}

TEST(a_message_from_before_penalties_has_none)
{
    Baton__V1__Sampling message = BATON__V1__SAMPLING__INIT;
    struct baton_sampling_params params;
    message.top_p = 0.5;
    assert_ok(baton_sampling_decode(&params, &message));
    assert_true(params.top_p == 0.5);
    assert_true(params.temperature == 0); /* greedy is said with 0 */
    assert_true(params.repetition_penalty == 1 && params.typical_p == 1);
}

TEST(a_copy_has_a_bias_of_its_own)
{
    struct baton_logit_bias bias = {7, 1};
    const struct baton_sampling_params params = {BATON_SAMPLING_DEFAULTS, .bias = &bias,
                                                 .n_bias = 1};
    struct baton_sampling_params copy;
    assert_ok(baton_sampling_params_copy(&copy, &params));
    assert_ptr_not_equal(copy.bias, &bias);
    assert_memory_equal(copy.bias, &bias, sizeof bias);
    baton_sampling_params_fini(&copy);
    assert_null(copy.bias);
}

TEST(a_removal_by_a_filter_has_the_name_of_its_parameter)
{
    assert_null(baton_removal_name(BATON_KEPT));
    assert_null(baton_removal_name(BATON_N_REMOVALS));
    assert_string_equal(baton_removal_name(BATON_REMOVED_BY_GRAMMAR), "grammar");
    assert_string_equal(baton_removal_name(BATON_REMOVED_BY_MIN_TOKENS), "min_tokens");
    for (int i = 0; i < BATON_N_FILTERS; i++) {
        const struct baton_sampling_field *field = baton_filter_field(i);
        assert_non_null(field);
        assert_string_equal(baton_removal_name((unsigned)(BATON_FIRST_FILTER + i)), field->name);
    }
}
