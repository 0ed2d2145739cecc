#include "tests/support/test.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/base/array.h"
#include "engine/system/reserve.h"

TEST(memory_is_zero_aligned_and_all_there)
{
    static const size_t sizes[] = {1, 4096, (16 << 20) - 1, (40 << 20) + 12345};
    for (size_t i = 0; i < BATON_N_OF(sizes); i++) {
        struct baton_reserve *reserve = NULL;
        assert_ok(baton_reserve_create(sizes[i], &reserve));
        char *memory = baton_reserve_memory(reserve);
        assert_int_equal((uintptr_t)memory % (2 << 20), 0);
        for (size_t at = 0; at < sizes[i]; at += 509)
            assert_int_equal(memory[at], 0);
        memset(memory, 7, sizes[i]);
        baton_reserve_destroy(reserve);
    }
}

/* Whether memory lies behind the page; a page that nobody has touched has none. */
static bool is_there(void *page)
{
    unsigned char there = 0;
    assert_int_equal(mincore(page, 1, &there), 0);
    return there & 1;
}

TEST(nothing_is_backed_before_it_is_asked_for)
{
    struct baton_reserve *reserve = NULL;
    assert_ok(baton_reserve_create((size_t)256 << 20, &reserve));
    char *memory = baton_reserve_memory(reserve);
    assert_false(is_there(memory));
    assert_ok(baton_reserve_back(reserve, 8 << 20, 4 << 20));
    assert_true(is_there(memory + (8 << 20)));
    assert_true(is_there(memory + (12 << 20) - 4096));
    assert_false(is_there(memory + (14 << 20)));
    baton_reserve_destroy(reserve);
    baton_reserve_destroy(NULL);
}

TEST(what_is_backed_keeps_its_contents_and_what_is_given_back_is_zero)
{
    for (int is_shared = 0; is_shared < 2; is_shared++) {
        struct baton_reserve *reserve = NULL;
        const size_t n_bytes = 16 << 20;
        assert_ok(is_shared ? baton_reserve_create_shared(n_bytes, &reserve)
                            : baton_reserve_create(n_bytes, &reserve));
        char *memory = baton_reserve_memory(reserve);
        assert_ok(baton_reserve_back(reserve, 100, n_bytes - 100));
        memset(memory, 7, n_bytes);
        assert_ok(baton_reserve_back(reserve, 0, n_bytes));
        assert_int_equal(memory[n_bytes - 1], 7);
        baton_reserve_give_back(reserve, 4 << 20, 8 << 20);
        assert_int_equal(memory[(4 << 20) - 1], 7);
        for (size_t at = 4 << 20; at < 12 << 20; at += 509)
            assert_int_equal(memory[at], 0);
        assert_int_equal(memory[12 << 20], 7);
        baton_reserve_destroy(reserve);
    }
}

TEST(less_than_a_page_is_not_given_back)
{
    struct baton_reserve *reserve = NULL;
    assert_ok(baton_reserve_create(8 << 20, &reserve));
    char *memory = baton_reserve_memory(reserve);
    memset(memory, 7, 8 << 20);
    baton_reserve_give_back(reserve, 1, (4 << 20) - 2);
    assert_int_equal(memory[1], 7); /* its huge page has a byte that stays */
    assert_int_equal(memory[(4 << 20) - 2], 7);
    baton_reserve_destroy(reserve);
}

TEST(more_than_there_can_be_is_refused)
{
    struct baton_reserve *none = NULL;
    assert_int_equal(baton_reserve_create(SIZE_MAX - 5, &none), BATON_NO_MEMORY);
    assert_int_equal(baton_reserve_create((size_t)1 << 62, &none), BATON_NO_MEMORY);
    assert_null(none);
}

/* Others see what the owner writes, and can neither write nor shrink it. */
TEST(shared_memory_is_others_to_read_only)
{
    struct baton_reserve *reserve = NULL;
    const size_t n_bytes = (4 << 20) + 12;
    assert_ok(baton_reserve_create_shared(n_bytes, &reserve));
    int fd = baton_reserve_fd(reserve);
    char *memory = baton_reserve_memory(reserve);
    assert_int_equal((uintptr_t)memory % (2 << 20), 0);
    assert_true(baton_reserve_is_sealed(fd));
    assert_ptr_equal(mmap(NULL, n_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), MAP_FAILED);
    assert_int_equal(write(fd, "x", 1), -1);
    assert_int_equal(ftruncate(fd, 1), -1);
    assert_int_equal(ftruncate(fd, (off_t)n_bytes + 1), -1);
    memory[0] = 41;
    char *seen = mmap(NULL, n_bytes, PROT_READ, MAP_SHARED, fd, 0);
    assert_ptr_not_equal(seen, MAP_FAILED);
    assert_int_equal(mprotect(seen, n_bytes, PROT_READ | PROT_WRITE), -1);
    memory[n_bytes - 1] = 42;
    assert_int_equal(seen[n_bytes - 1], 42);
    baton_reserve_destroy(reserve);
    assert_int_equal(seen[n_bytes - 1], 42); /* it lasts as long as a reader */
    (void)munmap(seen, n_bytes);
}

TEST(memory_that_is_not_shared_has_no_file)
{
    struct baton_reserve *reserve = NULL;
    int fd = memfd_create("open", MFD_CLOEXEC);
    assert_ok(baton_reserve_create(4096, &reserve));
    assert_int_equal(baton_reserve_fd(reserve), -1);
    assert_false(baton_reserve_is_sealed(-1));
    assert_false(baton_reserve_is_sealed(fd));
    close(fd);
    baton_reserve_destroy(reserve);
}
