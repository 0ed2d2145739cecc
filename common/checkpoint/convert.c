#include "common/checkpoint/convert.h"

#include <string.h>

static const struct {
    const char *name;
    size_t n_bytes;
} dtypes[] = {
#define X(name, bytes) {#name, bytes},
    BATON_ELEMENTS(X)
#undef X
};

bool baton_element_parse(const char *name, enum baton_element *dtype)
{
    for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++) {
        if (!strcmp(name, dtypes[i].name)) {
            *dtype = (enum baton_element)i;
            return true;
        }
    }
    return false;
}

const char *baton_element_name(enum baton_element dtype)
{
    return dtypes[dtype].name;
}

size_t baton_element_bytes(enum baton_element dtype)
{
    return dtypes[dtype].n_bytes;
}

bool baton_element_converts(enum baton_element dtype)
{
    return dtype == BATON_ELEMENT_F32 || dtype == BATON_ELEMENT_F16 || dtype == BATON_ELEMENT_BF16;
}

static float float_of_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Exponent and mantissa moved into a float's places and multiplied by 2^(127 - 15), which is exact
 * for subnormals too; infinities and NaNs get the exponent they need. */
static float float_of_f16(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000) << 16, rest = (uint32_t)(half & 0x7fff) << 13;
    if ((half & 0x7c00) == 0x7c00)
        return float_of_bits(sign | 0x7f800000 | rest);
    float magnitude = float_of_bits(rest) * 0x1p112F;
    return sign ? -magnitude : magnitude;
}

void baton_convert(enum baton_element dtype, const uint8_t *source, size_t n, float *floats)
{
    if (dtype == BATON_ELEMENT_F32) {
        memcpy(floats, source, n * sizeof *floats);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        uint16_t bits;
        memcpy(&bits, source + i * sizeof bits, sizeof bits);
        floats[i] =
            dtype == BATON_ELEMENT_F16 ? float_of_f16(bits) : float_of_bits((uint32_t)bits << 16);
    }
}
