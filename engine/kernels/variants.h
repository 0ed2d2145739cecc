/* The builds of body.h there are, and the sets made from them: only dispatch.c looks at them, and
 * only at those the CPU can run; and tests, which can emulate AMX.
 *
 * Pure: constants of the build.
 */
#ifndef BATON_ENGINE_KERNELS_VARIANTS_H
#define BATON_ENGINE_KERNELS_VARIANTS_H

#include "engine/kernels/linear/rows.h"

extern const struct baton_kernels baton_kernels_portable;
extern const struct baton_row_kernels baton_row_kernels_portable;
#if defined(__x86_64__)
extern const struct baton_kernels baton_kernels_avx2, baton_kernels_avx512,
    baton_kernels_avx512vnni;
extern const struct baton_row_kernels baton_row_kernels_avx2, baton_row_kernels_avx512,
    baton_row_kernels_avx512vnni;
#elif defined(__aarch64__)
extern const struct baton_kernels baton_kernels_neon, baton_kernels_dotprod, baton_kernels_i8mm;
extern const struct baton_row_kernels baton_row_kernels_neon, baton_row_kernels_dotprod,
    baton_row_kernels_i8mm;
#endif

#if defined(__x86_64__)
/* amx.c: products by AMX, everything else that of avx512vnni. */
void baton_amx_fill(struct baton_kernels *kernels);
#endif

/* openblas.c: kernels that multiply row-major f32 weights, with these rows' kernels where they are
 * few and OpenBLAS where they are many; everything else is that of the best. Called once. False:
 * the library is not here. */
bool baton_openblas_fill(struct baton_kernels *kernels, const struct baton_kernels *best,
                         const struct baton_row_kernels *rows);

#endif
