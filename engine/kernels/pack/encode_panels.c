#include "engine/kernels/pack/encode_panels.h"

#include "engine/kernels/pack/encode_blocks.h"

bool baton_packed_encodes(enum baton_dtype dtype)
{
    const struct baton_native *blocks = baton_dtype_ops[dtype].blocks;
    return !blocks || baton_encodes(blocks->type);
}

void baton_packed_scale(const struct baton_packed *packed, int panel,
                        const float factors[BATON_PANEL])
{
    const struct baton_native *native = baton_dtype_ops[packed->dtype].blocks;
    const size_t panel_bytes = baton_packed_panel_bytes(packed->dtype, packed->n_in),
                 step_bytes = (size_t)baton_native_step_bytes(native);
    char *step = (char *)packed->data + (size_t)panel * panel_bytes;
    for (const char *end = step + panel_bytes; step < end; step += step_bytes)
        for (size_t out = 0; out < BATON_PANEL; out++)
            ((float *)(void *)step)[out] *= factors[out];
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
