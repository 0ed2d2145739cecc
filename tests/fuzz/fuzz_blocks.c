/* Any bytes are blocks of any type: their codes are in their ranges, and put together again they
 * are the same bytes, or mean the same. The first byte of the input chooses the type. */
#include "tests/fuzz/fuzz.h"

#include <math.h>

#include "engine/checkpoint/weights/blocks.h"

static void check_codes(enum baton_block_type type, const struct baton_block_codes *codes)
{
    const struct baton_block_codes_form *form = baton_block_codes_form(type);
    size_t n = baton_block_values(type);
    for (size_t i = 0; i < n; i++)
        check(codes->codes[i] < 1 << form->n_bits);
    for (size_t g = 0; g < n / (size_t)form->n_group; g++) {
        if (!form->max_scale)
            check(codes->scales[g] == 1 && codes->mins[g] == form->has_min);
        else
            check(codes->scales[g] >= form->min_scale && codes->scales[g] <= form->max_scale &&
                  codes->mins[g] <= (form->has_min ? form->max_scale : 0));
    }
    check(form->has_min || codes->min == 0);
}

static void check_block(enum baton_block_type type, const uint8_t *block)
{
    struct baton_block_codes codes;
    uint8_t again[BATON_BLOCK_MAX_BYTES];
    float floats[BATON_BLOCK_MAX_VALUES];
    baton_block_unpack(type, block, &codes);
    check_codes(type, &codes);
    baton_blocks_decode(type, block, 1, floats);
    if (!isfinite(codes.d) || !isfinite(codes.min))
        return;
    baton_block_pack(type, &codes, again);
    if (type == BATON_BLOCK_TQ1_0 || type == BATON_BLOCK_NVFP4) {
        float repeated[BATON_BLOCK_MAX_VALUES];
        baton_blocks_decode(type, again, 1, repeated);
        check(!memcmp(repeated, floats, baton_block_values(type) * sizeof *floats));
    } else
        check(!memcmp(again, block, baton_block_bytes(type)));
}

FUZZ(data, size)
{
    float floats[BATON_BLOCK_MAX_VALUES];
    if (!size)
        return;
    enum baton_block_type type = (enum baton_block_type)(data[0] % BATON_N_BLOCK_TYPES);
    size_t n_bytes = baton_block_bytes(type);
    for (data++, size--; size >= n_bytes; data += n_bytes, size -= n_bytes) {
        if (baton_block_codes_form(type))
            check_block(type, data);
        else
            baton_blocks_decode(type, data, 1, floats);
    }
}
