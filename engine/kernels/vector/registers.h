/* Registers of integers, and registers in memory. Part of a set (set.h).
 *
 * Pure: arguments are borrowed for the call.
 */
#ifndef BATON_ENGINE_KERNELS_VECTOR_REGISTERS_H
#define BATON_ENGINE_KERNELS_VECTOR_REGISTERS_H

#include "engine/kernels/vector/vectors.h"

typedef int32_t ireg __attribute__((vector_size(REG_BYTES)));
typedef uint32_t ureg __attribute__((vector_size(REG_BYTES))); /* its sums may wrap around */
typedef int32_t iquarter __attribute__((vector_size(16)));
typedef uint32_t uquarter __attribute__((vector_size(16)));

INLINE reg load_reg(const void *p)
{
    return *(const unaligned_reg *)p;
}

INLINE void store_reg(float *p, reg v)
{
    *(unaligned_reg *)p = v;
}

INLINE reg splat_reg(float value)
{
    return value - (reg){0};
}

#endif
