#include <string.h>

#include "engine/checkpoint/weights/grid_blocks.h"
#include "engine/kernels/pack/native_panels.h"
#include "engine/kernels/pack/packed.h"

enum { WORD_INPUTS = 4, GROUP = 32 };

/* ---- codes ---- */

/* A plane holds some bits of all codes of a unit. */
struct plane {
    int at; /* bytes from the unit's start */
    int n_bits;
    int shift; /* of these bits in a code */
};

static int planes_of(const struct baton_native *native, struct plane planes[2])
{
    int low = baton_native_low_bits(native);
    planes[0] = (struct plane){0, low, 0};
    planes[1] = (struct plane){baton_native_low_bytes(native), native->n_bits - low, low};
    return planes[1].n_bits ? 2 : 1;
}

/* The offset of the four bytes with the bits of four inputs from input i on. shift_at is the bit of
 * each byte that they begin at. */
static int word_at(const struct plane *plane, size_t out, int i)
{
    int word = i / WORD_INPUTS * plane->n_bits / 8;
    return plane->at + word * BATON_NATIVE_WORD + (int)out * WORD_INPUTS;
}

static int shift_at(const struct plane *plane, int i)
{
    return i / WORD_INPUTS * plane->n_bits % 8;
}

/* Four bytes, each of which has these low bits. */
static uint32_t mask_of(int n_bits)
{
    return ((1U << n_bits) - 1) * 0x01010101U;
}

/* Sets the codes of inputs i..i + n - 1 of a unit, which are zero so far. */
static void put_codes(const struct baton_native *native, char *unit, size_t out, int i, int n,
                      const uint8_t *codes)
{
    struct plane planes[2];
    int n_planes = planes_of(native, planes);
    for (int p = 0; p < n_planes; p++)
        for (int end = i + n, k = i; k < end; k += WORD_INPUTS) {
            char *at = unit + word_at(&planes[p], out, k);
            uint32_t bits, word;
            memcpy(&bits, codes + k - i, sizeof bits);
            memcpy(&word, at, sizeof word);
            word |= (bits >> planes[p].shift & mask_of(planes[p].n_bits))
                    << shift_at(&planes[p], k);
            memcpy(at, &word, sizeof word);
        }
}

/* ---- points of a grid ---- */

/* Sets the point with the values of inputs i.. of a unit, whose bits are zero so far. signs has
 * those of the values. */
static void put_point(const struct baton_native *native, char *unit, size_t out, int i, int point,
                      uint8_t signs)
{
    const enum baton_grid_id grid = baton_block_grid(native->type);
    const int n_values = baton_grid_values(grid), n_bits = baton_native_point_bits(native),
              at = i / n_values,
              high = point >> 8 | (grid == BATON_GRID_IQ1 ? (signs & 1) << 3 : 0);
    unit[(size_t)(at / WORD_INPUTS) * BATON_NATIVE_WORD + out * WORD_INPUTS +
         (size_t)(at % WORD_INPUTS)] = (char)point;
    if (n_bits) {
        char *byte = unit + baton_native_point_bits_at(native) +
                     out * (size_t)baton_native_point_bytes(native) + at * n_bits / 8;
        *byte = (char)(*byte | high << at * n_bits % 8);
    }
    for (int k = 0; k < n_values && grid != BATON_GRID_IQ1; k += WORD_INPUTS) {
        char *byte = unit + baton_native_signs_at(native) + (i + k) / WORD_INPUTS * 8 + out / 2;
        *byte = (char)(*byte | (signs >> k & 15) << 4 * (out % 2));
    }
}

/* Sets inputs i..i + n - 1 of a unit, whose first value is number first of the block. */
static void put_points(const struct baton_native *native, char *unit, size_t out, int i, int n,
                       const struct baton_block_codes *block, int first)
{
    const int n_values = baton_grid_values(baton_block_grid(native->type));
    for (int k = 0; k < n; k += n_values)
        put_point(native, unit, out, i + k, block->points[(first + k) / n_values],
                  (uint8_t)(block->signs[(first + k) / 8] >> (first + k) % 8));
}

static void get_point(const struct baton_native *native, const char *unit, size_t out, int i,
                      uint8_t *codes)
{
    const enum baton_grid_id grid = baton_block_grid(native->type);
    const int n_values = baton_grid_values(grid), n_bits = baton_native_point_bits(native),
              at = i / n_values, n_high = grid == BATON_GRID_IQ1 ? 3 : n_bits;
    int point = (uint8_t)unit[(size_t)(at / WORD_INPUTS) * BATON_NATIVE_WORD + out * WORD_INPUTS +
                              (size_t)(at % WORD_INPUTS)],
        signs = 0;
    if (n_bits) {
        const char *byte = unit + baton_native_point_bits_at(native) +
                           out * (size_t)baton_native_point_bytes(native) + at * n_bits / 8;
        const int high = (uint8_t)*byte >> at * n_bits % 8;
        point |= (high & ((1 << n_high) - 1)) << 8;
        signs = grid == BATON_GRID_IQ1 && (high & 8) ? 255 : 0;
    }
    for (int k = 0; k < n_values && grid != BATON_GRID_IQ1; k += WORD_INPUTS)
        signs |= ((uint8_t)unit[baton_native_signs_at(native) + (i + k) / WORD_INPUTS * 8 +
                                (int)out / 2] >>
                      4 * (out % 2) &
                  15)
                 << k;
    baton_grid_codes(native->type, point, (uint8_t)signs, codes);
}

/* Reads all codes of a unit. */
static void get_codes(const struct baton_native *native, const char *unit, size_t out,
                      uint8_t codes[BATON_NATIVE_UNIT])
{
    struct plane planes[2];
    int n_planes = planes_of(native, planes);
    memset(codes, 0, BATON_NATIVE_UNIT);
    for (int p = 0; p < n_planes; p++)
        for (int k = 0; k < BATON_NATIVE_UNIT; k += WORD_INPUTS) {
            uint32_t word, bits;
            memcpy(&word, unit + word_at(&planes[p], out, k), sizeof word);
            memcpy(&bits, codes + k, sizeof bits);
            bits |= (word >> shift_at(&planes[p], k) & mask_of(planes[p].n_bits))
                    << planes[p].shift;
            memcpy(codes + k, &bits, sizeof bits);
        }
}

/* ---- scales ---- */

/* Sets the i-th of the f16 numbers that begin at `at`. */
static void put_f16(char *head, size_t at, size_t i, float number)
{
    uint16_t bits = baton_native_f16(number);
    memcpy(head + at + i * sizeof bits, &bits, sizeof bits);
}

static float f16_at(const char *head, size_t at, size_t i)
{
    uint16_t bits;
    memcpy(&bits, head + at + i * sizeof bits, sizeof bits);
    return baton_f16_to(bits);
}

/* Whether d is a float, not an f16. */
static bool has_float(const struct baton_native *native)
{
    return native->scales == BATON_SCALES_INTEGER || native->scales == BATON_SCALES_ODD;
}

static void put_integers(const struct baton_native *native, char *head, size_t out,
                         const struct baton_block_codes *block)
{
    const int n_groups = BATON_NATIVE_STEP / native->group,
              n_stored = baton_block_codes_form(native->type)->n_group / native->group;
    char *scales = head + BATON_INTEGER_SCALES_AT + out, *mins = head + BATON_INTEGER_MINS_AT + out;
    if (has_float(native)) {
        memcpy(head + out * sizeof block->d, &block->d, sizeof block->d);
    } else {
        put_f16(head, 0, out, block->d);
        put_f16(head, BATON_INTEGER_MIN_AT, out, block->min);
    }
    for (int g = 0; g < n_groups; g++)
        if (native->scales == BATON_SCALES_NIBBLES) {
            scales[g * BATON_PANEL] = (char)(block->scales[g] | block->mins[g] << 4);
        } else if (native->scales == BATON_SCALES_ODD) {
            char *pair = &scales[g / 2 * BATON_PANEL];
            *pair = (char)(*pair | block->scales[g / n_stored] >> 1 << 4 * (g % 2));
        } else {
            scales[g * BATON_PANEL] = (char)block->scales[g];
            if (native->scales == BATON_SCALES_INTEGER_MIN)
                mins[g * BATON_PANEL] = (char)block->mins[g];
        }
}

static void put_e4m3(const struct baton_native *native, char *head, size_t out, int k,
                     const struct baton_block_codes *block)
{
    const int n_groups = (int)baton_block_values(native->type) / native->group;
    memcpy(head + out * sizeof block->d, &block->d, sizeof block->d);
    for (int g = 0; g < n_groups; g++)
        head[BATON_INTEGER_SCALES_AT + (k / native->group + g) * BATON_PANEL + (int)out] =
            (char)block->scales[g];
}

/* Sets the scales of the block that begins with input k of the step. */
static void put_scales(const struct baton_native *native, char *head, size_t out, int k,
                       const struct baton_block_codes *block)
{
    size_t at = (size_t)(k / GROUP) * BATON_PANEL + out;
    switch (native->scales) {
    case BATON_SCALES_F16_MIN:
        put_f16(head, BATON_F16_MINS_AT, at, block->min);
        __attribute__((fallthrough));
    case BATON_SCALES_F16:
        for (size_t i = 0; i < baton_block_values(native->type) / GROUP; i++)
            put_f16(head, 0, at + i * BATON_PANEL, block->d);
        return;
    case BATON_SCALES_FLOAT:
        memcpy(head + out * sizeof block->d, &block->d, sizeof block->d);
        return;
    case BATON_SCALES_E4M3:
        put_e4m3(native, head, out, k, block);
        return;
    case BATON_SCALES_EXPONENT:
        head[at] = (char)baton_mxfp4_exponent(block->d);
        return;
    default:
        put_integers(native, head, out, block);
    }
}

/* The scale and min of one output's group g of a step. */
struct scale {
    float scale, min;
};

static float float_at(const char *head, size_t i)
{
    float number;
    memcpy(&number, head + i * sizeof number, sizeof number);
    return number;
}

static struct scale integers_at(const struct baton_native *native, const char *head, size_t out,
                                size_t g)
{
    size_t at = g * BATON_PANEL + out;
    int bits = head[BATON_INTEGER_SCALES_AT + at], code = (uint8_t)bits;
    if (native->scales == BATON_SCALES_ODD)
        bits =
            2 * ((uint8_t)head[BATON_INTEGER_SCALES_AT + g / 2 * BATON_PANEL + out] >> 4 * (g % 2) &
                 15) +
            1;
    if (has_float(native))
        return (struct scale){float_at(head, out) * (float)(int8_t)bits, 0};
    int scale = code, min = (uint8_t)head[BATON_INTEGER_MINS_AT + at];
    if (native->scales == BATON_SCALES_NIBBLES) {
        scale = code & 15;
        min = code >> 4;
    }
    return (struct scale){f16_at(head, 0, out) * (float)scale,
                          f16_at(head, BATON_INTEGER_MIN_AT, out) * (float)min};
}

static struct scale scale_at(const struct baton_native *native, const char *head, size_t out,
                             size_t g)
{
    size_t at = g * BATON_PANEL + out;
    switch (native->scales) {
    case BATON_SCALES_F16:
        return (struct scale){f16_at(head, 0, at), 0};
    case BATON_SCALES_F16_MIN:
        return (struct scale){f16_at(head, 0, at), f16_at(head, BATON_F16_MINS_AT, at)};
    case BATON_SCALES_EXPONENT:
        return (struct scale){baton_mxfp4_half_scale((uint8_t)head[at]), 0};
    case BATON_SCALES_FLOAT:
        return (struct scale){float_at(head, out), 0};
    case BATON_SCALES_E4M3:
        return (struct scale){float_at(head, out) * baton_e4m3(head[BATON_INTEGER_SCALES_AT + at]),
                              0};
    default:
        return integers_at(native, head, out, g);
    }
}

/* ---- panels ---- */

/* Writes one output's share of a step, from its blocks of n inputs. */
static void write_column(const struct baton_native *native, char *step, size_t out,
                         const uint8_t *blocks, int n)
{
    const int n_values = (int)baton_block_values(native->type),
              unit_bytes = baton_native_unit_bytes(native);
    char *units = step + baton_native_head_bytes(native);
    for (int k = 0; k < n; k += n_values, blocks += baton_block_bytes(native->type)) {
        struct baton_block_codes block;
        if (baton_block_has_grid(native->type))
            baton_grid_block_points(native->type, blocks, &block);
        else
            baton_block_unpack(native->type, blocks, &block);
        put_scales(native, step, out, k, &block);
        for (int i = 0; i < n_values; i += GROUP) {
            char *unit = units + (k + i) / BATON_NATIVE_UNIT * unit_bytes;
            const int at = (k + i) % BATON_NATIVE_UNIT;
            if (baton_block_has_grid(native->type))
                put_points(native, unit, out, at, GROUP, &block, i);
            else
                put_codes(native, unit, out, at, GROUP, block.codes + i);
        }
    }
}

void baton_native_write(const struct baton_native *native, void *panel,
                        const uint8_t *const rows[BATON_PANEL], size_t n_in)
{
    const size_t n_step = (size_t)baton_native_step(native),
                 step_bytes = (size_t)baton_native_step_bytes(native);
    const size_t n_values = baton_block_values(native->type),
                 block_bytes = baton_block_bytes(native->type);
    char *step = panel;
    for (size_t k = 0; k < n_in; k += n_step, step += step_bytes) {
        int n = (int)(n_in - k < n_step ? n_in - k : n_step);
        memset(step, 0, step_bytes);
        for (size_t out = 0; out < BATON_PANEL; out++)
            if (rows[out])
                write_column(native, step, out, rows[out] + k / n_values * block_bytes, n);
    }
}

static void get_points(const struct baton_native *native, const char *unit, size_t out,
                       uint8_t codes[BATON_NATIVE_UNIT])
{
    const int n_values = baton_grid_values(baton_block_grid(native->type));
    for (int i = 0; i < BATON_NATIVE_UNIT; i += n_values)
        get_point(native, unit, out, i, codes + i);
}

/* Reads the first n inputs of unit number `unit` of a step. */
static void read_unit(const struct baton_native *native, const char *step, size_t unit, size_t out,
                      size_t n, float *row)
{
    const struct baton_block_codes_form *form = baton_block_codes_form(native->type);
    const size_t group = (size_t)native->group;
    uint8_t codes[BATON_NATIVE_UNIT];
    const char *bits =
        step + baton_native_head_bytes(native) + unit * (size_t)baton_native_unit_bytes(native);
    if (form->has_grid)
        get_points(native, bits, out, codes);
    else
        get_codes(native, bits, out, codes);
    for (size_t i = 0; i < n; i += group) {
        struct scale of = scale_at(native, step, out, (unit * BATON_NATIVE_UNIT + i) / group);
        baton_block_decode_group(form, of.scale, of.min, codes + i, n - i < group ? n - i : group,
                                 row + i);
    }
}

void baton_native_read(const struct baton_native *native, const void *panel, size_t out, float *row,
                       size_t n_in)
{
    const size_t n_step = (size_t)baton_native_step(native),
                 step_bytes = (size_t)baton_native_step_bytes(native);
    for (size_t k = 0; k < n_in; k += BATON_NATIVE_UNIT)
        read_unit(native, (const char *)panel + k / n_step * step_bytes,
                  k % n_step / BATON_NATIVE_UNIT, out,
                  n_in - k < BATON_NATIVE_UNIT ? n_in - k : BATON_NATIVE_UNIT, row + k);
}

const uint8_t *baton_native_levels(const struct baton_native *native, uint8_t levels[16])
{
    const struct baton_block_codes_form *form = baton_block_codes_form(native->type);
    if (form->has_grid)
        return baton_grids[baton_block_grid(native->type)];
    for (int i = 0; i < 16; i++)
        levels[i] = form->levels ? (uint8_t)(form->levels[i] + 128) : 0;
    return levels;
}
