/* IEEE half precision, one number at a time.
 *
 * Pure.
 */
#ifndef BATON_COMMON_BASE_F16_H
#define BATON_COMMON_BASE_F16_H

#include <stdint.h>
#include <string.h>

#define BATON_F16_MAX 65504.0F

/* Rounds to the nearest, ties to even. A value beyond the range becomes the largest one, an
 * infinity too; a NaN stays one. */
static inline uint16_t baton_f16_from(float value)
{
    const uint32_t f16_max = 0x477fe000, f16_min_normal = 0x38800000, infinity = 0x7f800000;
    uint32_t bits, sign;
    memcpy(&bits, &value, sizeof bits);
    sign = bits >> 16 & 0x8000;
    bits &= 0x7fffffff;
    if (bits > infinity)
        return (uint16_t)(sign | 0x7e00 | (bits >> 13 & 0x1ff));
    if (bits > f16_max)
        bits = f16_max;
    if (bits < f16_min_normal) { /* adding 1/2 leaves the last bit at f16's smallest step, 2^-24 */
        float magnitude;
        memcpy(&magnitude, &bits, sizeof magnitude);
        magnitude += 0.5F;
        memcpy(&bits, &magnitude, sizeof bits);
        return (uint16_t)(sign | (bits - 0x3f000000));
    }
    bits += 0xfff + (bits >> 13 & 1);
    return (uint16_t)(sign | (bits - 0x38000000) >> 13);
}

static inline float baton_f16_to(uint16_t stored)
{
    uint32_t sign = (uint32_t)(stored & 0x8000) << 16, bits = (uint32_t)(stored & 0x7fff) << 13;
    float value;
    memcpy(&value, &bits, sizeof value);
    value *= 0x1p112F; /* the difference of the exponents' biases; also right for subnormals */
    memcpy(&bits, &value, sizeof bits);
    if ((stored & 0x7c00) == 0x7c00)
        bits |= 0x7f800000;
    bits |= sign;
    memcpy(&value, &bits, sizeof value);
    return value;
}

#endif
