/* The parts that sets of kernels consist of. A part fills in its members of the table; its source,
 * sets/PART.c, is compiled for every set whose instructions make a difference to it. Only
 * dispatch.c calls them, and only those that the CPU can run; and tests, which can emulate AMX.
 *
 * Pure: constants of the build.
 */
#ifndef BATON_ENGINE_KERNELS_VARIANTS_H
#define BATON_ENGINE_KERNELS_VARIANTS_H

#include "engine/kernels/linear/rows.h"

/* Products with native panels: a part for each class of formats (native_panels.h). */
#define BATON_NATIVE_PARTS(set)                                                                    \
    void baton_fill_native_16_##set(struct baton_kernels *kernels);                                \
    void baton_fill_native_16_alone_##set(struct baton_kernels *kernels);                          \
    void baton_fill_native_128_##set(struct baton_kernels *kernels);                               \
    void baton_fill_native_16_min_##set(struct baton_kernels *kernels);                            \
    void baton_fill_native_32_##set(struct baton_kernels *kernels);                                \
    void baton_fill_native_32_min_##set(struct baton_kernels *kernels);                            \
    void baton_fill_native_128_min_##set(struct baton_kernels *kernels)

#define BATON_PARTS(set)                                                                           \
    extern const struct baton_row_kernels baton_row_kernels_##set;                                 \
    void baton_fill_vectors_##set(struct baton_kernels *kernels);                                  \
    void baton_fill_floats_##set(struct baton_kernels *kernels);                                   \
    void baton_fill_bf16_##set(struct baton_kernels *kernels);                                     \
    void baton_fill_q8_##set(struct baton_kernels *kernels);                                       \
    void baton_fill_attention_##set(struct baton_kernels *kernels);                                \
    void baton_fill_recurrent_##set(struct baton_kernels *kernels);                                \
    BATON_NATIVE_PARTS(set)

BATON_PARTS(portable);
#if defined(__x86_64__)
BATON_PARTS(avx2);
BATON_PARTS(avx512);
BATON_PARTS(avx512vnni);
BATON_PARTS(avx512bf16);
BATON_NATIVE_PARTS(amx); /* for at least as many rows as a tile has */

/* Fills in the kernels of AMX (amx.c): products and attention by tiles where those are faster,
 * everything else from avx512vnni. */
void baton_amx_fill(struct baton_kernels *kernels, const struct baton_kernels *avx512vnni);
#elif defined(__aarch64__)
BATON_PARTS(neon);
BATON_PARTS(dotprod);
BATON_PARTS(i8mm);
#endif

/* Fills in the kernels of OpenBLAS (openblas.c), which multiply row-major f32 weights, few rows by
 * the kernels `rows` and many by OpenBLAS; everything else is from `best`. It is called once. False
 * if the library is not installed. */
bool baton_openblas_fill(struct baton_kernels *kernels, const struct baton_kernels *best,
                         const struct baton_row_kernels *rows);

#endif
