#include "engine/checkpoint/weights/blocks.h"

#include <math.h>
#include <string.h>

#include "common/base/array.h"
#include "common/base/f16.h"
#include "engine/checkpoint/weights/convert.h"
#include "engine/checkpoint/weights/grid_blocks.h"

static const struct {
    const char *name;
    uint32_t id;
    uint16_t n_values, n_bytes;
} types[BATON_N_BLOCK_TYPES] = {
#define X(name, id, values, bytes) {#name, id, values, bytes},
    BATON_BLOCK_TYPES(X)
#undef X
};

/* Types that files may have and Baton does not read. ggml itself removed the ones from Q4_2 on. */
static const struct {
    const char *name;
    uint32_t id;
} other_types[] = {
    {"Q8_1", 9},      {"Q8_K", 15},     {"I8", 24},         {"I16", 25},        {"I32", 26},
    {"I64", 27},      {"F64", 28},      {"Q4_2", 4},        {"Q4_3", 5},        {"Q4_0_4_4", 31},
    {"Q4_0_4_8", 32}, {"Q4_0_8_8", 33}, {"IQ4_NL_4_4", 36}, {"IQ4_NL_4_8", 37}, {"IQ4_NL_8_8", 38},
};

const char *baton_block_type_name(enum baton_block_type type)
{
    return types[type].name;
}

bool baton_block_type_parse(const char *name, enum baton_block_type *type)
{
    for (int i = 0; i < BATON_N_BLOCK_TYPES; i++) {
        if (!strcmp(name, types[i].name)) {
            *type = (enum baton_block_type)i;
            return true;
        }
    }
    return false;
}

enum baton_err baton_block_type_of_id(uint32_t id, enum baton_block_type *type,
                                      struct baton_why *why)
{
    for (int i = 0; i < BATON_N_BLOCK_TYPES; i++) {
        if (types[i].id == id) {
            *type = (enum baton_block_type)i;
            return BATON_OK;
        }
    }
    for (size_t i = 0; i < BATON_N_OF(other_types); i++)
        if (other_types[i].id == id)
            return baton_fail(why, BATON_INVALID, "type %s (%u) is not supported",
                              other_types[i].name, id);
    return baton_fail(why, BATON_INVALID, "type %u is unknown", id);
}

size_t baton_block_values(enum baton_block_type type)
{
    return types[type].n_values;
}

size_t baton_block_bytes(enum baton_block_type type)
{
    return types[type].n_bytes;
}

/* The position of some bits of each code, in runs of n_bytes bytes. Bits n_bits * k and following
 * of byte i of a run belong to code n_bytes * k + i of that run. */
struct plane {
    int at, n_bytes, n_bits;
};

struct layout {
    struct baton_block_codes_form form;
    int d_at, min_at;       /* f16 */
    bool is_exponent;       /* d is a byte of exponent */
    bool adds_min;          /* the number at min_at is -min */
    struct plane low, high; /* high: n_bits may be 0 */
    /* NULL: one scale, which is 1 */
    void (*get_scales)(const uint8_t *block, struct baton_block_codes *codes);
    void (*put_scales)(const struct baton_block_codes *codes, uint8_t *block);
    /* NULL: the codes are in planes */
    void (*get_codes)(const uint8_t *block, uint8_t *codes);
    void (*put_codes)(const uint8_t *codes, uint8_t *block);
};

static void get_q2_k(const uint8_t *block, struct baton_block_codes *codes)
{
    for (int g = 0; g < 16; g++) {
        codes->scales[g] = (int8_t)(block[g] & 15);
        codes->mins[g] = (uint8_t)(block[g] >> 4);
    }
}

static void put_q2_k(const struct baton_block_codes *codes, uint8_t *block)
{
    for (int g = 0; g < 16; g++)
        block[g] = (uint8_t)(codes->scales[g] | codes->mins[g] << 4);
}

enum { Q3_K_SCALES = 96 };

/* Each scale has four low bits in 8 bytes of nibbles and two high bits in 4 bytes. */
static void get_q3_k(const uint8_t *block, struct baton_block_codes *codes)
{
    const uint8_t *low = block + Q3_K_SCALES, *high = low + 8;
    for (int g = 0; g < 16; g++) {
        int scale = (low[g % 8] >> 4 * (g / 8) & 15) | (high[g % 4] >> 2 * (g / 4) & 3) << 4;
        codes->scales[g] = (int8_t)(scale - 32);
    }
}

static void put_q3_k(const struct baton_block_codes *codes, uint8_t *block)
{
    uint8_t *low = block + Q3_K_SCALES, *high = low + 8;
    memset(low, 0, 12);
    for (int g = 0; g < 16; g++) {
        int scale = codes->scales[g] + 32;
        low[g % 8] = (uint8_t)(low[g % 8] | (scale & 15) << 4 * (g / 8));
        high[g % 4] = (uint8_t)(high[g % 4] | (scale >> 4) << 2 * (g / 4));
    }
}

enum { Q4_K_SCALES = 4 };

/* Scales 0..3 and mins 0..3 take six bits of a byte each. The other two bits of that byte are the
 * high bits of scales and mins 4..7, whose low bits share the last four bytes. */
static void get_q4_k(const uint8_t *block, struct baton_block_codes *codes)
{
    const uint8_t *first = block + Q4_K_SCALES, *mins = first + 4, *low = first + 8;
    for (int g = 0; g < 4; g++) {
        codes->scales[g] = (int8_t)(first[g] & 63);
        codes->mins[g] = mins[g] & 63;
        codes->scales[4 + g] = (int8_t)((low[g] & 15) | first[g] >> 6 << 4);
        codes->mins[4 + g] = (uint8_t)(low[g] >> 4 | mins[g] >> 6 << 4);
    }
}

static void put_q4_k(const struct baton_block_codes *codes, uint8_t *block)
{
    uint8_t *first = block + Q4_K_SCALES, *mins = first + 4, *low = first + 8;
    for (int g = 0; g < 4; g++) {
        first[g] = (uint8_t)(codes->scales[g] | codes->scales[4 + g] >> 4 << 6);
        mins[g] = (uint8_t)(codes->mins[g] | codes->mins[4 + g] >> 4 << 6);
        low[g] = (uint8_t)((codes->scales[4 + g] & 15) | (codes->mins[4 + g] & 15) << 4);
    }
}

enum { Q6_K_SCALES = 192 };

static void get_q6_k(const uint8_t *block, struct baton_block_codes *codes)
{
    memcpy(codes->scales, block + Q6_K_SCALES, 16);
}

static void put_q6_k(const struct baton_block_codes *codes, uint8_t *block)
{
    memcpy(block + Q6_K_SCALES, codes->scales, 16);
}

enum { IQ4_XS_HIGH = 2, IQ4_XS_LOW = 4 };

static void get_iq4_xs(const uint8_t *block, struct baton_block_codes *codes)
{
    const uint8_t *high = block + IQ4_XS_HIGH, *low = block + IQ4_XS_LOW;
    for (int g = 0; g < 8; g++) {
        int scale = (low[g / 2] >> 4 * (g % 2) & 15) | (high[g / 4] >> 2 * (g % 4) & 3) << 4;
        codes->scales[g] = (int8_t)(scale - 32);
    }
}

static void put_iq4_xs(const struct baton_block_codes *codes, uint8_t *block)
{
    uint8_t *high = block + IQ4_XS_HIGH, *low = block + IQ4_XS_LOW;
    memset(high, 0, 6);
    for (int g = 0; g < 8; g++) {
        int scale = codes->scales[g] + 32;
        low[g / 2] = (uint8_t)(low[g / 2] | (scale & 15) << 4 * (g % 2));
        high[g / 4] = (uint8_t)(high[g / 4] | (scale >> 4) << 2 * (g % 4));
    }
}

enum { NVFP4_GROUPS = 4, E4M3_MOST = 127 };

/* ggml takes E4M3's NaN for 0 and ignores the sign. */
static void get_nvfp4(const uint8_t *block, struct baton_block_codes *codes)
{
    for (int g = 0; g < NVFP4_GROUPS; g++)
        codes->scales[g] = (int8_t)(block[g] == E4M3_MOST ? 0 : block[g] & E4M3_MOST);
}

static void put_nvfp4(const struct baton_block_codes *codes, uint8_t *block)
{
    for (int g = 0; g < NVFP4_GROUPS; g++)
        block[g] = (uint8_t)(codes->scales[g] == E4M3_MOST ? 255 : codes->scales[g]);
}

/* The non-linear levels of ggml's kvalues_iq4nl. */
static const int8_t iq4_levels[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                      1,    13,   25,  38,  53,  69,  89,  113};
static const int8_t bit_levels[16] = {-1, 1};
/* Twice E2M1's values, so that they are whole numbers. */
static const int8_t fp4_levels[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

#define GRID_FORM(group, most)                                                                     \
    {                                                                                              \
        .n_bits = 8, .n_group = group, .zero = 128, .min_scale = 1, .max_scale = most,             \
        .has_grid = true                                                                           \
    }

/* clang-format off */
static const struct layout layouts[BATON_N_BLOCK_TYPES] = {
    [BATON_BLOCK_Q8_0] = {
        .form = {.n_bits = 8, .n_group = 32, .zero = 128},
        .low = {2, 32, 8}},
    [BATON_BLOCK_Q4_0] = {
        .form = {.n_bits = 4, .n_group = 32, .zero = 8},
        .low = {2, 16, 4}},
    [BATON_BLOCK_Q4_1] = {
        .form = {.n_bits = 4, .n_group = 32, .has_min = true},
        .min_at = 2, .adds_min = true, .low = {4, 16, 4}},
    [BATON_BLOCK_Q5_0] = {
        .form = {.n_bits = 5, .n_group = 32, .zero = 16},
        .low = {6, 16, 4}, .high = {2, 1, 1}},
    [BATON_BLOCK_Q5_1] = {
        .form = {.n_bits = 5, .n_group = 32, .has_min = true},
        .min_at = 2, .adds_min = true, .low = {8, 16, 4}, .high = {4, 1, 1}},
    [BATON_BLOCK_Q2_K] = {
        .form = {.n_bits = 2, .n_group = 16, .has_min = true, .max_scale = 15},
        .d_at = 80, .min_at = 82, .low = {16, 32, 2},
        .get_scales = get_q2_k, .put_scales = put_q2_k},
    [BATON_BLOCK_Q3_K] = {
        .form = {.n_bits = 3, .n_group = 16, .zero = 4, .min_scale = -32, .max_scale = 31},
        .d_at = 108, .low = {32, 32, 2}, .high = {0, 32, 1},
        .get_scales = get_q3_k, .put_scales = put_q3_k},
    [BATON_BLOCK_Q4_K] = {
        .form = {.n_bits = 4, .n_group = 32, .has_min = true, .max_scale = 63},
        .min_at = 2, .low = {16, 32, 4},
        .get_scales = get_q4_k, .put_scales = put_q4_k},
    [BATON_BLOCK_Q5_K] = {
        .form = {.n_bits = 5, .n_group = 32, .has_min = true, .max_scale = 63},
        .min_at = 2, .low = {48, 32, 4}, .high = {16, 32, 1},
        .get_scales = get_q4_k, .put_scales = put_q4_k},
    [BATON_BLOCK_Q6_K] = {
        .form = {.n_bits = 6, .n_group = 16, .zero = 32, .min_scale = -128, .max_scale = 127},
        .d_at = 208, .low = {0, 64, 4}, .high = {128, 32, 2},
        .get_scales = get_q6_k, .put_scales = put_q6_k},
    [BATON_BLOCK_IQ4_NL] = {
        .form = {.n_bits = 4, .n_group = 32, .levels = iq4_levels},
        .low = {2, 16, 4}},
    [BATON_BLOCK_IQ4_XS] = {
        .form = {.n_bits = 4, .n_group = 32, .levels = iq4_levels, .min_scale = -32,
                 .max_scale = 31},
        .low = {8, 16, 4}, .get_scales = get_iq4_xs, .put_scales = put_iq4_xs},
    [BATON_BLOCK_MXFP4] = {
        .form = {.n_bits = 4, .n_group = 32, .levels = fp4_levels},
        .is_exponent = true, .low = {1, 16, 4}},
    [BATON_BLOCK_NVFP4] = {
        .form = {.n_bits = 4, .n_group = 16, .levels = fp4_levels, .max_scale = 127,
                 .has_e4m3 = true},
        .d_at = -1, .low = {4, 8, 4}, .get_scales = get_nvfp4, .put_scales = put_nvfp4},
    [BATON_BLOCK_Q1_0] = {
        .form = {.n_bits = 1, .n_group = 128, .levels = bit_levels},
        .low = {2, 1, 1}},
    [BATON_BLOCK_Q2_0] = {
        .form = {.n_bits = 2, .n_group = 64, .zero = 1},
        .low = {2, 1, 2}},
    [BATON_BLOCK_TQ1_0] = {
        .form = {.n_bits = 2, .n_group = 256, .zero = 1},
        .d_at = 52, .get_codes = baton_ternary_get, .put_codes = baton_ternary_put},
    [BATON_BLOCK_TQ2_0] = {
        .form = {.n_bits = 2, .n_group = 256, .zero = 1},
        .d_at = 64, .low = {0, 32, 2}},
    [BATON_BLOCK_IQ3_XXS] = {.form = GRID_FORM(32, 31)},
    [BATON_BLOCK_IQ3_S] = {.form = GRID_FORM(32, 31)},
    [BATON_BLOCK_IQ2_XXS] = {.form = GRID_FORM(32, 31)},
    [BATON_BLOCK_IQ2_XS] = {.form = GRID_FORM(16, 31)},
    [BATON_BLOCK_IQ2_S] = {.form = GRID_FORM(16, 31)},
    [BATON_BLOCK_IQ1_S] = {.form = GRID_FORM(32, 15)},
    [BATON_BLOCK_IQ1_M] = {.form = GRID_FORM(16, 15)},
};
/* clang-format on */

const struct baton_block_codes_form *baton_block_codes_form(enum baton_block_type type)
{
    const struct baton_block_codes_form *form = &layouts[type].form;
    return form->n_bits ? form : NULL;
}

static float f16_at(const uint8_t *bytes)
{
    return baton_f16_to((uint16_t)(bytes[0] | bytes[1] << 8));
}

static void put_f16(uint8_t *bytes, float number)
{
    uint16_t bits = baton_f16_from(number);
    bytes[0] = (uint8_t)bits;
    bytes[1] = (uint8_t)(bits >> 8);
}

/* Returns 2^(exponent - 128). The two smallest results are subnormal floats. */
float baton_mxfp4_half_scale(uint8_t exponent)
{
    uint32_t bits = exponent < 2 ? UINT32_C(1) << (21 + exponent) : (exponent - 1U) << 23;
    float scale;
    memcpy(&scale, &bits, sizeof scale);
    return scale;
}

uint8_t baton_mxfp4_exponent(float half_scale)
{
    uint32_t bits;
    memcpy(&bits, &half_scale, sizeof bits);
    return (uint8_t)(bits >> 23 ? (bits >> 23) + 1 : bits >> 22);
}

static void get_plane(const struct plane *plane, const uint8_t *block, size_t n_values, int shift,
                      uint8_t *codes)
{
    int per_byte = 8 / plane->n_bits, mask = (1 << plane->n_bits) - 1;
    const uint8_t *run = block + plane->at;
    for (const uint8_t *end = codes + n_values; codes < end; run += plane->n_bytes)
        for (int k = 0; k < per_byte; k++, codes += plane->n_bytes)
            for (int i = 0; i < plane->n_bytes; i++)
                codes[i] = (uint8_t)(codes[i] | (run[i] >> plane->n_bits * k & mask) << shift);
}

static void put_plane(const struct plane *plane, const uint8_t *codes, size_t n_values, int shift,
                      uint8_t *block)
{
    int per_byte = 8 / plane->n_bits, mask = (1 << plane->n_bits) - 1;
    uint8_t *run = block + plane->at;
    memset(run, 0, n_values * (size_t)plane->n_bits / 8);
    for (const uint8_t *end = codes + n_values; codes < end; run += plane->n_bytes)
        for (int k = 0; k < per_byte; k++, codes += plane->n_bytes)
            for (int i = 0; i < plane->n_bytes; i++)
                run[i] = (uint8_t)(run[i] | (codes[i] >> shift & mask) << plane->n_bits * k);
}

/* Q8_0 stores the difference to its zero, 128: the same bits but for the sign bit. */
static void turn_signs(uint8_t *codes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        codes[i] ^= 0x80;
}

/* Half of 1, where groups have all of the scale. */
static float read_d(const struct layout *layout, const uint8_t *block)
{
    if (layout->is_exponent)
        return baton_mxfp4_half_scale(block[0]);
    return layout->d_at < 0 ? 0.5F : f16_at(block + layout->d_at);
}

static void write_d(const struct layout *layout, float d, uint8_t *block)
{
    if (layout->is_exponent)
        block[0] = baton_mxfp4_exponent(d);
    else if (layout->d_at >= 0)
        put_f16(block + layout->d_at, d);
}

static void get_codes(const struct layout *layout, const uint8_t *block, size_t n, uint8_t *codes)
{
    if (layout->get_codes) {
        layout->get_codes(block, codes);
        return;
    }
    get_plane(&layout->low, block, n, 0, codes);
    if (layout->high.n_bits)
        get_plane(&layout->high, block, n, layout->low.n_bits, codes);
    if (layout->form.n_bits == 8)
        turn_signs(codes, n);
}

static void put_codes(const struct layout *layout, const uint8_t *codes, size_t n, uint8_t *block)
{
    if (layout->put_codes) {
        layout->put_codes(codes, block);
        return;
    }
    put_plane(&layout->low, codes, n, 0, block);
    if (layout->high.n_bits)
        put_plane(&layout->high, codes, n, layout->low.n_bits, block);
    if (layout->form.n_bits == 8)
        turn_signs(block + layout->low.at, n);
}

void baton_block_unpack(enum baton_block_type type, const uint8_t *block,
                        struct baton_block_codes *codes)
{
    const struct layout *layout = &layouts[type];
    size_t n = types[type].n_values;
    if (layout->form.has_grid) {
        baton_grid_block_unpack(type, block, codes);
        return;
    }
    memset(codes, 0, offsetof(struct baton_block_codes, codes) + n);
    codes->d = read_d(layout, block);
    if (layout->form.has_min) {
        float min = f16_at(block + layout->min_at);
        codes->min = layout->adds_min ? -min : min;
    }
    codes->scales[0] = 1;
    codes->mins[0] = layout->form.has_min;
    if (layout->get_scales)
        layout->get_scales(block, codes);
    get_codes(layout, block, n, codes->codes);
}

void baton_block_pack(enum baton_block_type type, const struct baton_block_codes *codes,
                      uint8_t *block)
{
    const struct layout *layout = &layouts[type];
    if (layout->form.has_grid) {
        baton_grid_block_pack(type, codes, block);
        return;
    }
    put_codes(layout, codes->codes, types[type].n_values, block);
    if (layout->put_scales)
        layout->put_scales(codes, block);
    if (layout->form.has_min)
        put_f16(block + layout->min_at, layout->adds_min ? -codes->min : codes->min);
    write_d(layout, codes->d, block);
}

void baton_block_decode_group(const struct baton_block_codes_form *form, float scale, float min,
                              const uint8_t *codes, size_t n, float *floats)
{
    if (form->levels)
        for (size_t i = 0; i < n; i++)
            floats[i] = scale * form->levels[codes[i]];
    else if (form->has_min)
        for (size_t i = 0; i < n; i++)
            floats[i] = scale * (float)codes[i] - min;
    else
        for (size_t i = 0; i < n; i++)
            floats[i] = scale * (float)(codes[i] - form->zero);
}

static void decode_block(enum baton_block_type type, const uint8_t *block, float *floats)
{
    const struct baton_block_codes_form *form = &layouts[type].form;
    struct baton_block_codes codes;
    baton_block_unpack(type, block, &codes);
    for (int i = 0, g = 0; i < types[type].n_values; i += form->n_group, g++) {
        float scale = form->has_e4m3 ? baton_e4m3(codes.scales[g]) : codes.scales[g];
        baton_block_decode_group(form, codes.d * scale, codes.min * codes.mins[g], codes.codes + i,
                                 (size_t)form->n_group, floats + i);
    }
}

void baton_blocks_decode(enum baton_block_type type, const uint8_t *blocks, size_t n_blocks,
                         float *floats)
{
    switch (type) {
    case BATON_BLOCK_F32:
        baton_convert(BATON_ELEMENT_F32, blocks, n_blocks, floats);
        return;
    case BATON_BLOCK_F16:
        baton_convert(BATON_ELEMENT_F16, blocks, n_blocks, floats);
        return;
    case BATON_BLOCK_BF16:
        baton_convert(BATON_ELEMENT_BF16, blocks, n_blocks, floats);
        return;
    default:
        for (size_t b = 0; b < n_blocks; b++)
            decode_block(type, blocks + b * types[type].n_bytes, floats + b * types[type].n_values);
    }
}

/* ---- gpt-oss checkpoints ---- */

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
