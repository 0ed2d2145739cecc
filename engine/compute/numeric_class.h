/* The numeric class of a worker: processes of one class compute the same bits from the same input.
 *
 * The class is measured. Every operation of the model is run on fixed inputs, by the kernels that
 * will serve it: products with a few outputs of one matrix of each dtype and width, activations,
 * norms, rotations, attention over more than one step with the KV cache's dtype, the router, the
 * sampler's sums, and the C library's functions among them. The class is the digest of all results.
 * It thus tells kernels apart by what they compute and not by their names.
 *
 * openblas chooses its order of summation by the number of rows: its class is a name only.
 *
 * Ownership: borrows the model and the pool.
 * Threading: the caller's thread; milliseconds, whatever the model's size.
 * Errors:    NO_MEMORY.
 */
#ifndef BATON_ENGINE_COMPUTE_NUMERIC_CLASS_H
#define BATON_ENGINE_COMPUTE_NUMERIC_CLASS_H

#include "common/base/fingerprint.h"
#include "engine/kv/kv.h"
#include "engine/model/model.h"

/* The class of a model's forwards whose K and V are in that pool; kv's blocks are not touched. */
enum baton_err baton_numeric_class(const struct baton_model *model, const struct baton_kv *kv,
                                   struct baton_numeric_class *numeric_class) BATON_MUST_CHECK;

#endif
