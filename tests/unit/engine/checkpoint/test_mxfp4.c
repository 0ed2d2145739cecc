#include "tests/support/test.h"

#include <math.h>
#include <string.h>

#include "engine/checkpoint/weights/blocks.h"

static const double magnitudes[8] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};

TEST(every_value_at_every_scale_is_exact)
{
    for (int scale = 0; scale < UINT8_MAX; scale++) {
        for (int nibble = 0; nibble < 16; nibble++) {
            uint8_t block[BATON_MXFP4_BLOCK_BYTES], byte = (uint8_t)scale;
            float floats[BATON_MXFP4_BLOCK];
            double wanted = ldexp(magnitudes[nibble & 7], scale - 127);
            memset(block, nibble | nibble << 4, sizeof block);
            baton_mxfp4_decode(block, &byte, 1, floats);
            for (int i = 0; i < BATON_MXFP4_BLOCK; i++) {
                if (wanted > 0x1.fffffep127)
                    assert_true(isinf(floats[i]));
                else
                    assert_true((double)floats[i] == (nibble < 8 ? wanted : -wanted));
                assert_int_equal(signbit(floats[i]) != 0, nibble > 8);
            }
        }
    }
}

TEST(the_scale_255_is_nan)
{
    const uint8_t block[BATON_MXFP4_BLOCK_BYTES] = {0x21}, scale = UINT8_MAX;
    float floats[BATON_MXFP4_BLOCK];
    baton_mxfp4_decode(block, &scale, 1, floats);
    for (int i = 0; i < BATON_MXFP4_BLOCK; i++)
        assert_true(isnan(floats[i]));
}

TEST(neighbours_share_a_byte_and_the_low_half_is_first)
{
    const uint8_t scales[2] = {127, 129};
    uint8_t blocks[2 * BATON_MXFP4_BLOCK_BYTES] = {0x71, 0x92};
    float floats[2 * BATON_MXFP4_BLOCK];
    blocks[BATON_MXFP4_BLOCK_BYTES] = 0xf5;
    baton_mxfp4_decode(blocks, scales, 2, floats);
    assert_memory_equal(floats, ((float[]){0.5F, 6, 1, -0.5F, 0}), 5 * sizeof floats[0]);
    assert_memory_equal(floats + BATON_MXFP4_BLOCK, ((float[]){12, -24, 0}), 3 * sizeof floats[0]);
}
