#include "engine/kernels/pack/encode_panels.h"

#include "engine/kernels/pack/encode_blocks.h"

bool baton_packed_encodes(enum baton_dtype dtype)
{
    const struct baton_native *blocks = baton_dtype_ops[dtype].blocks;
    return !blocks || baton_encodes(blocks->type);
}

void baton_native_encode(const struct baton_native *native, void *panel, const float *rows,
                         size_t n_in)
{
    const size_t n_step = (size_t)baton_native_step(native),
                 step_bytes = (size_t)baton_native_step_bytes(native);
    uint8_t blocks[BATON_PANEL][BATON_BLOCK_MAX_BYTES]; /* of a step: one of 256 or two of 32 */
    const uint8_t *of_rows[BATON_PANEL];
    char *step = panel;
    for (size_t k = 0; k < n_in; k += n_step, step += step_bytes) {
        size_t n = n_in - k < n_step ? n_in - k : n_step;
        for (size_t out = 0; out < BATON_PANEL; out++) {
            baton_encode(native->type, rows + out * n_in + k, n, blocks[out]);
            of_rows[out] = blocks[out];
        }
        baton_native_write(native, step, of_rows, n);
    }
}
