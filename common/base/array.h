/* Arrays: the number of elements of one of fixed size, and one that grows.
 *
 * A growing array is a pointer, the number of its elements and its capacity, wherever its owner
 * keeps them. BATON_RESERVE makes space; the owner counts, and bounds n before. Pointers into the
 * array are valid until the next BATON_RESERVE. Not for arrays that threads share, and not where
 * memory must be reserved at the start.
 *
 * Ownership: the array belongs to its owner, who frees it with free().
 * Threading: none; one owner at a time.
 * Errors:    NO_MEMORY; the array is then unchanged.
 */
#ifndef BATON_COMMON_BASE_ARRAY_H
#define BATON_COMMON_BASE_ARRAY_H

#include <stddef.h>

#include "common/base/error.h"

/* The number of elements of an array; not for pointers. */
#define BATON_N_OF(array) (sizeof(array) / sizeof((array)[0]))

/* Makes space for n elements in all. *cap at least doubles when it grows, so that adding elements
 * one by one costs constant time each. */
#define BATON_RESERVE(items, cap, n)                                                               \
    ({                                                                                             \
        void *baton_grown_ = baton_array_grown((items), &(cap), (n), sizeof *(items));             \
        (items) = baton_grown_ ? baton_grown_ : (items);                                           \
        baton_grown_ ? BATON_OK : BATON_NO_MEMORY;                                                 \
    })

/* For BATON_RESERVE: returns items, possibly moved; NULL without memory, and items is then
 * unchanged. */
void *baton_array_grown(void *items, size_t *cap, size_t n, size_t item_bytes);

#endif
