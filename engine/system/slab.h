/* Arrays in one piece of memory, each on cache lines of its own. The same calls first measure,
 * without memory, and then place.
 *
 * Pure.
 */
#ifndef BATON_ENGINE_SYSTEM_SLAB_H
#define BATON_ENGINE_SYSTEM_SLAB_H

#include <stddef.h>

enum { BATON_SLAB_LINE_BYTES = 64 };

/* Takes the next n_bytes behind the *n_taken bytes of memory that are taken; NULL without memory.
 * The sum of all must stay below SIZE_MAX. */
static inline void *baton_slab_take(char *memory, size_t *n_taken, size_t n_bytes)
{
    void *taken = memory ? memory + *n_taken : NULL;
    *n_taken +=
        (n_bytes + BATON_SLAB_LINE_BYTES - 1) / BATON_SLAB_LINE_BYTES * BATON_SLAB_LINE_BYTES;
    return taken;
}

#endif
