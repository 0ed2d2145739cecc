/* bfloat16: the upper half of a float.
 *
 * Pure.
 */
#ifndef BATON_COMMON_BASE_BF16_H
#define BATON_COMMON_BASE_BF16_H

#include <stdint.h>
#include <string.h>

/* Rounds to the nearest, ties to even; a NaN stays one. */
static inline uint16_t baton_bf16_from(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static inline float baton_bf16_to(uint16_t stored)
{
    uint32_t bits = (uint32_t)stored << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

#endif
