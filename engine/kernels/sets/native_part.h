/* A class of native formats as a part of the set that is being compiled: products by AMX's tiles or
 * by vectors.
 *
 * Pure: arguments are borrowed for the call; AMX's tiles are the calling thread's.
 */
#ifndef BATON_ENGINE_KERNELS_SETS_NATIVE_PART_H
#define BATON_ENGINE_KERNELS_SETS_NATIVE_PART_H

#include "engine/kernels/variants.h"
#if defined(__AMX_TILE__)
#include "engine/kernels/amx/native.h"
#else
#include "engine/kernels/native/linear.h"
#endif

#define FILL_PRODUCT(name, NAME, ...) kernels->dtypes[BATON_##NAME].linear = linear_##name;

/* The part native_CLASS for its formats (native_panels.h), one of which is a_format. */
#define NATIVE_PART(class, formats, a_format)                                                      \
    NATIVE_PRODUCTS(formats, a_format)                                                             \
    void OF_SET(fill_native_##class)(struct baton_kernels * kernels)                               \
    {                                                                                              \
        formats(FILL_PRODUCT)                                                                      \
    }

#endif
