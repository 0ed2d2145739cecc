/* The kernels' text, compiled once per instruction set: the including file defines KERNELS and
 * ROW_KERNELS (the tables' names), KERNELS_NAME, DENSE_MIN_ROWS, the bytes of a register and how
 * many there are, and the tile of the products with row-major weights, in outputs and rows that fit
 * them. USES_NEON: by intrinsics of NEON, which every arm64 CPU has; what else it has, its options
 * tell.
 *
 * Pure: arguments are borrowed for the call.
 */
#include "engine/kernels/attend/attend.h"
#include "engine/kernels/attend/store_kv.h"
#include "engine/kernels/linear/bf16.h"
#include "engine/kernels/linear/f32.h"
#include "engine/kernels/linear/q8.h"
#include "engine/kernels/linear/quantize.h"
#include "engine/kernels/linear/row_major.h"
#include "engine/kernels/native/linear.h"
#include "engine/kernels/variants.h"
#include "engine/kernels/vector/choose.h"
#include "engine/kernels/vector/elementwise.h"
#include "engine/kernels/vector/norm.h"
#include "engine/kernels/vector/rope.h"

#define DTYPE(name, NAME)                                                                          \
    [NAME] = {.row_bytes = row_bytes_##name, .quantize = quantize_##name, .linear = linear_##name}

#define NATIVE_DTYPE(name, NAME, ...)                                                              \
    [BATON_##NAME] = {.row_bytes = baton_native_row_bytes,                                         \
                      .quantize = NATIVE_QUANTIZE(__VA_ARGS__),                                    \
                      .linear = linear_##name},

const struct baton_kernels KERNELS = {
    .name = KERNELS_NAME,
    .layout = BATON_PANELS,
    .dtypes =
        {{.row_bytes = row_bytes_f32, .quantize = copy_rows, .copies = true, .linear = linear_f32},
         DTYPE(bf16, BATON_BF16),
         DTYPE(q8, BATON_Q8),
         [BATON_F16] = {.row_bytes = row_bytes_f32,
                        .quantize = copy_rows,
                        .copies = true,
                        .linear = linear_f16},
         BATON_NATIVE_DTYPES(NATIVE_DTYPE)},
    .fastest = FASTEST,
    .norm = norm,
    .norm_add = norm_add,
    .norm_heads = norm_heads,
    .rope = rope,
    .cap = cap_all,
    .clamp = clamp_all,
    .add_scaled = add_scaled,
    .store_kv = store_kv,
    .attend = attend,
    .max = max_of,
    .maxima = maxima,
    .weigh = weigh,
    .keep = keep,
};

const struct baton_row_kernels ROW_KERNELS = {
    .dense_min_rows = DENSE_MIN_ROWS, .linear = linear_by_rows, .finish = finish};
