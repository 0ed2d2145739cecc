/* Models that keep their file's formats: each matrix gets the dtype of the blocks that fill it, so
 * that no weight is rounded again.
 *
 * Codes of a directory (coded.h) become q4_0 or q5_0, which hold 4-bit codes exactly if their
 * groups are whole blocks and their scales f16; the others are rounded to bf16.
 *
 * A matrix becomes f32, which holds every format exactly, where no dtype can: gate and up, or
 * experts, of different formats; tensors that are stored transposed; formats that the kernels do
 * not multiply with.
 *
 * Ownership: names and weights are borrowed.
 * Threading: one owner.
 * Errors:    none; the weights have been checked (tensors_load.h).
 */
#ifndef BATON_ENGINE_MODEL_NATIVE_DTYPES_H
#define BATON_ENGINE_MODEL_NATIVE_DTYPES_H

#include "engine/model/storage.h"
#include "engine/model/tensors_load.h"

struct baton_native_dtypes {
    const struct baton_tensor_names *names;
    const struct baton_weights *weights;
    int n_widened;   /* matrices that became f32 though their file has them in another format */
    int first_layer; /* of the first of them */
    const char *reason;
};

/* The rule of these dtypes; native outlives it. */
struct baton_dtype_rule baton_native_dtypes_rule(struct baton_native_dtypes *native);

/* Logs that matrices became f32, if any did. */
void baton_native_dtypes_log(const struct baton_native_dtypes *native);

#endif
