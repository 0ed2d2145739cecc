/* Panels of native dtypes made of floats, by the search of encode_blocks.h.
 *
 * Ownership: arguments are borrowed for the call.
 * Threading: pure functions; different panels may be written by different threads.
 * Errors:    none; shapes are the caller's promise.
 */
#ifndef BATON_ENGINE_KERNELS_PACK_ENCODE_PANELS_H
#define BATON_ENGINE_KERNELS_PACK_ENCODE_PANELS_H

#include "engine/kernels/pack/native_panels.h"
#include "engine/kernels/pack/packed.h"

/* Whether baton_packed_write takes it: not one with levels of its own, as iq4_nl. */
bool baton_packed_encodes(enum baton_dtype dtype);

/* Packs a panel from rows [16][n_in]. Also where n_in is no multiple of a block's values. */
void baton_native_encode(const struct baton_native *native, void *panel, const float *rows,
                         size_t n_in);

#endif
