#include "engine/system/floats.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { CACHE_LINE_BYTES = 64, HUGE_PAGE_BYTES = 2 << 20 };

float *baton_floats_create(size_t n)
{
    size_t n_bytes;
    void *memory = NULL;
    if (__builtin_mul_overflow(n, sizeof(float), &n_bytes))
        return NULL;
    size_t alignment = n_bytes >= HUGE_PAGE_BYTES ? HUGE_PAGE_BYTES : CACHE_LINE_BYTES;
    if (posix_memalign(&memory, alignment, n_bytes ? n_bytes : 1))
        return NULL;
    if (n_bytes >= HUGE_PAGE_BYTES)
        (void)madvise(memory, n_bytes, MADV_HUGEPAGE); /* only a hint */
    memset(memory, 0, n_bytes); /* also faults every page in, now and not in the first forward */
    return memory;
}
