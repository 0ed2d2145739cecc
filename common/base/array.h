/* Arrays: how many elements one of a fixed size has, and one that grows.
 *
 * A growing array is a pointer, the number of its elements and its capacity, wherever its owner
 * keeps them. BATON_RESERVE makes room; the owner counts, and bounds n before it asks. Pointers
 * into the array are good until the next BATON_RESERVE. Not for arrays that threads share, and not
 * where memory must be reserved at the start.
 *
 * Ownership: the array belongs to its owner, who frees it with free().
 * Threading: none; one owner at a time.
 * Errors:    NO_MEMORY; the array is then as it was.
 */
#ifndef BATON_COMMON_BASE_ARRAY_H
#define BATON_COMMON_BASE_ARRAY_H

#include <stddef.h>

#include "common/base/error.h"

/* How many elements an array has; not for pointers. */
#define BATON_N_OF(array) (sizeof(array) / sizeof((array)[0]))

/* Makes room for n elements in all; *cap at least doubles when it grows, so that adding elements
 * one by one costs constant time each. */
#define BATON_RESERVE(items, cap, n)                                                               \
    ({                                                                                             \
        void *baton_grown_ = baton_array_grown((items), &(cap), (n), sizeof *(items));             \
        (items) = baton_grown_ ? baton_grown_ : (items);                                           \
        baton_grown_ ? BATON_OK : BATON_NO_MEMORY;                                                 \
    })

/* For BATON_RESERVE: items, or where they moved to; NULL without memory, and items stay. */
void *baton_array_grown(void *items, size_t *cap, size_t n, size_t item_bytes);

#endif
