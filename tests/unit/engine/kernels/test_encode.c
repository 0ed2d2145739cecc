#include "common/base/array.h"
#include "tests/unit/engine/unit.h"

#include <float.h>

#include "common/base/digest.h"
#include "engine/kernels/pack/encode_blocks.h"

enum { N_ROWS = 40, N_IN = 1024, MAX_BYTES = N_IN / 32 * 34 };

static const struct {
    enum baton_block_type type;
    double most_error; /* root of the mean square, of normal weights of 1 */
    uint32_t crc;      /* of their blocks, on every machine */
} types[] = {
    {BATON_BLOCK_Q4_K, 0.07, 0xfbc22d3e},   {BATON_BLOCK_Q5_K, 0.035, 0xcb4ce34c},
    {BATON_BLOCK_Q6_K, 0.0175, 0x509e183b}, {BATON_BLOCK_Q3_K, 0.145, 0xa7f5e858},
    {BATON_BLOCK_Q2_K, 0.265, 0x4c588f2d},  {BATON_BLOCK_Q8_0, 0.005, 0x0d7bb515},
    {BATON_BLOCK_Q5_1, 0.034, 0xed04561c},  {BATON_BLOCK_Q5_0, 0.041, 0x629dbc2f},
    {BATON_BLOCK_Q4_1, 0.07, 0x52896cf7},   {BATON_BLOCK_Q4_0, 0.082, 0xa9b4d881},
};

enum { N_TYPES = BATON_N_OF(types) };

static size_t blocks_of(enum baton_block_type type, size_t n)
{
    return (n + baton_block_values(type) - 1) / baton_block_values(type);
}

/* n weights as they come back. */
static void round_trip(enum baton_block_type type, const float *weights, size_t n, float *back)
{
    uint8_t blocks[MAX_BYTES];
    float decoded[N_IN];
    size_t n_blocks = blocks_of(type, n);
    memset(blocks, 0xa5, sizeof blocks);
    baton_encode(type, weights, n, blocks);
    for (size_t i = n_blocks * baton_block_bytes(type); i < sizeof blocks; i++)
        assert_int_equal(blocks[i], 0xa5);
    baton_blocks_decode(type, blocks, n_blocks, decoded);
    memcpy(back, decoded, n * sizeof *back);
}

static double mean_square(const float *a, const float *b, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += ((double)a[i] - (double)b[i]) * ((double)a[i] - (double)b[i]);
    return sum / (double)n;
}

/* About normal, of deviation 1: sums of twelve. */
static float *normal_floats(size_t n)
{
    float *uniform = random_floats(12 * n, 7), *normal = calloc(n, sizeof *normal);
    assert_non_null(normal);
    for (size_t i = 0; i < 12 * n; i++)
        normal[i / 12] += uniform[i] / 2;
    free(uniform);
    return normal;
}

TEST(normal_weights_come_back_as_near_as_a_search_gets_them)
{
    float *weights = normal_floats(N_ROWS * N_IN), back[N_IN];
    for (size_t i = 0; i < N_TYPES; i++) {
        double error = 0;
        for (size_t row = 0; row < N_ROWS; row++) {
            round_trip(types[i].type, weights + row * N_IN, N_IN, back);
            error += mean_square(weights + row * N_IN, back, N_IN) / N_ROWS;
        }
        assert_true(sqrt(error) <= types[i].most_error);
    }
    free(weights);
}

TEST(blocks_have_the_same_bytes_on_every_machine)
{
    float *weights = normal_floats(N_ROWS * N_IN);
    uint8_t blocks[MAX_BYTES];
    for (size_t i = 0; i < N_TYPES; i++) {
        size_t n_bytes = blocks_of(types[i].type, N_IN) * baton_block_bytes(types[i].type);
        uint32_t crc = 0;
        for (size_t row = 0; row < N_ROWS; row++) {
            baton_encode(types[i].type, weights + row * N_IN, N_IN, blocks);
            crc = baton_crc32c(crc, blocks, n_bytes);
        }
        assert_int_equal(crc, types[i].crc);
    }
    free(weights);
}

/* The padding takes nothing from the weights before it. */
TEST(a_last_block_that_is_not_full_is_as_near_as_the_others)
{
    static const size_t ns[] = {1, 2, 31, 33, 63, 100, 257, 300, 511, 1000};
    float *weights = normal_floats(N_IN), back[N_IN];
    for (size_t i = 0; i < N_TYPES; i++)
        for (size_t k = 0; k < BATON_N_OF(ns); k++) {
            size_t last = (ns[k] - 1) / 32 * 32;
            round_trip(types[i].type, weights, ns[k], back);
            assert_true(sqrt(mean_square(weights + last, back + last, ns[k] - last)) <=
                        2 * types[i].most_error);
        }
    free(weights);
}

TEST(weights_are_as_near_at_every_size_that_f16_scales_reach)
{
    float *weights = normal_floats(256), scaled[256], back[256];
    for (size_t i = 0; i < N_TYPES; i++)
        for (int exponent = -4; exponent <= 12; exponent += 4) {
            for (size_t k = 0; k < 256; k++)
                scaled[k] = ldexpf(weights[k], exponent);
            round_trip(types[i].type, scaled, 256, back);
            assert_true(sqrt(mean_square(scaled, back, 256)) <=
                        1.2 * ldexp(types[i].most_error, exponent));
        }
    free(weights);
}

static void assert_same_everywhere(enum baton_block_type type, float value, double most_error)
{
    float weights[256], back[256];
    for (size_t i = 0; i < 256; i++)
        weights[i] = value;
    round_trip(type, weights, 256, back);
    for (size_t i = 0; i < 256; i++)
        assert_true(fabs((double)back[i] - (double)value) <= most_error);
}

TEST(equal_weights_come_back)
{
    for (size_t i = 0; i < N_TYPES; i++) {
        assert_same_everywhere(types[i].type, 0, 0);
        assert_same_everywhere(types[i].type, 0.7F, 0.7 / 1024);
        assert_same_everywhere(types[i].type, -0.7F, 0.7 / 1024);
        assert_same_everywhere(types[i].type, 1e-30F, 1e-29);
    }
}

/* One weight far from all others. */
TEST(an_outlier_comes_back)
{
    for (size_t i = 0; i < N_TYPES; i++)
        for (int sign = -1; sign <= 1; sign += 2) {
            float *weights = normal_floats(256), back[256];
            weights[77] = 50 * (float)sign;
            round_trip(types[i].type, weights, 256, back);
            assert_true(fabsf(back[77] - weights[77]) <= 2);
            free(weights);
        }
}

TEST(blocks_with_infinite_or_huge_weights_decode_to_finite_numbers)
{
    static const float values[] = {INFINITY, -INFINITY, NAN, FLT_MAX, -1e19F, 1e17F};
    for (size_t i = 0; i < N_TYPES; i++)
        for (size_t k = 0; k < BATON_N_OF(values); k++) {
            float *weights = normal_floats(512), back[512];
            weights[100] = values[k];
            round_trip(types[i].type, weights, 512, back);
            for (size_t w = 0; w < 256; w++)
                assert_true(isfinite(back[w]));
            assert_true(mean_square(weights + 256, back + 256, 256) < 0.1);
            free(weights);
        }
}

TEST(types_with_levels_of_their_own_are_not_encoded)
{
    assert_false(baton_encodes(BATON_BLOCK_F32));
    assert_false(baton_encodes(BATON_BLOCK_IQ4_NL));
    assert_false(baton_encodes(BATON_BLOCK_MXFP4));
    for (size_t i = 0; i < N_TYPES; i++)
        assert_true(baton_encodes(types[i].type));
}
