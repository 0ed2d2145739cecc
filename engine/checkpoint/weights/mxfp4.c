#include "engine/checkpoint/weights/mxfp4.h"

#include <math.h>

#include "engine/checkpoint/weights/blocks.h"

void baton_mxfp4_decode(const uint8_t *blocks, const uint8_t *scales, size_t n_blocks,
                        float *floats)
{
    const int8_t *levels = baton_block_codes_form(BATON_BLOCK_MXFP4)->levels;
    for (size_t b = 0; b < n_blocks; b++) {
        float scale = scales[b] == UINT8_MAX ? NAN : baton_mxfp4_half_scale(scales[b]);
        for (int i = 0; i < BATON_MXFP4_BLOCK_BYTES; i++, blocks++, floats += 2) {
            floats[0] = scale * levels[*blocks & 15];
            floats[1] = scale * levels[*blocks >> 4];
        }
    }
}
