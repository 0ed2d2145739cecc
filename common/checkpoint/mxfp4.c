#include "common/checkpoint/mxfp4.h"

#include <math.h>
#include <string.h>

static const float values[16] = {0,     0.5F,  1,  1.5F,  2,  3,  4,  6,
                                 -0.0F, -0.5F, -1, -1.5F, -2, -3, -4, -6};

/* E8M0 is a float's exponent; its least is a subnormal float. */
static float scale_of(uint8_t byte)
{
    uint32_t bits = byte ? (uint32_t)byte << 23 : UINT32_C(1) << 22;
    float scale;
    if (byte == UINT8_MAX)
        return NAN;
    memcpy(&scale, &bits, sizeof scale);
    return scale;
}

void baton_mxfp4_decode(const uint8_t *blocks, const uint8_t *scales, size_t n_blocks,
                        float *floats)
{
    for (size_t b = 0; b < n_blocks; b++) {
        float scale = scale_of(scales[b]);
        for (int i = 0; i < BATON_MXFP4_BLOCK_BYTES; i++, blocks++, floats += 2) {
            floats[0] = values[*blocks & 15] * scale;
            floats[1] = values[*blocks >> 4] * scale;
        }
    }
}
