#include "engine/checkpoint/weights/grid_blocks.h"

#include <string.h>

#include "common/base/array.h"
#include "common/base/f16.h"

enum {
    N_RUNS = 8,    /* of 32 values */
    RUN_BYTES = 4, /* of signs, or of indices of points of eight values */
    N_SIGNS = 32   /* bytes */
};

static uint32_t little(const uint8_t *bytes, int n)
{
    uint32_t bits = 0;
    for (int i = 0; i < n; i++)
        bits |= (uint32_t)bytes[i] << 8 * i;
    return bits;
}

static void put_little(uint8_t *bytes, int n, uint32_t bits)
{
    for (int i = 0; i < n; i++)
        bytes[i] = (uint8_t)(bits >> 8 * i);
}

/* Seven signs are stored; the eighth makes the number of negative values even. */
static uint8_t eight_signs(uint32_t seven)
{
    seven &= 127;
    return (uint8_t)(seven | (uint32_t)__builtin_parity(seven) << 7);
}

static uint32_t scale_bits(const struct baton_block_codes *codes, int g)
{
    return (uint32_t)codes->scales[g] >> 1;
}

/* ---- IQ3_XXS, IQ2_XXS: indices, and words of four times seven signs and a scale ---- */

static void get_words(const uint8_t *words, int step, struct baton_block_codes *codes)
{
    for (int run = 0; run < N_RUNS; run++, words += step) {
        uint32_t word = little(words, 4);
        codes->scales[run] = (int8_t)(2 * (word >> 28) + 1);
        for (int i = 0; i < RUN_BYTES; i++)
            codes->signs[run * RUN_BYTES + i] = eight_signs(word >> 7 * i);
    }
}

static void put_words(const struct baton_block_codes *codes, int step, uint8_t *words)
{
    for (int run = 0; run < N_RUNS; run++, words += step) {
        uint32_t word = scale_bits(codes, run) << 28;
        for (int i = 0; i < RUN_BYTES; i++)
            word |= (uint32_t)(codes->signs[run * RUN_BYTES + i] & 127) << 7 * i;
        put_little(words, 4, word);
    }
}

static void get_iq3_xxs(const uint8_t *bytes, struct baton_block_codes *codes)
{
    for (int i = 0; i < 64; i++)
        codes->points[i] = bytes[i];
    get_words(bytes + 64, 4, codes);
}

static void put_iq3_xxs(const struct baton_block_codes *codes, uint8_t *bytes)
{
    for (int i = 0; i < 64; i++)
        bytes[i] = (uint8_t)codes->points[i];
    put_words(codes, 4, bytes + 64);
}

static void get_iq2_xxs(const uint8_t *bytes, struct baton_block_codes *codes)
{
    for (int i = 0; i < 32; i++)
        codes->points[i] = bytes[i / 4 * 8 + i % 4];
    get_words(bytes + 4, 8, codes);
}

static void put_iq2_xxs(const struct baton_block_codes *codes, uint8_t *bytes)
{
    for (int i = 0; i < 32; i++)
        bytes[i / 4 * 8 + i % 4] = (uint8_t)codes->points[i];
    put_words(codes, 8, bytes + 4);
}

/* ---- IQ2_XS, IQ2_S, IQ3_S: scales of four bits behind the rest ---- */

static void get_nibbles(const uint8_t *nibbles, int n, struct baton_block_codes *codes)
{
    for (int g = 0; g < n; g++)
        codes->scales[g] = (int8_t)(2 * (nibbles[g / 2] >> 4 * (g % 2) & 15) + 1);
}

static void put_nibbles(const struct baton_block_codes *codes, int n, uint8_t *nibbles)
{
    for (int g = 0; g < n; g += 2)
        nibbles[g / 2] = (uint8_t)(scale_bits(codes, g) | scale_bits(codes, g + 1) << 4);
}

/* Words of an index and seven signs. */
static void get_iq2_xs(const uint8_t *bytes, struct baton_block_codes *codes)
{
    for (int i = 0; i < 32; i++) {
        uint32_t word = little(bytes + 2 * i, 2);
        codes->points[i] = word & 511;
        codes->signs[i] = eight_signs(word >> 9);
    }
    get_nibbles(bytes + 64, 16, codes);
}

static void put_iq2_xs(const struct baton_block_codes *codes, uint8_t *bytes)
{
    for (int i = 0; i < 32; i++)
        put_little(bytes + 2 * i, 2, codes->points[i] | (uint32_t)(codes->signs[i] & 127) << 9);
    put_nibbles(codes, 16, bytes + 64);
}

/* Low bytes of n indices are at bytes, their bits from the ninth on in `high`, n_bits each. */
static void get_points(const uint8_t *bytes, const uint8_t *high, int n, int n_bits,
                       struct baton_block_codes *codes)
{
    for (int i = 0; i < n; i++) {
        uint32_t bits = (uint32_t)high[i * n_bits / 8] >> i * n_bits % 8;
        codes->points[i] = (uint16_t)(bytes[i] | (bits & ((1U << n_bits) - 1)) << 8);
    }
}

static void put_points(const struct baton_block_codes *codes, int n, int n_bits, uint8_t *bytes,
                       uint8_t *high)
{
    memset(high, 0, (size_t)(n * n_bits / 8));
    for (int i = 0; i < n; i++) {
        uint8_t *at = &high[i * n_bits / 8];
        bytes[i] = (uint8_t)codes->points[i];
        *at = (uint8_t)(*at | codes->points[i] >> 8 << i * n_bits % 8);
    }
}

static void get_iq2_s(const uint8_t *bytes, struct baton_block_codes *codes)
{
    get_points(bytes, bytes + 64, 32, 2, codes);
    memcpy(codes->signs, bytes + 32, N_SIGNS);
    get_nibbles(bytes + 72, 16, codes);
}

static void put_iq2_s(const struct baton_block_codes *codes, uint8_t *bytes)
{
    put_points(codes, 32, 2, bytes, bytes + 64);
    memcpy(bytes + 32, codes->signs, N_SIGNS);
    put_nibbles(codes, 16, bytes + 72);
}

static void get_iq3_s(const uint8_t *bytes, struct baton_block_codes *codes)
{
    get_points(bytes, bytes + 64, 64, 1, codes);
    memcpy(codes->signs, bytes + 72, N_SIGNS);
    get_nibbles(bytes + 104, 8, codes);
}

static void put_iq3_s(const struct baton_block_codes *codes, uint8_t *bytes)
{
    put_points(codes, 64, 1, bytes, bytes + 64);
    memcpy(bytes + 72, codes->signs, N_SIGNS);
    put_nibbles(codes, 8, bytes + 104);
}

/* ---- IQ1_S, IQ1_M: the sign of what is added to the values of a point ---- */

static uint8_t all_signs(uint32_t is_negative)
{
    return is_negative & 1 ? 255 : 0;
}

/* A word for each run: three bits of each index, the scale, and the sign of the whole run. */
static void get_iq1_s(const uint8_t *bytes, struct baton_block_codes *codes)
{
    for (int i = 0; i < 32; i++) {
        uint32_t word = little(bytes + 32 + i / 4 * 2, 2);
        codes->points[i] = (uint16_t)(bytes[i] | (word >> 3 * (i % 4) & 7) << 8);
        codes->signs[i] = all_signs(word >> 15);
        codes->scales[i / 4] = (int8_t)(2 * (word >> 12 & 7) + 1);
    }
}

static void put_iq1_s(const struct baton_block_codes *codes, uint8_t *bytes)
{
    for (int run = 0; run < N_RUNS; run++) {
        uint32_t word = scale_bits(codes, run) << 12 | (uint32_t)(codes->signs[4 * run] & 1) << 15;
        for (int i = 0; i < 4; i++) {
            bytes[4 * run + i] = (uint8_t)codes->points[4 * run + i];
            word |= (uint32_t)codes->points[4 * run + i] >> 8 << 3 * i;
        }
        put_little(bytes + 32 + 2 * run, 2, word);
    }
}

enum { IQ1_M_SCALES = 48 };

/* A nibble for each point: three bits of its index and the sign. Four words have four scales of
 * three bits each and four bits of d. */
static void get_iq1_m(const uint8_t *bytes, struct baton_block_codes *codes)
{
    for (int i = 0; i < 32; i++) {
        uint32_t nibble = bytes[32 + i / 2] >> 4 * (i % 2);
        codes->points[i] = (uint16_t)(bytes[i] | (nibble & 7) << 8);
        codes->signs[i] = all_signs(nibble >> 3);
    }
    for (int g = 0; g < 16; g++) {
        uint32_t word = little(bytes + IQ1_M_SCALES + g / 4 * 2, 2);
        codes->scales[g] = (int8_t)(2 * (word >> 3 * (g % 4) & 7) + 1);
    }
}

static void put_iq1_m(const struct baton_block_codes *codes, uint8_t *bytes)
{
    memset(bytes + 32, 0, 24);
    for (int i = 0; i < 32; i++) {
        uint8_t *at = &bytes[32 + i / 2];
        bytes[i] = (uint8_t)codes->points[i];
        *at = (uint8_t)(*at | (codes->points[i] >> 8 | (codes->signs[i] & 8)) << 4 * (i % 2));
    }
    for (int g = 0; g < 16; g++) {
        uint8_t *word = bytes + IQ1_M_SCALES + g / 4 * 2;
        put_little(word, 2, little(word, 2) | scale_bits(codes, g) << 3 * (g % 4));
    }
}

static uint32_t get_iq1_m_d(const uint8_t *bytes)
{
    uint32_t d = 0;
    for (int i = 0; i < 4; i++)
        d |= (uint32_t)bytes[IQ1_M_SCALES + 2 * i + 1] >> 4 << 4 * i;
    return d;
}

static void put_iq1_m_d(uint8_t *bytes, uint32_t d)
{
    for (int i = 0; i < 4; i++) {
        uint8_t *at = &bytes[IQ1_M_SCALES + 2 * i + 1];
        *at = (uint8_t)((*at & 15) | (d >> 4 * i & 15) << 4);
    }
}

/* ---- a type ---- */

struct format {
    int d_at; /* f16; -1: four bits of each scale's word */
    int codes_at;
    float unit; /* of d, with odd scales and whole levels */
    void (*get)(const uint8_t *bytes, struct baton_block_codes *codes);
    void (*put)(const struct baton_block_codes *codes, uint8_t *bytes);
};

static const struct format formats[BATON_N_BLOCK_TYPES] = {
    [BATON_BLOCK_IQ3_XXS] = {0, 2, 0.25F, get_iq3_xxs, put_iq3_xxs},
    [BATON_BLOCK_IQ3_S] = {0, 2, 1, get_iq3_s, put_iq3_s},
    [BATON_BLOCK_IQ2_XXS] = {0, 2, 0.125F, get_iq2_xxs, put_iq2_xxs},
    [BATON_BLOCK_IQ2_XS] = {0, 2, 0.125F, get_iq2_xs, put_iq2_xs},
    [BATON_BLOCK_IQ2_S] = {0, 2, 0.125F, get_iq2_s, put_iq2_s},
    [BATON_BLOCK_IQ1_S] = {0, 2, 0.125F, get_iq1_s, put_iq1_s},
    [BATON_BLOCK_IQ1_M] = {-1, 0, 0.125F, get_iq1_m, put_iq1_m},
};

/* Signs turn the values of IQ2 and IQ3, and what is added to those of IQ1. */
static uint8_t code_of(enum baton_grid_id grid, uint32_t byte, bool is_negative)
{
    if (grid == BATON_GRID_IQ1)
        return (uint8_t)(is_negative ? byte - 1 : byte + 1);
    return (uint8_t)(is_negative ? 0 - byte : byte);
}

void baton_grid_codes(enum baton_block_type type, int point, uint8_t signs, uint8_t *codes)
{
    const enum baton_grid_id grid = baton_block_grid(type);
    const int n = baton_grid_values(grid), n_bits = 16 / n;
    const uint8_t *levels = baton_grids[grid];
    const uint32_t bits = baton_grid_points(levels)[point];
    for (int i = 0; i < n; i++)
        codes[i] = code_of(grid, levels[bits >> n_bits * i & ((1U << n_bits) - 1)], signs >> i & 1);
}

void baton_grid_block_points(enum baton_block_type type, const uint8_t *block,
                             struct baton_block_codes *codes)
{
    const struct format *format = &formats[type];
    uint32_t d = format->d_at < 0 ? get_iq1_m_d(block) : little(block + format->d_at, 2);
    codes->d = baton_f16_to((uint16_t)d) * format->unit;
    codes->min = 0;
    memset(codes->mins, 0, sizeof codes->mins);
    format->get(block + format->codes_at, codes);
}

void baton_grid_block_unpack(enum baton_block_type type, const uint8_t *block,
                             struct baton_block_codes *codes)
{
    const int n = baton_grid_values(baton_block_grid(type));
    baton_grid_block_points(type, block, codes);
    for (int i = 0; i < BATON_BLOCK_MAX_VALUES; i += n)
        baton_grid_codes(type, codes->points[i / n], (uint8_t)(codes->signs[i / 8] >> i % 8),
                         codes->codes + i);
}

void baton_grid_block_pack(enum baton_block_type type, const struct baton_block_codes *codes,
                           uint8_t *block)
{
    const struct format *format = &formats[type];
    const uint32_t d = baton_f16_from(codes->d / format->unit);
    format->put(codes, block + format->codes_at);
    if (format->d_at < 0)
        put_iq1_m_d(block, d);
    else
        put_little(block + format->d_at, 2, d);
}

/* ---- digits to the base of 3 ---- */

/* Bytes of TQ1_0 are fractions: a digit is the whole part of three times the fraction, and the rest
 * has the next one. Runs of 32 and 16 bytes have five digits of as many values in turn, the last
 * run of 4 bytes has four. */
static const struct ternary_run {
    int at, n_bytes, n_digits;
} ternary_runs[] = {{0, 32, 5}, {32, 16, 5}, {48, 4, 4}};

void baton_ternary_get(const uint8_t *block, uint8_t *codes)
{
    for (size_t r = 0; r < BATON_N_OF(ternary_runs); r++) {
        const struct ternary_run *run = &ternary_runs[r];
        for (int i = 0; i < run->n_bytes; i++) {
            uint8_t fraction = block[run->at + i];
            for (int k = 0; k < run->n_digits; k++, fraction = (uint8_t)(fraction * 3))
                codes[k * run->n_bytes + i] = (uint8_t)(fraction * 3 >> 8);
        }
        codes += run->n_bytes * run->n_digits;
    }
}

void baton_ternary_put(const uint8_t *codes, uint8_t *block)
{
    enum { N_NUMBERS = 243 };
    for (size_t r = 0; r < BATON_N_OF(ternary_runs); r++) {
        const struct ternary_run *run = &ternary_runs[r];
        for (int i = 0; i < run->n_bytes; i++) {
            int number = 0;
            for (int k = 0; k < 5; k++)
                number = 3 * number + (k < run->n_digits ? codes[k * run->n_bytes + i] : 0);
            block[run->at + i] = (uint8_t)((number * 256 + N_NUMBERS - 1) / N_NUMBERS);
        }
        codes += run->n_bytes * run->n_digits;
    }
}
