/* The builds of body.h there are: only dispatch.c looks at them, and only at those the CPU can run.
 */
#ifndef BATON_ENGINE_KERNELS_VARIANTS_H
#define BATON_ENGINE_KERNELS_VARIANTS_H

#include "common/engine/kernels/kernels.h"

extern const struct baton_kernels baton_kernels_portable;
#if defined(__x86_64__)
extern const struct baton_kernels baton_kernels_avx2, baton_kernels_avx512;
#endif

#endif
