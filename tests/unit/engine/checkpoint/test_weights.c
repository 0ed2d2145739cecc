#include "tests/support/tensor_files.h"

#include "engine/checkpoint/weights/count.h"

static struct baton_weights *open_six(int n_rows, int n_columns)
{
    char header[128];
    struct baton_weights *weights;
    (void)snprintf(header, sizeof header,
                   "{\"m\":{\"dtype\":\"F32\",\"shape\":[%d,%d],\"data_offsets\":[0,24]}}", n_rows,
                   n_columns);
    write_tensors("model.safetensors", header);
    assert_ok(baton_weights_open(scratch, &weights, NULL));
    return weights;
}

TEST(a_matrix_is_read_as_stored_or_transposed)
{
    struct baton_weights *weights = open_six(2, 3);
    float floats[6];
    struct baton_weights_source source = {
        .n_out = 2,
        .n_in = 3,
        .n_slices = 1,
        .slices = {{.tensor = baton_weights_find(weights, "m"), .n = 2, .n_stored = 2}}};
    baton_weights_read(&source, 0, 2, floats);
    assert_memory_equal(floats, six, sizeof six);
    source.n_out = 3;
    source.n_in = 2;
    source.slices[0].n = source.slices[0].n_stored = 3;
    source.slices[0].transposed = true;
    baton_weights_read(&source, 0, 3, floats);
    assert_memory_equal(floats, ((float[]){0, 3, 1, 4, 2, 5}), sizeof six);
    baton_weights_read(&source, 1, 2, floats);
    assert_memory_equal(floats, ((float[]){1, 4, 2, 5}), 4 * sizeof *six);
    baton_weights_close(weights);
}

TEST(a_matrix_has_its_rows_from_parts_in_an_order_of_their_own)
{
    struct baton_weights *weights = open_six(6, 1);
    const struct baton_tensor *tensor = baton_weights_find(weights, "m");
    float floats[6];
    /* Row 0 of each of two heads of three rows; then a head of two pairs. */
    const struct baton_weights_source source = {
        .n_out = 6,
        .n_in = 1,
        .n_slices = 2,
        .slices = {{.tensor = tensor,
                    .first = 2,
                    .n = 4,
                    .n_stored = 6,
                    .order = {.head_dim = 4, .n_rotated = 4, .first = 1}},
                   {.tensor = tensor, .n = 2, .n_stored = 6, .order = {.head_dim = 1, .step = 3}}}};
    baton_weights_read(&source, 0, 6, floats);
    assert_memory_equal(floats, ((float[]){0, 3, 1, 3, 2, 4}), sizeof six);
    baton_weights_read(&source, 1, 3, floats);
    assert_memory_equal(floats, ((float[]){3, 1, 3}), 3 * sizeof *six);
    baton_weights_close(weights);
}

TEST(wrong_shapes_dtypes_and_names_are_refused_by_name)
{
    struct baton_weights *weights;
    struct baton_why why;
    const struct baton_tensor *tensor = NULL;
    write_tensors("model.safetensors",
                  "{\"m\":{\"dtype\":\"F32\",\"shape\":[2,2],\"data_offsets\":[0,16]},"
                  "\"i\":{\"dtype\":\"I64\",\"shape\":[1],\"data_offsets\":[16,24]}}");
    assert_ok(baton_weights_open(scratch, &weights, NULL));
    assert_int_equal(baton_weights_find_shaped(weights, "m", 2, (int64_t[]){2, 3}, &tensor, &why),
                     BATON_INVALID);
    assert_non_null(strstr(why.text, "tensor m: must have shape [2, 3], not [2, 2]"));
    assert_int_equal(baton_weights_find_shaped(weights, "m", 1, (int64_t[]){4}, &tensor, &why),
                     BATON_INVALID);
    assert_non_null(strstr(why.text, "tensor m: must have shape [4], not [2, 2]"));
    assert_int_equal(baton_weights_find_shaped(weights, "i", 1, (int64_t[]){1}, &tensor, &why),
                     BATON_INVALID);
    assert_non_null(strstr(why.text, "dtype must be F32, F16 or BF16, not I64"));
    assert_int_equal(baton_weights_find_shaped(weights, "x", 1, (int64_t[]){1}, &tensor, &why),
                     BATON_INVALID);
    assert_non_null(strstr(why.text, "tensor x is missing"));
    baton_weights_close(weights);
}

TEST(a_tensor_in_two_shards_is_refused)
{
    const char header[] = "{\"m\":{\"dtype\":\"F32\",\"shape\":[6],\"data_offsets\":[0,24]}}";
    struct baton_weights *weights = NULL;
    struct baton_why why;
    write_tensors("a.safetensors", header);
    write_tensors("b.safetensors", header);
    write_scratch("model.safetensors.index.json",
                  "{\"weight_map\":{\"m\":\"a.safetensors\",\"n\":\"b.safetensors\"}}");
    assert_int_equal(baton_weights_open(scratch, &weights, &why), BATON_INVALID);
    assert_non_null(strstr(why.text, "tensor m is in two files"));
    assert_null(weights);
}

TEST(a_corrupt_file_is_named)
{
    struct baton_weights *weights = NULL;
    struct baton_why why;
    write_tensors("model.safetensors", "{\"m\":1}");
    assert_int_equal(baton_weights_open(scratch, &weights, &why), BATON_CORRUPT);
    assert_non_null(strstr(why.text, "model.safetensors: m: must have dtype"));
}

TEST(weights_are_counted_by_their_values_and_most_common_format)
{
    struct baton_weights *weights;
    write_tensors("model.safetensors",
                  "{\"a\":{\"dtype\":\"BF16\",\"shape\":[3],\"data_offsets\":[0,6]},"
                  "\"e_blocks\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[6,10]},"
                  "\"e_scales\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[10,12]},"
                  "\"n\":{\"dtype\":\"F32\",\"shape\":[1,3],\"data_offsets\":[12,24]}}");
    assert_ok(baton_weights_open(scratch, &weights, NULL));
    struct baton_weights_count count = baton_weights_count(weights);
    assert_int_equal(count.n_parameters, 3 + 8 + 3);
    assert_int_equal(count.n_bytes, 24);
    assert_string_equal(count.format, "MXFP4");
    baton_weights_close(weights);
}

TEST(a_directory_without_weights_is_not_found)
{
    struct baton_weights *weights = NULL;
    assert_int_equal(baton_weights_open(scratch, &weights, NULL), BATON_NOT_FOUND);
    assert_int_equal(baton_weights_open("/nonexistent", &weights, NULL), BATON_NOT_FOUND);
}

EACH_TEST(make_scratch, remove_scratch)
