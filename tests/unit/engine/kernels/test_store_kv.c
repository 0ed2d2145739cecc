#include "common/base/array.h"
#include "tests/unit/engine/compute/attention_unit.h"
#include "tests/unit/engine/unit.h"

#include "common/base/f16.h"

enum { BLOCK = BATON_KV_BLOCK_TOKENS };

static const int dims[] = {1, 7, 16, 20, 32, 64, 80, 128, 256, 500, 512};

enum { N_DIMS = BATON_N_OF(dims) };

TEST(stored_rows_are_where_the_block_says_and_nowhere_else)
{
    enum { HEADS = 3 };
    const struct baton_kernels *kernels;
    for (int dtype = 0; dtype < BATON_N_KV_DTYPES; dtype++)
        for (int i = 0; i < N_DIMS; i++)
            for (int k = 0; (kernels = baton_kernels_at(k)); k++) {
                struct context c;
                context_init(&c, (enum baton_kv_dtype)dtype, HEADS, 1, dims[i], BLOCK);
                size_t n = context_block_bytes(&c);
                char *block = attention_allocate(n + 64);
                for (int p = 0; p < BLOCK; p++) {
                    size_t row = (size_t)(p * HEADS * dims[i]);
                    kernels->store_kv(c.dtype, c.k + row, c.v + row, HEADS, dims[i], 0, block, p);
                }
                for (int g = 0; g < HEADS; g++)
                    for (int j = 0; j < BLOCK * dims[i]; j++) {
                        int p = j / dims[i], d = j % dims[i], at = (p * HEADS + g) * dims[i] + d;
                        assert_true(context_get(&c, block, g, true, d, p) == c.k[at]);
                        assert_true(context_get(&c, block, g, false, d, p) == c.v[at]);
                    }
                for (size_t j = n; j < n + 64; j++)
                    assert_int_equal((uint8_t)block[j], 0xff);
                free(block);
                context_fini(&c);
            }
}

TEST(every_half_survives_and_others_round_to_nearest_even)
{
    for (uint32_t h = 0; h < 0x7c00; h++) {
        float value = baton_f16_to((uint16_t)h), above = baton_f16_to((uint16_t)(h + 1));
        double middle = ((double)value + above) / 2;
        assert_int_equal(baton_f16_from(value), h);
        assert_int_equal(baton_f16_from(-value), h | 0x8000);
        assert_true(baton_f16_to((uint16_t)(h | 0x8000)) == -value);
        if (h == 0x7bff)
            break;
        assert_true(above > value);
        assert_int_equal(baton_f16_from((float)middle), h + (h & 1));
        assert_int_equal(baton_f16_from(nextafterf((float)middle, 0)), h);
        assert_int_equal(baton_f16_from(nextafterf((float)middle, 1e9F)), h + 1);
    }
    assert_true(baton_f16_to(1) == 0x1p-24F && baton_f16_to(0x3c00) == 1);
    assert_true(isinf(baton_f16_to(0x7c00)) && isnan(baton_f16_to(0x7e01)));
    assert_int_equal(baton_f16_from(1e6F), 0x7bff);
    assert_int_equal(baton_f16_from(-INFINITY), 0xfbff);
    assert_true(isnan(baton_f16_to(baton_f16_from(NAN))));
}

TEST(all_kernels_round_as_the_scalar_functions_do)
{
    const float odd[] = {0,     -0.0F, 1e-8F, 3e-8F,    6.1e-5F,  1.0009766F, 65503, 65519,
                         65520, 1e30F, NAN,   INFINITY, -1e-7F,   -65520,     2049,  -2051,
                         0.1F,  -0.3F, 1e-6F, 5.97e-8F, 2.98e-8F, 1e-40F,     7,     -100.1F};
    enum { DIM = BATON_N_OF(odd) };
    const struct baton_kernels *kernels;
    for (int k = 0; (kernels = baton_kernels_at(k)); k++) {
        struct context c = {.dtype = BATON_KV_F16, .n_heads = 1, .dim = DIM};
        uint16_t *block = attention_allocate(context_block_bytes(&c));
        kernels->store_kv(c.dtype, odd, odd, 1, DIM, 0, block, 5);
        for (int d = 0; d < DIM; d++) {
            assert_int_equal(block[d * BLOCK + 5], baton_f16_from(odd[d]));
            assert_int_equal(block[DIM * BLOCK + 5 * ((DIM + 15) / 16 * 16) + d],
                             baton_f16_from(odd[d]));
        }
        free(block);
    }
}
