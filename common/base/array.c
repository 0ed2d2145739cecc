#include "common/base/array.h"

#include <stdlib.h>

enum { FIRST_CAP = 16 };

void *baton_array_grown(void *items, size_t *cap, size_t n, size_t item_bytes)
{
    size_t next = *cap > FIRST_CAP / 2 ? 0 : FIRST_CAP, n_bytes;
    if (items && n <= *cap)
        return items;
    if (!next && __builtin_mul_overflow(*cap, 2, &next))
        return NULL;
    if (next < n)
        next = n;
    if (__builtin_mul_overflow(next, item_bytes, &n_bytes))
        return NULL;
    void *grown = realloc(items, n_bytes);
    if (grown)
        *cap = next;
    return grown;
}
