#include "engine/model/random_blocks.h"

#include <string.h>

#include "common/base/f16.h"
#include "engine/model/random_weights.h"

static uint64_t next(uint64_t *state)
{
    return baton_random_bits(*state += BATON_RANDOM_STEP);
}

static void fill(uint64_t *state, uint8_t *bytes, size_t n)
{
    for (; n >= sizeof(uint64_t); n -= sizeof(uint64_t), bytes += sizeof(uint64_t)) {
        uint64_t z = next(state);
        memcpy(bytes, &z, sizeof z);
    }
    uint64_t z = next(state);
    memcpy(bytes, &z, n);
}

enum { SCATTERED = -1 };

/* The places of a type's scales in its block, and the values that give it the spread: 0.06 is the
 * bound of baton_random_weight, divided by the largest code; values of K-quants are multiplied by a
 * sub-scale as well, so their scales are smaller. */
static const struct form {
    float scale;  /* 0: an exponent, of MXFP4 */
    float min;    /* of the min's f16, in scales; 0: there is none */
    int scale_at; /* bytes */
    int min_at;
    bool has_signs; /* d is negative in half of the blocks, where codes lie unevenly about zero */
} forms[BATON_N_BLOCK_TYPES] = {
    [BATON_BLOCK_Q8_0] = {.scale = 0.06F / 127},
    [BATON_BLOCK_Q4_0] = {.scale = 0.06F / 8, .has_signs = true},
    [BATON_BLOCK_Q4_1] = {.scale = 0.06F / 8, .min = -7.5F, .min_at = 2},
    [BATON_BLOCK_Q5_0] = {.scale = 0.06F / 16, .has_signs = true},
    [BATON_BLOCK_Q5_1] = {.scale = 0.06F / 16, .min = -15.5F, .min_at = 2},
    [BATON_BLOCK_Q2_K] = {.scale = 0.0031F, .min = 1.5F, .scale_at = 80, .min_at = 82},
    [BATON_BLOCK_Q3_K] = {.scale = 0.0008F, .scale_at = 108},
    [BATON_BLOCK_Q4_K] = {.scale = 0.00016F, .min = 7.5F, .min_at = 2},
    [BATON_BLOCK_Q5_K] = {.scale = 0.00008F, .min = 15.5F, .min_at = 2},
    [BATON_BLOCK_Q6_K] = {.scale = 0.000026F, .scale_at = 208},
    [BATON_BLOCK_IQ4_NL] = {.scale = 0.06F / 113, .has_signs = true},
    [BATON_BLOCK_IQ4_XS] = {.scale = 0.000027F},
    [BATON_BLOCK_MXFP4] = {.scale = 0},
    [BATON_BLOCK_NVFP4] = {.scale = 0},
    [BATON_BLOCK_Q1_0] = {.scale = 0.035F},
    [BATON_BLOCK_Q2_0] = {.scale = 0.03F, .has_signs = true},
    [BATON_BLOCK_TQ1_0] = {.scale = 0.04F, .scale_at = 52},
    [BATON_BLOCK_TQ2_0] = {.scale = 0.03F, .scale_at = 64, .has_signs = true},
    [BATON_BLOCK_IQ3_XXS] = {.scale = 0.0003F},
    [BATON_BLOCK_IQ3_S] = {.scale = 0.0003F},
    [BATON_BLOCK_IQ2_XXS] = {.scale = 0.0008F},
    [BATON_BLOCK_IQ2_XS] = {.scale = 0.0008F},
    [BATON_BLOCK_IQ2_S] = {.scale = 0.0008F},
    [BATON_BLOCK_IQ1_S] = {.scale = 0.005F},
    [BATON_BLOCK_IQ1_M] = {.scale = 0.005F, .scale_at = SCATTERED},
};

enum {
    MXFP4_EXPONENT = 120, /* values of up to 6 / 128, or twice that */
    NVFP4_SCALE = 5       /* E4M3, subnormal: values of up to 6 * 5 / 512 and more */
};

/* Sets the sub-scales of K-quants with mins. Each min equals its scale's number, so that the values
 * of each group lie evenly about zero. None is small: bit 5 of 6 is set, and bit 2 of 4. */
static void level_scales(enum baton_block_type type, uint8_t *block)
{
    if (type == BATON_BLOCK_Q2_K) {
        for (int i = 0; i < 16; i++)
            block[i] = (uint8_t)(((block[i] & 15) | 4) * 0x11);
    }
    if (type != BATON_BLOCK_Q4_K && type != BATON_BLOCK_Q5_K)
        return;
    uint8_t *packed = block + 4; /* 12 bytes: low scales, low mins, low halves of the high ones */
    for (int i = 0; i < 4; i++) {
        packed[i] |= 0x20 | 0x80;
        packed[4 + i] = packed[i];
        packed[8 + i] = (uint8_t)((packed[8 + i] & 15) * 0x11);
    }
}

static void put_f16(uint8_t *at, float value)
{
    uint16_t half = baton_f16_from(value);
    memcpy(at, &half, sizeof half);
}

/* Sets the scale of IQ1_M, which has four bits in each of its four words of scales. */
static void put_scattered(uint8_t *block, float value)
{
    struct baton_block_codes codes;
    baton_block_unpack(BATON_BLOCK_IQ1_M, block, &codes);
    codes.d = value / 8;
    baton_block_pack(BATON_BLOCK_IQ1_M, &codes, block);
}

static void put_scale(const struct form *form, float value, uint8_t *block)
{
    if (form->scale_at == SCATTERED)
        put_scattered(block, value);
    else
        put_f16(block + form->scale_at, value);
}

/* Sets a scale between 3/4 and 5/4 of the form's. */
static void set_scales(enum baton_block_type type, uint64_t random, uint8_t *block)
{
    const struct form *form = &forms[type];
    if (type == BATON_BLOCK_MXFP4) {
        block[0] = (uint8_t)(MXFP4_EXPONENT + (random & 1));
        return;
    }
    if (type == BATON_BLOCK_NVFP4) {
        for (int g = 0; g < 4; g++)
            block[g] = (uint8_t)(NVFP4_SCALE + (random >> 8 * g & 3));
        return;
    }
    float scale = form->scale * (0.75F + (float)(random >> 40) * 0x1p-25F);
    if (form->has_signs && (random & 1))
        scale = -scale;
    put_scale(form, scale, block);
    if (form->min != 0)
        put_f16(block + form->min_at, scale * form->min);
    level_scales(type, block);
}

/* Replaces the code -128: ggml quantizes to -127..127, so files do not hold it. */
static void bound_q8(uint8_t *codes)
{
    for (int i = 0; i < 32; i++)
        if (codes[i] == 0x80)
            codes[i] = 0x81;
}

void baton_random_blocks(enum baton_block_type type, uint64_t *state, size_t n_blocks,
                         uint8_t *blocks)
{
    const size_t n_bytes = baton_block_bytes(type);
    fill(state, blocks, n_blocks * n_bytes);
    for (size_t i = 0; i < n_blocks; i++) {
        set_scales(type, next(state), blocks + i * n_bytes);
        if (type == BATON_BLOCK_Q8_0)
            bound_q8(blocks + i * n_bytes + 2);
    }
}
