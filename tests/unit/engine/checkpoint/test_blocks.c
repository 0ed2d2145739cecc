#include "tests/support/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/checkpoint/weights/blocks.h"

TEST(types_are_found_by_name_and_by_id)
{
#define X(name, id, values, bytes) {#name, id, values, bytes},
    static const struct {
        const char *name;
        uint32_t id;
        size_t n_values, n_bytes;
    } wanted[] = {BATON_BLOCK_TYPES(X)};
#undef X
    for (int i = 0; i < BATON_N_BLOCK_TYPES; i++) {
        enum baton_block_type named, numbered;
        assert_true(baton_block_type_parse(wanted[i].name, &named));
        assert_int_equal(named, i);
        assert_ok(baton_block_type_of_id(wanted[i].id, &numbered, NULL));
        assert_int_equal(numbered, i);
        assert_string_equal(baton_block_type_name(named), wanted[i].name);
        assert_int_equal(baton_block_values(named), wanted[i].n_values);
        assert_int_equal(baton_block_bytes(named), wanted[i].n_bytes);
        assert_true(wanted[i].n_values <= BATON_BLOCK_MAX_VALUES);
        assert_true(wanted[i].n_bytes <= BATON_BLOCK_MAX_BYTES);
    }
}

TEST(other_types_are_refused_by_name)
{
    struct baton_why why;
    enum baton_block_type type = BATON_BLOCK_F32;
    assert_int_equal(baton_block_type_of_id(9, &type, &why), BATON_INVALID);
    assert_non_null(strstr(why.text, "Q8_1"));
    assert_int_equal(baton_block_type_of_id(28, &type, &why), BATON_INVALID);
    assert_non_null(strstr(why.text, "F64"));
    assert_int_equal(baton_block_type_of_id(31, &type, &why), BATON_INVALID);
    assert_non_null(strstr(why.text, "Q4_0_4_4"));
    assert_int_equal(baton_block_type_of_id(77, &type, &why), BATON_INVALID);
    assert_non_null(strstr(why.text, "77"));
    assert_false(baton_block_type_parse("q4_0", &type));
    assert_false(baton_block_type_parse("IQ1_X", &type));
    assert_int_equal(type, BATON_BLOCK_F32);
}

static void fill(uint8_t *block, size_t n)
{
    for (size_t i = 0; i < n; i++)
        block[i] = (uint8_t)random();
}

/* Whether several bytes mean the same: TQ1_0 uses 243 of 256, NVFP4 ignores signs of scales. */
static bool has_spare_bytes(enum baton_block_type type)
{
    return type == BATON_BLOCK_TQ1_0 || type == BATON_BLOCK_NVFP4;
}

static void assert_same_values(enum baton_block_type type, const uint8_t *a, const uint8_t *b)
{
    float of_a[BATON_BLOCK_MAX_VALUES], of_b[BATON_BLOCK_MAX_VALUES];
    baton_blocks_decode(type, a, 1, of_a);
    baton_blocks_decode(type, b, 1, of_b);
    assert_memory_equal(of_a, of_b, baton_block_values(type) * sizeof *of_a);
}

TEST(a_block_taken_apart_and_put_together_is_the_same)
{
    srandom(1);
    for (int i = 0; i < BATON_N_BLOCK_TYPES; i++) {
        enum baton_block_type type = (enum baton_block_type)i;
        size_t n = baton_block_bytes(type);
        for (int k = 0; k < 2000 && baton_block_codes_form(type); k++) {
            uint8_t block[BATON_BLOCK_MAX_BYTES], again[BATON_BLOCK_MAX_BYTES];
            struct baton_block_codes codes;
            fill(block, n);
            fill(again, n);
            baton_block_unpack(type, block, &codes);
            if (!isfinite(codes.d) || !isfinite(codes.min))
                continue;
            baton_block_pack(type, &codes, again);
            if (has_spare_bytes(type))
                assert_same_values(type, again, block);
            else
                assert_memory_equal(again, block, n);
        }
    }
}

/* One block of each type: d 1/2, min 2 (Q4_1, Q5_1: m 2), code 1 at value 1 and the greatest code
 * at the last value; the others are 0. Scales of groups are 3 (Q2_K, Q4_K, Q5_K), their mins 1. */
static void check_block(enum baton_block_type type, float zero, float one, float greatest)
{
    const struct baton_block_codes_form *form = baton_block_codes_form(type);
    size_t n = baton_block_values(type);
    struct baton_block_codes codes = {.d = 0.5F, .codes = {0, 1}};
    uint8_t block[BATON_BLOCK_MAX_BYTES];
    float floats[BATON_BLOCK_MAX_VALUES];
    memset(codes.scales, 3, sizeof codes.scales);
    memset(codes.mins, 1, sizeof codes.mins);
    if (form->has_min)
        codes.min = form->max_scale ? 2 : -2;
    codes.codes[n - 1] = (uint8_t)((1 << form->n_bits) - 1);
    baton_block_pack(type, &codes, block);
    baton_blocks_decode(type, block, 1, floats);
    assert_true(floats[0] == zero);
    assert_true(floats[1] == one);
    for (size_t i = 2; i < n - 1; i++)
        assert_true(floats[i] == zero);
    assert_true(floats[n - 1] == greatest);
}

TEST(values_follow_the_type_s_formula)
{
    check_block(BATON_BLOCK_Q8_0, -64, -63.5F, 63.5F);
    check_block(BATON_BLOCK_Q4_0, -4, -3.5F, 3.5F);
    check_block(BATON_BLOCK_Q4_1, 2, 2.5F, 9.5F);
    check_block(BATON_BLOCK_Q5_0, -8, -7.5F, 7.5F);
    check_block(BATON_BLOCK_Q5_1, 2, 2.5F, 17.5F);
    check_block(BATON_BLOCK_Q2_K, -2, -0.5F, 2.5F);
    check_block(BATON_BLOCK_Q3_K, -6, -4.5F, 4.5F);
    check_block(BATON_BLOCK_Q4_K, -2, -0.5F, 20.5F);
    check_block(BATON_BLOCK_Q5_K, -2, -0.5F, 44.5F);
    check_block(BATON_BLOCK_Q6_K, -48, -46.5F, 46.5F);
    check_block(BATON_BLOCK_IQ4_NL, -63.5F, -52, 56.5F);
    check_block(BATON_BLOCK_IQ4_XS, -190.5F, -156, 169.5F);
    check_block(BATON_BLOCK_MXFP4, 0, 0.5F, -6);
    check_block(BATON_BLOCK_Q1_0, -0.5F, 0.5F, 0.5F);
    check_block(BATON_BLOCK_Q2_0, -0.5F, 0, 1);
    check_block(BATON_BLOCK_TQ2_0, -0.5F, 0, 1);
    check_block(BATON_BLOCK_NVFP4, 0, 0x3p-10F, -0x24p-10F);
}

TEST(points_and_signs_make_the_values_of_grids)
{
    uint8_t block[BATON_BLOCK_MAX_BYTES] = {0, 0x3c, 255, 1}; /* d 1, points 255 and 1 */
    float floats[BATON_BLOCK_MAX_VALUES];
    block[66] = 2; /* the second value is negative, and so is the eighth */
    block[69] = 0x30;
    baton_blocks_decode(BATON_BLOCK_IQ3_XXS, block, 1, floats);
    static const float wanted[] = {4, -28, 52, 62, 20, 4, 4, -4};
    for (int i = 0; i < 8; i++)
        assert_true(floats[i] == wanted[i] * 7 / 4);
}

TEST(a_scale_without_a_number_gives_values_without_one)
{
    uint8_t block[34] = {0x01, 0x7e}; /* f16 NaN */
    float floats[32];
    baton_blocks_decode(BATON_BLOCK_Q8_0, block, 1, floats);
    for (int i = 0; i < 32; i++)
        assert_true(isnan(floats[i]));
    block[0] = 0, block[1] = 0xfc; /* -infinity */
    block[3] = 1;
    baton_blocks_decode(BATON_BLOCK_Q8_0, block, 1, floats);
    assert_true(isnan(floats[0]) && isinf(floats[1]) && floats[1] < 0);
}

TEST(plain_numbers_are_blocks_of_one)
{
    const uint8_t f16[] = {0x00, 0x3c, 0x01, 0x80}, bf16[] = {0x80, 0x3f, 0x40, 0xc0};
    const float f32[] = {1.5F, -0.0F};
    float floats[2];
    baton_blocks_decode(BATON_BLOCK_F16, f16, 2, floats);
    assert_true(floats[0] == 1 && floats[1] == -0x1p-24F);
    baton_blocks_decode(BATON_BLOCK_BF16, bf16, 2, floats);
    assert_true(floats[0] == 1 && floats[1] == -3);
    baton_blocks_decode(BATON_BLOCK_F32, (const uint8_t *)f32, 2, floats);
    assert_memory_equal(floats, f32, sizeof f32);
    assert_null(baton_block_codes_form(BATON_BLOCK_F32));
    assert_null(baton_block_codes_form(BATON_BLOCK_F16));
    assert_null(baton_block_codes_form(BATON_BLOCK_BF16));
}
