#include "common/base/array.h"
#include "tests/unit/engine/kernels/guarded.h"
#include "tests/unit/engine/unit.h"

#include <float.h>

#include "common/base/bf16.h"
#include "common/base/f16.h"
#include "engine/kernels/pack/packed.h"

static const int ins[] = {1, 2, 15, 16, 31, 32, 33, 63, 64, 65, 200}, outs[] = {1, 15, 16, 17, 50};

/* The dtypes that are packed from floats; test_packed_native.c has the others. */
enum { N_FLOAT_DTYPES = BATON_F16 + 1 };
enum { N_INS = BATON_N_OF(ins), N_OUTS = BATON_N_OF(outs), MAX_IN = 256 };

/* Packs rows [n_out][n_in] into memory of just the size; free_packed gives it back. */
static struct baton_packed pack(enum baton_dtype dtype, enum baton_layout layout, int n_out,
                                int n_in, const float *rows)
{
    struct baton_packed packed = {.dtype = dtype, .layout = layout, .n_out = n_out, .n_in = n_in};
    size_t n_bytes = baton_packed_bytes(dtype, layout, n_out, n_in);
    float panel[BATON_PANEL * MAX_IN];
    assert_int_equal(n_bytes % 64, 0);
    packed.data = guarded_create(n_bytes, 64);
    for (int p = 0; p < baton_packed_n_panels(&packed); p++) {
        int n = n_out - p * BATON_PANEL < BATON_PANEL ? n_out - p * BATON_PANEL : BATON_PANEL;
        memset(panel, 0, sizeof panel);
        memcpy(panel, rows + (size_t)p * BATON_PANEL * n_in, (size_t)n * n_in * sizeof *panel);
        baton_packed_write(&packed, p, panel);
    }
    return packed;
}

static void free_packed(const struct baton_packed *packed)
{
    guarded_destroy(packed->data,
                    baton_packed_bytes(packed->dtype, packed->layout, packed->n_out, packed->n_in));
}

/* Whether a weight came back as its dtype keeps it; group is what shares its scale. */
static bool is_kept(enum baton_dtype dtype, float found, float packed, const float *group, int n)
{
    double largest = 0;
    if (dtype == BATON_F32)
        return found == packed;
    if (dtype == BATON_BF16)
        return found == baton_bf16_to(baton_bf16_from(packed));
    if (dtype == BATON_F16)
        return found == baton_f16_to(baton_f16_from(packed));
    for (int i = 0; i < n; i++)
        largest = fmax(largest, fabs((double)group[i]));
    double half_step = largest / 127 / 2;
    return fabs((double)found - (double)packed) <= half_step * (1 + 300 * (double)FLT_EPSILON);
}

static void assert_comes_back(enum baton_dtype dtype, enum baton_layout layout, int n_out, int n_in)
{
    float *rows = random_floats((size_t)n_out * n_in, 1), row[MAX_IN];
    struct baton_packed packed = pack(dtype, layout, n_out, n_in, rows);
    for (int out = 0; out < n_out; out++) {
        baton_packed_row(&packed, out, row);
        for (int k = 0; k < n_in; k++) {
            int first = k / BATON_Q8_GROUP * BATON_Q8_GROUP, n = n_in - first;
            assert_true(is_kept(dtype, row[k], rows[out * n_in + k], rows + out * n_in + first,
                                n < BATON_Q8_GROUP ? n : BATON_Q8_GROUP));
        }
    }
    free_packed(&packed);
    free(rows);
}

TEST(rows_come_back_as_their_dtype_keeps_them)
{
    for (int i = 0; i < N_INS * N_OUTS; i++) {
        int n_in = ins[i % N_INS], n_out = outs[i / N_INS];
        for (int dtype = 0; dtype < N_FLOAT_DTYPES; dtype++)
            assert_comes_back((enum baton_dtype)dtype, BATON_PANELS, n_out, n_in);
        assert_comes_back(BATON_F32, BATON_ROWS, n_out, n_in);
    }
}

TEST(elements_past_the_matrix_are_zero)
{
    for (int i = 0; i < N_INS * N_OUTS * N_FLOAT_DTYPES; i++) {
        enum baton_dtype dtype = (enum baton_dtype)(i / N_INS / N_OUTS);
        int n_in = ins[i % N_INS], n_out = outs[i / N_INS % N_OUTS];
        float *rows = random_floats((size_t)n_out * n_in, 1), row[MAX_IN];
        struct baton_packed packed = pack(dtype, BATON_PANELS, n_out, n_in, rows), whole = packed;
        whole.n_in = baton_packed_n_in(dtype, n_in);
        whole.n_out = baton_packed_n_panels(&packed) * BATON_PANEL;
        for (int out = 0; out < whole.n_out; out++) {
            baton_packed_row(&whole, out, row);
            for (int k = out < n_out ? n_in : 0; k < whole.n_in; k++)
                assert_true(row[k] == 0);
        }
        free_packed(&packed);
        free(rows);
    }
}

TEST(every_byte_of_a_matrix_is_written)
{
    const float rows[17 * 65] = {0};
    for (int dtype = 0; dtype < N_FLOAT_DTYPES; dtype++) {
        struct baton_packed packed = pack((enum baton_dtype)dtype, BATON_PANELS, 17, 65, rows);
        const uint8_t *bytes = packed.data; /* 0xff before, and nothing is stored as that */
        for (size_t i = 0; i < baton_packed_read_bytes(&packed); i++)
            assert_int_not_equal(bytes[i], 0xff);
        free_packed(&packed);
    }
}

static uint16_t bf16_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return baton_bf16_from(value);
}

TEST(bf16_rounds_to_the_nearest_and_ties_to_even)
{
    assert_int_equal(bf16_of(0x3f800000), 0x3f80);
    assert_int_equal(bf16_of(0x3f807fff), 0x3f80);
    assert_int_equal(bf16_of(0x3f808000), 0x3f80); /* a tie, down */
    assert_int_equal(bf16_of(0x3f808001), 0x3f81);
    assert_int_equal(bf16_of(0x3f818000), 0x3f82); /* a tie, up */
    assert_int_equal(bf16_of(0xbf818000), 0xbf82);
    assert_int_equal(bf16_of(0x80000000), 0x8000);
    assert_int_equal(bf16_of(0x00008000), 0x0000); /* subnormal ties */
    assert_int_equal(bf16_of(0x00018000), 0x0002);
    assert_int_equal(bf16_of(0x007fffff), 0x0080); /* up into the normal ones */
    assert_int_equal(bf16_of(0x3fffffff), 0x4000); /* up into the next exponent */
    assert_int_equal(bf16_of(0x7f7fffff), 0x7f80); /* the largest float is nearest to infinity */
    assert_int_equal(bf16_of(0xff800000), 0xff80);
}

TEST(a_nan_stays_one_in_bf16)
{
    assert_true(isnan(baton_bf16_to(bf16_of(0x7fc00000))));
    assert_true(
        isnan(baton_bf16_to(bf16_of(0x7f800001)))); /* its payload is all in the lower half */
    assert_true(isnan(baton_bf16_to(bf16_of(0xffffffff))));
}

TEST(every_bf16_comes_back_from_its_float)
{
    for (uint32_t stored = 0; stored < 0x10000; stored++)
        if (!isnan(baton_bf16_to((uint16_t)stored)))
            assert_int_equal(baton_bf16_from(baton_bf16_to((uint16_t)stored)), stored);
}

/* One output of n inputs, through q8 and back. */
static void through_q8(const float *weights, int n, float *found)
{
    struct baton_packed packed = pack(BATON_Q8, BATON_PANELS, 1, n, weights);
    baton_packed_row(&packed, 0, found);
    free_packed(&packed);
}

TEST(a_q8_groups_largest_weight_is_its_last_step)
{
    const float weights[] = {1, -127, 0.4F, 63.6F, 127}, kept[] = {1, -127, 0, 64, 127};
    float found[5];
    through_q8(weights, 5, found);
    assert_memory_equal(found, kept, sizeof kept);
}

TEST(q8_groups_do_not_share_their_scale)
{
    float weights[2 * BATON_Q8_GROUP], found[2 * BATON_Q8_GROUP];
    for (int i = 0; i < 2 * BATON_Q8_GROUP; i++)
        weights[i] = i < BATON_Q8_GROUP ? 1e6F : 1e-6F;
    through_q8(weights, 2 * BATON_Q8_GROUP, found);
    for (int i = 0; i < 2 * BATON_Q8_GROUP; i++)
        assert_true(fabsf(found[i] - weights[i]) <= 1e-6F * weights[i]);
}

TEST(q8_groups_of_zeros_and_of_subnormals_stay_finite)
{
    const float largest[] = {0, 0x1p-149F, 0x1p-140F, FLT_MIN, 130 * FLT_MIN, FLT_MAX / 2};
    for (size_t i = 0; i < BATON_N_OF(largest); i++) {
        const float weights[] = {largest[i], -largest[i], largest[i] / 2, 0};
        float found[4];
        through_q8(weights, 4, found);
        for (int k = 0; k < 4; k++) {
            double step = fmax((double)largest[i] / 127, (double)FLT_MIN);
            assert_true(fabs((double)found[k] - (double)weights[k]) <= 1.01 * step);
        }
        assert_true(found[3] == 0);
    }
}

TEST(dtypes_have_names)
{
    enum baton_dtype dtype = BATON_F32;
    for (int i = 0; i < BATON_N_DTYPES; i++) {
        assert_true(baton_dtype_parse(baton_dtype_name((enum baton_dtype)i), &dtype));
        assert_int_equal(dtype, i);
    }
    assert_false(baton_dtype_parse("f64", &dtype));
    assert_int_equal(dtype, BATON_N_DTYPES - 1);
}
