#include "tests/support/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/checkpoint/hf/safetensors.h"

/* Parses a file with this header and n_data bytes after it, in a block of exactly that size. */
static enum baton_err parse(const char *header, size_t n_data, struct baton_safetensors *file,
                            struct baton_why *why)
{
    size_t n_header = strlen(header), n = 8 + n_header + n_data;
    uint8_t *bytes = calloc(n, 1);
    assert_non_null(bytes);
    for (int i = 0; i < 8; i++)
        bytes[i] = (uint8_t)((uint64_t)n_header >> 8 * i);
    memcpy(bytes + 8, header, n_header);
    enum baton_err err = baton_safetensors_parse(bytes, n, file, why);
    free(bytes); /* names are copies; data is not looked at */
    return err;
}

static void assert_refused(const char *header, size_t n_data, const char *reason)
{
    struct baton_safetensors file = {0};
    struct baton_why why = {.text = ""};
    assert_int_equal(parse(header, n_data, &file, &why), BATON_CORRUPT);
    if (!strstr(why.text, reason))
        fail_msg("\"%s\" does not say \"%s\"", why.text, reason);
    assert_null(file.header);
}

TEST(tensors_come_in_order_of_their_data)
{
    struct baton_safetensors file;
    assert_ok(parse("{\"b\":{\"dtype\":\"F16\",\"shape\":[2,3],\"data_offsets\":[4,16]},"
                    "\"__metadata__\":{\"format\":\"pt\"},"
                    "\"a\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]},"
                    "\"none\":{\"dtype\":\"I64\",\"shape\":[0,7],\"data_offsets\":[4,4]}}  ",
                    16, &file, NULL));
    assert_int_equal(file.n_tensors, 3);
    assert_string_equal(file.tensors[0].name, "a");
    assert_string_equal(file.tensors[1].name, "none");
    assert_string_equal(file.tensors[2].name, "b");
    assert_int_equal(file.tensors[0].n_dims, 0);
    assert_int_equal(file.tensors[2].n_dims, 2);
    assert_int_equal(file.tensors[2].shape[1], 3);
    assert_int_equal(file.tensors[2].dtype, BATON_ELEMENT_F16);
    baton_safetensors_fini(&file);
}

TEST(an_empty_file_of_tensors_is_valid)
{
    struct baton_safetensors file;
    assert_ok(parse("{}", 0, &file, NULL));
    assert_int_equal(file.n_tensors, 0);
    baton_safetensors_fini(&file);
}

TEST(malformed_headers_are_refused_with_the_reason)
{
    assert_refused("", 0, "start with");
    assert_refused(" {}", 0, "start with");
    assert_refused("[]", 0, "start with");
    assert_refused("{", 0, "header");
    assert_refused("{}x", 0, "header");
    assert_refused("{\"a\":1}", 0, "a: must have dtype");
    assert_refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[1]}}", 0, "must have dtype");
    assert_refused("{\"__metadata__\":{\"k\":1}}", 0, "must be text");
    assert_refused("{\"__metadata__\":[]}", 0, "must be an object");
    assert_refused("{\"a\":{\"dtype\":\"F17\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4, "F17");
    assert_refused("{\"a\":{\"dtype\":4,\"shape\":[1],\"data_offsets\":[0,4]}}", 4, "dtype");
    assert_refused("{\"a\":{\"dtype\":\"F32\",\"shape\":1,\"data_offsets\":[0,4]}}", 4, "shape");
    assert_refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[1.0],\"data_offsets\":[0,4]}}", 4,
                   "shape");
    assert_refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[-1],\"data_offsets\":[0,4]}}", 4, "shape");
    assert_refused(
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[1,1,1,1,1,1,1,1,1],\"data_offsets\":[0,4]}}", 4,
        "at most 8");
    assert_refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0]}}", 4,
                   "two whole numbers");
    assert_refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,\"4\"]}}", 4,
                   "two whole numbers");
}

TEST(data_that_does_not_tile_the_file_is_refused)
{
    assert_refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 3,
                   "outside");
    assert_refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,0]}}", 4,
                   "outside");
    assert_refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[-4,0]}}", 4,
                   "outside");
    assert_refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 5, "after");
    assert_refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}", 8, "gap");
    assert_refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},"
                   "\"b\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[4,12]}}",
                   12, "overlaps");
    assert_refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,4]}}", 4,
                   "needs 8");
    assert_refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[4294967296,4294967296],"
                   "\"data_offsets\":[0,4]}}",
                   4, "overflows");
}

TEST(false_lengths_are_refused)
{
    const uint8_t huge[8] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
    const uint8_t past[10] = {3, 0, 0, 0, 0, 0, 0, 0, '{', '}'};
    struct baton_safetensors file;
    assert_int_equal(baton_safetensors_parse(huge, 7, &file, NULL), BATON_CORRUPT);
    assert_int_equal(baton_safetensors_parse(huge, 8, &file, NULL), BATON_LIMIT);
    assert_int_equal(baton_safetensors_parse(past, 10, &file, NULL), BATON_CORRUPT);
}

static float convert_one(enum baton_element dtype, uint16_t bits)
{
    uint8_t unaligned[3];
    float value;
    memcpy(unaligned + 1, &bits, sizeof bits);
    baton_convert(dtype, unaligned + 1, 1, &value);
    return value;
}

TEST(every_half_converts_exactly)
{
    for (uint32_t bits = 0; bits < 0x10000; bits++) {
        int exponent = bits >> 10 & 31, mantissa = bits & 1023;
        double magnitude = exponent ? ldexp(1024 + mantissa, exponent - 25) : ldexp(mantissa, -24);
        float found = convert_one(BATON_ELEMENT_F16, (uint16_t)bits);
        if (exponent == 31 && mantissa)
            assert_true(isnan(found));
        else if (exponent == 31)
            assert_true(isinf(found));
        else
            assert_true((double)fabsf(found) == magnitude);
        assert_true(!!signbit(found) == (bits >> 15));
    }
}

TEST(brain_floats_are_the_upper_half_of_floats)
{
    assert_true(convert_one(BATON_ELEMENT_BF16, 0x3f80) == 1.0F);
    assert_true(convert_one(BATON_ELEMENT_BF16, 0xc049) == -3.140625F);
    assert_true(isinf(convert_one(BATON_ELEMENT_BF16, 0x7f80)));
    assert_true(convert_one(BATON_ELEMENT_BF16, 0x0001) == 0x1p-133F);
}
