#include "tests/support/allocations.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

static atomic_long n_allocations;

#if defined(__has_feature)
#define HAS_FEATURE(name) __has_feature(name)
#else
#define HAS_FEATURE(name) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) ||                               \
    HAS_FEATURE(address_sanitizer) || HAS_FEATURE(thread_sanitizer)

/* Declared in sanitizer/allocator_interface.h, which GCC does not install. */
int __sanitizer_install_malloc_and_free_hooks(void (*on_malloc)(const volatile void *, size_t),
                                              void (*on_free)(const volatile void *));

static void count_allocation(const volatile void *memory, size_t n_bytes)
{
    (void)memory;
    (void)n_bytes;
    atomic_fetch_add(&n_allocations, 1);
}

static void ignore_free(const volatile void *memory)
{
    (void)memory;
}

int allocations_start(void **state)
{
    (void)state;
    return __sanitizer_install_malloc_and_free_hooks(count_allocation, ignore_free) ? 0 : -1;
}

#else

/* glibc's own, under the names it keeps for programs that replace them. */
void *__libc_malloc(size_t n_bytes);
void *__libc_calloc(size_t n, size_t n_bytes);
void *__libc_realloc(void *memory, size_t n_bytes);
void *__libc_memalign(size_t alignment, size_t n_bytes);

void *malloc(size_t n_bytes)
{
    atomic_fetch_add(&n_allocations, 1);
    return __libc_malloc(n_bytes);
}

void *calloc(size_t n, size_t n_bytes)
{
    atomic_fetch_add(&n_allocations, 1);
    return __libc_calloc(n, n_bytes);
}

void *realloc(void *memory, size_t n_bytes)
{
    atomic_fetch_add(&n_allocations, 1);
    return __libc_realloc(memory, n_bytes);
}

void *aligned_alloc(size_t alignment, size_t n_bytes)
{
    atomic_fetch_add(&n_allocations, 1);
    return __libc_memalign(alignment, n_bytes);
}

int posix_memalign(void **memory, size_t alignment, size_t n_bytes)
{
    *memory = aligned_alloc(alignment, n_bytes);
    return *memory ? 0 : 12; /* ENOMEM */
}

int allocations_start(void **state)
{
    (void)state;
    return 0;
}

#endif

long allocations_count(void)
{
    return atomic_load(&n_allocations);
}
