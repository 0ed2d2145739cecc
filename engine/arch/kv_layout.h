/* The digest of the layout of a model's K and V: two workers may hand a context over only when
 * theirs are equal.
 *
 * It covers the element type, the tokens of a block, and for each layer G, D, the part of K that is
 * V, the layer whose K and V it reads, its window, and the rotation of its keys as it is computed
 * (a process chooses among rotations by the context that it serves). The weights are not part of
 * it.
 *
 * Pure.
 */
#ifndef BATON_ENGINE_ARCH_KV_LAYOUT_H
#define BATON_ENGINE_ARCH_KV_LAYOUT_H

#include "common/base/digest.h"
#include "engine/arch/spec.h"

/* The layout of K and V in blocks of block_tokens tokens whose elements are kv_dtype ("f32",
 * "f16", "q8"), in hex. NO_MEMORY. */
enum baton_err baton_kv_layout_digest(const struct baton_spec *spec, const char *kv_dtype,
                                      int block_tokens,
                                      char hex[BATON_SHA256_HEX]) BATON_MUST_CHECK;

#endif
