/* Codes, scales and mins of a step of a native panel (native_panels.h) as vectors. Part of
 * sets/native_*.c. The format is a constant at each call, so that the compiler resolves its cases
 * and shifts.
 *
 * A vector is REGS registers; i is the number of one.
 *
 * Pure: arguments are borrowed for the call.
 */
#ifndef BATON_ENGINE_KERNELS_NATIVE_UNPACK_H
#define BATON_ENGINE_KERNELS_NATIVE_UNPACK_H

#include "engine/kernels/attend/kv_element.h"
#include "engine/kernels/pack/native_panels.h"
#include "engine/kernels/vector/registers.h"

typedef uint32_t native_bits __attribute__((vector_size(REG_BYTES)));
typedef uint8_t native_bytes __attribute__((vector_size(REG_BYTES)));
typedef uint32_t unaligned_bits __attribute__((vector_size(REG_BYTES), aligned(4), may_alias));

INLINE native_bits load_bits(const void *p)
{
    return *(const unaligned_bits *)p;
}

/* ---- codes ---- */

/* A byte of each lane as an integer. */
INLINE ireg widen_bytes(const void *p)
{
#if defined(__AVX512F__)
    return (ireg)_mm512_cvtepu8_epi32(_mm_loadu_si128(p));
#elif defined(__AVX2__)
    return (ireg)_mm256_cvtepu8_epi32(_mm_loadl_epi64(p));
#elif defined(USES_NEON)
    uint32_t four;
    memcpy(&four, p, sizeof four);
    return (ireg)vmovl_u16(vget_low_u16(vmovl_u8(vcreate_u8(four))));
#else
    ireg v;
    for (int i = 0; i < REG_LANES; i++)
        v[i] = ((const uint8_t *)p)[i];
    return v;
#endif
}

/* 16 bits of each lane as an integer. */
INLINE ireg widen_shorts(const void *p)
{
#if defined(__AVX512F__)
    return (ireg)_mm512_cvtepu16_epi32(_mm256_loadu_si256(p));
#elif defined(__AVX2__)
    return (ireg)_mm256_cvtepu16_epi32(_mm_loadu_si128(p));
#else
    ireg v = {0};
    uint16_t numbers[REG_LANES];
    memcpy(numbers, p, sizeof numbers);
    for (int i = 0; i < REG_LANES; i++)
        v[i] = numbers[i];
    return v;
#endif
}

/* The levels [16] of the codes. */
INLINE native_bits look_up(const uint8_t *levels, native_bits codes)
{
#if defined(__AVX512BW__)
    __m512i table = _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)(const void *)levels));
    return (native_bits)_mm512_shuffle_epi8(table, (__m512i)codes);
#elif defined(__AVX2__)
    __m256i table =
        _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)levels));
    return (native_bits)_mm256_shuffle_epi8(table, (__m256i)codes);
#elif defined(USES_NEON)
    return (native_bits)vqtbl1q_u8(vld1q_u8(levels), (uint8x16_t)codes);
#else
    native_bytes bytes = (native_bytes)codes;
    for (int i = 0; i < REG_BYTES; i++)
        bytes[i] = levels[bytes[i]];
    return (native_bits)bytes;
#endif
}

#include "engine/kernels/native/grid.h"

/* The planes of a unit's codes, from the bytes of a word on. */
struct native_planes {
    const char *low, *high; /* high matters only to formats with a high plane; low is the unit of a
                             * format with a grid */
};

/* word is the first of a group: it begins in the lowest bits of its bytes in each plane. */
INLINE struct native_planes planes_at(struct baton_native native, const char *unit, int word)
{
    const int low = baton_native_low_bits(&native), high = native.n_bits - low;
    if (baton_block_has_grid(native.type)) /* word is 0: the unit is of a span */
        return (struct native_planes){.low = unit};
    return (struct native_planes){.low = unit + word * low / 8 * BATON_NATIVE_WORD,
                                  .high = unit + baton_native_low_bytes(&native) +
                                          word * high / 8 * BATON_NATIVE_WORD};
}

/* The n_bits of a plane that belong to word n. A 32-bit shift moves bits across bytes; the mask
 * drops them. */
INLINE native_bits plane_bits(const char *plane, int n, int i, int n_bits)
{
    native_bits bits =
        load_bits(plane + n * n_bits / 8 * BATON_NATIVE_WORD + i * REG_BYTES) >> n * n_bits % 8;
    return n_bits < 8 ? bits & ((1U << n_bits) - 1) * 0x01010101U : bits;
}

/* Word n as codes. */
INLINE native_bits native_codes(struct baton_native native, struct native_planes planes, int n,
                                int i)
{
    const int low = baton_native_low_bits(&native), high = native.n_bits - low;
    native_bits codes = plane_bits(planes.low, n, i, low);
    if (high)
        codes |= plane_bits(planes.high, n, i, high) << low;
    return codes;
}

/* The number that native_word's bytes exceed the weights by: a power of two, or 0. */
INLINE int native_zero(struct baton_native native)
{
    return native.has_levels ? 128 : native.zero;
}

/* Word n as unsigned bytes: weights plus native_zero. levels [16] include that 128. */
INLINE native_bits native_word(struct baton_native native, const uint8_t *levels,
                               struct native_planes planes, int n, int i)
{
    if (baton_block_has_grid(native.type))
        return grid_word(native, levels, planes.low, n, i);
    native_bits codes = native_codes(native, planes, n, i);
    return native.has_levels ? look_up(levels, codes) : codes;
}

/* The same plus 128 for every format. */
INLINE native_bits native_word_over_128(struct baton_native native, const uint8_t *levels,
                                        struct native_planes planes, int n, int i)
{
    native_bits word = native_word(native, levels, planes, n, i);
    return (native_bits)((native_bytes)word + (uint8_t)(128 - native_zero(native)));
}

/* ---- scales ---- */

INLINE reg to_floats(ireg v)
{
    return __builtin_convertvector(v, reg);
}

INLINE ireg sign_extend(ireg bytes)
{
    return (bytes ^ 128) - 128;
}

/* The same as baton_mxfp4_half_scale: 2^(exponent - 128), subnormal for the exponents 0 and 1. */
INLINE reg half_scales(ireg exponents)
{
    native_bits is_subnormal = (native_bits)(exponents < 2);
    native_bits subnormal = (native_bits)(exponents + 1) << 21;
    native_bits normal = (native_bits)(exponents - 1) << 23;
    return (reg)((is_subnormal & subnormal) | (~is_subnormal & normal));
}

/* The same as baton_e4m3. */
INLINE reg e4m3_floats(ireg codes)
{
    native_bits is_subnormal = (native_bits)(codes < 8);
    native_bits subnormal = (native_bits)(to_floats(codes) * 0x1p-9F);
    native_bits normal = (native_bits)((codes << 20) + (120 << 23));
    return (reg)((is_subnormal & subnormal) | (~is_subnormal & normal));
}

INLINE reg load_floats(const char *p, int i)
{
    return *(const unaligned_reg *)(const void *)(p + i * REG_BYTES);
}

INLINE reg load_halves(const char *p, int i)
{
    return load_f16((const uint16_t *)(const void *)p + i * REG_LANES);
}

/* The integer scales of a step's group g, in formats that have them. */
INLINE ireg native_integer(struct baton_native native, const char *step, int g, int i)
{
    if (native.scales == BATON_SCALES_ODD) {
        const char *pairs = step + BATON_INTEGER_SCALES_AT + g / 2 * LANES;
        return (widen_bytes(pairs + i * REG_LANES) >> g % 2 * 4 & 15) * 2 + 1;
    }
    const ireg bytes = widen_bytes(step + BATON_INTEGER_SCALES_AT + g * LANES + i * REG_LANES);
    if (native.scales == BATON_SCALES_INTEGER)
        return sign_extend(bytes);
    return native.scales == BATON_SCALES_NIBBLES ? bytes & 15 : bytes;
}

/* The factors of a step's integer scales. */
INLINE reg native_step_scale(struct baton_native native, const char *step, int i)
{
    const bool has_floats =
        native.scales == BATON_SCALES_INTEGER || native.scales == BATON_SCALES_ODD;
    return has_floats ? load_floats(step, i) : load_halves(step, i);
}

/* The scales of a step's group g. */
INLINE reg native_scale(struct baton_native native, const char *step, int g, int i)
{
    switch (native.scales) {
    case BATON_SCALES_F16:
    case BATON_SCALES_F16_MIN:
        return load_halves(step + g * LANES * 2, i);
    case BATON_SCALES_EXPONENT:
        return half_scales(widen_bytes(step + g * LANES + i * REG_LANES));
    case BATON_SCALES_FLOAT:
        return load_floats(step, i);
    case BATON_SCALES_E4M3:
        return load_floats(step, i) *
               e4m3_floats(widen_bytes(step + BATON_INTEGER_SCALES_AT + g * LANES + i * REG_LANES));
    default:
        return native_step_scale(native, step, i) * to_floats(native_integer(native, step, g, i));
    }
}

/* Its mins, in formats that have them. */
INLINE reg native_min(struct baton_native native, const char *step, int g, int i)
{
    const int at = g * LANES + i * REG_LANES;
    if (native.scales == BATON_SCALES_F16_MIN)
        return load_halves(step + BATON_F16_MINS_AT + g * LANES * 2, i);
    ireg mins = native.scales == BATON_SCALES_NIBBLES
                    ? widen_bytes(step + BATON_INTEGER_SCALES_AT + at) >> 4
                    : widen_bytes(step + BATON_INTEGER_MINS_AT + at);
    return load_halves(step + BATON_INTEGER_MIN_AT, i) * to_floats(mins);
}

#endif
