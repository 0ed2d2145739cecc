#include "tests/support/test.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
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

/* Reads a short file of a thread of this process; false when the thread is gone. */
static bool read_of_thread(const char *thread, const char *name, char *text, int size)
{
    char path[300];
    (void)snprintf(path, sizeof path, "/proc/self/task/%s/%s", thread, name);
    FILE *file = fopen(path, "r");
    bool is_read = file && fgets(text, size, file);
    if (file)
        (void)fclose(file);
    return is_read;
}

/* The thread's id; 0 while it has not said its name. */
static int find_backing_thread(void)
{
    char name[64];
    int id = 0;
    DIR *threads = opendir("/proc/self/task");
    assert_non_null(threads);
    for (struct dirent *entry; !id && (entry = readdir(threads));)
        if (read_of_thread(entry->d_name, "comm", name, sizeof name) &&
            !strcmp(name, "baton-kv-back\n"))
            id = atoi(entry->d_name);
    (void)closedir(threads);
    return id;
}

/* A thread of low priority would hold the lock of the address space while it is preempted, and
 * every thread that touches a page or maps memory would wait for it. */
TEST(it_is_backed_at_the_priority_of_all_others)
{
    struct baton_reserve *reserve = NULL;
    const size_t n_bytes = (size_t)4 << 30;
    int id;
    assert_ok(baton_reserve_create(n_bytes, &reserve));
    while (!(id = find_backing_thread()))
        ;
    while (id && baton_reserve_unbacked_bytes(reserve) == n_bytes)
        id = find_backing_thread();
    if (id) /* otherwise the kernel is older than what the thread asks for */
        assert_int_equal(getpriority(PRIO_PROCESS, (id_t)id), getpriority(PRIO_PROCESS, 0));
    baton_reserve_destroy(reserve);
}

TEST(it_can_go_while_it_is_being_backed)
{
    for (int i = 0; i < 20; i++) {
        struct baton_reserve *reserve = NULL;
        assert_ok(baton_reserve_create((size_t)256 << 20, &reserve));
        ((char *)baton_reserve_memory(reserve))[(size_t)255 << 20] = 1;
        baton_reserve_destroy(reserve);
    }
    baton_reserve_destroy(NULL);
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
    (void)madvise(memory, 4096, MADV_REMOVE); /* its own holes neither; emulators say they did */
    assert_int_equal(memory[0], 41);
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
