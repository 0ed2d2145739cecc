#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/checkpoint/weights.h"

static char dir[] = "/tmp/baton-weights-XXXXXX";

static void write_file(const char *name, const void *bytes, size_t n)
{
    char path[128];
    (void)snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, n, file), n);
    assert_int_equal(fclose(file), 0);
}

static const float six[] = {0, 1, 2, 3, 4, 5};

/* A safetensors file with this header and the 24 bytes of six. */
static void write_tensors(const char *name, const char *header)
{
    uint8_t bytes[512];
    uint64_t n = strlen(header);
    assert_in_range(n, 1, sizeof bytes - sizeof n - sizeof six);
    memcpy(bytes, &n, sizeof n);
    memcpy(bytes + sizeof n, header, n);
    memcpy(bytes + sizeof n + n, six, sizeof six);
    write_file(name, bytes, sizeof n + n + sizeof six);
}

static void write_text(const char *name, const char *text)
{
    write_file(name, text, strlen(text));
}

SETUP(make_dir)
{
    memcpy(dir, "/tmp/baton-weights-XXXXXX", sizeof dir);
    return mkdtemp(dir) ? 0 : -1;
}

TEARDOWN(remove_dir)
{
    const char *const names[] = {"model.safetensors", "a.safetensors", "b.safetensors",
                                 "config.json", "model.safetensors.index.json"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char path[128];
        (void)snprintf(path, sizeof path, "%s/%s", dir, names[i]);
        (void)unlink(path);
    }
    return rmdir(dir);
}

TEST(a_matrix_is_read_as_stored_or_transposed)
{
    struct baton_weights *weights;
    float floats[6];
    write_tensors("model.safetensors",
                  "{\"m\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24]}}");
    assert_int_equal(baton_weights_open(dir, &weights, NULL), BATON_OK);
    assert_int_equal(baton_weights_n_elements(weights), 6);
    assert_int_equal(baton_weights_matrix(weights, "m", 2, 3, floats, NULL), BATON_OK);
    assert_memory_equal(floats, six, sizeof six);
    struct baton_weights_source source;
    assert_int_equal(baton_weights_source(weights, "m", 3, 2, true, &source, NULL), BATON_OK);
    baton_weights_read(&source, 0, 3, floats);
    assert_memory_equal(floats, ((float[]){0, 3, 1, 4, 2, 5}), sizeof six);
    baton_weights_close(weights);
}

TEST(wrong_shapes_dtypes_and_names_are_refused_by_name)
{
    struct baton_weights *weights;
    struct baton_why why;
    float floats[6];
    write_tensors("model.safetensors",
                  "{\"m\":{\"dtype\":\"F32\",\"shape\":[2,2],\"data_offsets\":[0,16]},"
                  "\"i\":{\"dtype\":\"I64\",\"shape\":[1],\"data_offsets\":[16,24]}}");
    assert_int_equal(baton_weights_open(dir, &weights, NULL), BATON_OK);
    assert_int_equal(baton_weights_matrix(weights, "m", 2, 3, floats, &why), BATON_INVALID);
    assert_non_null(strstr(why.text, "tensor m: must have shape [2, 3]"));
    assert_int_equal(baton_weights_vector(weights, "m", 4, floats, &why), BATON_INVALID);
    assert_non_null(strstr(why.text, "tensor m: must have shape [4]"));
    assert_int_equal(baton_weights_vector(weights, "i", 1, floats, &why), BATON_INVALID);
    assert_non_null(strstr(why.text, "dtype I64"));
    assert_int_equal(baton_weights_vector(weights, "x", 1, floats, &why), BATON_INVALID);
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
    write_text("model.safetensors.index.json",
               "{\"weight_map\":{\"m\":\"a.safetensors\",\"n\":\"b.safetensors\"}}");
    assert_int_equal(baton_weights_open(dir, &weights, &why), BATON_INVALID);
    assert_non_null(strstr(why.text, "tensor m is in two files"));
    assert_null(weights);
}

TEST(a_corrupt_file_is_named)
{
    struct baton_weights *weights = NULL;
    struct baton_why why;
    write_tensors("model.safetensors", "{\"m\":1}");
    assert_int_equal(baton_weights_open(dir, &weights, &why), BATON_CORRUPT);
    assert_non_null(strstr(why.text, "model.safetensors: m: must have dtype"));
}

TEST(a_directory_without_weights_is_not_found)
{
    struct baton_weights *weights = NULL;
    assert_int_equal(baton_weights_open(dir, &weights, NULL), BATON_NOT_FOUND);
    assert_int_equal(baton_weights_open("/nonexistent", &weights, NULL), BATON_NOT_FOUND);
}

#define IN_DIR(test) cmocka_unit_test_setup_teardown(test, make_dir, remove_dir)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_DIR(a_matrix_is_read_as_stored_or_transposed),
        IN_DIR(wrong_shapes_dtypes_and_names_are_refused_by_name),
        IN_DIR(a_tensor_in_two_shards_is_refused),
        IN_DIR(a_corrupt_file_is_named),
        IN_DIR(a_directory_without_weights_is_not_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
