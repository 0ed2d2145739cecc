#include "engine/checkpoint/weights/convert.h"

#include <string.h>

#include "common/base/array.h"
#include "common/base/bf16.h"
#include "common/base/f16.h"

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
    for (size_t i = 0; i < BATON_N_OF(dtypes); i++) {
        if (!strcmp(name, dtypes[i].name)) {
            *dtype = (enum baton_element)i;
            return true;
        }
    }
    return false;
}

const char *baton_element_name(enum baton_element dtype)
{
    if (dtype == BATON_ELEMENT_CODED)
        return "codes";
    return dtype == BATON_ELEMENT_BLOCKS ? "blocks" : dtypes[dtype].name;
}

size_t baton_element_bytes(enum baton_element dtype)
{
    return dtype >= BATON_ELEMENT_BLOCKS ? 0 : dtypes[dtype].n_bytes;
}

enum baton_element baton_element_of_block(enum baton_block_type type)
{
    switch (type) {
    case BATON_BLOCK_F32:
        return BATON_ELEMENT_F32;
    case BATON_BLOCK_F16:
        return BATON_ELEMENT_F16;
    case BATON_BLOCK_BF16:
        return BATON_ELEMENT_BF16;
    default:
        return BATON_ELEMENT_BLOCKS;
    }
}

bool baton_element_converts(enum baton_element dtype)
{
    return dtype == BATON_ELEMENT_F32 || dtype == BATON_ELEMENT_F16 || dtype == BATON_ELEMENT_BF16;
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
        floats[i] = dtype == BATON_ELEMENT_F16 ? baton_f16_to(bits) : baton_bf16_to(bits);
    }
}
