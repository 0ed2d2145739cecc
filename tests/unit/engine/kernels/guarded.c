#include "tests/unit/engine/kernels/guarded.h"

#include "tests/support/test.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static size_t round_up(size_t n, size_t to)
{
    return (n + to - 1) / to * to;
}

static size_t page_bytes(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

/* A guard on either side of at least one page. */
static size_t mapped_bytes(size_t n_bytes)
{
    return round_up(n_bytes + 1, page_bytes()) + 3 * page_bytes();
}

void *guarded_create(size_t n_bytes, size_t alignment)
{
    size_t n_mapped = mapped_bytes(n_bytes), page = page_bytes();
    char *map = mmap(NULL, n_mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(map != MAP_FAILED);
    assert_int_equal(mprotect(map, page, PROT_NONE), 0);
    assert_int_equal(mprotect(map + n_mapped - page, page, PROT_NONE), 0);
    char *memory = map + n_mapped - page - round_up(n_bytes, alignment);
    memset(memory, 0xff, n_bytes);
    return memory;
}

void guarded_destroy(void *memory, size_t n_bytes)
{
    uintptr_t page = page_bytes(), n_mapped = mapped_bytes(n_bytes);
    uintptr_t end = round_up((uintptr_t)memory + n_bytes, page) + page;
    assert_int_equal(munmap((void *)(end - n_mapped), n_mapped), 0);
}
