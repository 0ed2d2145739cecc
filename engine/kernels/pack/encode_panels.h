/* Makes panels of native dtypes from floats, by the search of encode_blocks.h.
 *
 * Ownership: arguments are borrowed for the call.
 * Threading: pure functions; different panels may be written by different threads.
 * Errors:    none; shapes are the caller's promise.
 */
#ifndef BATON_ENGINE_KERNELS_PACK_ENCODE_PANELS_H
#define BATON_ENGINE_KERNELS_PACK_ENCODE_PANELS_H

#include "engine/kernels/pack/native_panels.h"
#include "engine/kernels/pack/packed.h"

/* Whether baton_packed_write can make panels of that dtype: not if it has levels, like iq4_nl. */
bool baton_packed_encodes(enum baton_dtype dtype);

/* Packs a panel from rows [16][n_in]; n_in need not be a multiple of a block's values. */
void baton_native_encode(const struct baton_native *native, void *panel, const float *rows,
                         size_t n_in);

/* Multiplies the weights of a packed panel of NVFP4 by a factor for each output. */
void baton_packed_scale(const struct baton_packed *packed, int panel,
                        const float factors[BATON_PANEL]);

#endif
