/* The memory left, from files in the kernel's format. */
#include <sys/stat.h>

#include "common/base/array.h"
#include "tests/support/scratch.h"

#include "common/base/os/memory.h"

static void make_dirs(const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        assert_int_equal(mkdir(in_scratch(names[i]), 0700), 0);
}

/* A machine with 1 MiB left; its process is in the group /a/b. */
static void make_machine(const char *groups)
{
    static const char *const dirs[] = {"proc",
                                       "proc/self",
                                       "sys",
                                       "sys/fs",
                                       "sys/fs/cgroup",
                                       "sys/fs/cgroup/a",
                                       "sys/fs/cgroup/a/b",
                                       "sys/fs/cgroup/memory",
                                       "sys/fs/cgroup/memory/a"};
    make_dirs(dirs, BATON_N_OF(dirs));
    write_scratch("proc/meminfo", "MemTotal:  4096 kB\nMemFree:  10 kB\nMemAvailable:  1024 kB\n");
    write_scratch("proc/self/cgroup", groups);
}

static struct baton_memory_left left;

static uint64_t available(void)
{
    baton_memory_left_under(scratch, &left);
    return left.bytes;
}

static uint64_t own_left(void)
{
    baton_memory_left(&left);
    return left.bytes;
}

static void assert_decides(const char *dir, const char *mib)
{
    struct stat info;
    assert_int_equal(stat(in_scratch(dir), &info), 0);
    assert_int_equal(left.group, info.st_ino);
    assert_ptr_equal(strstr(left.limit, mib), left.limit);
    assert_non_null(strstr(left.limit, dir));
}

TEST(without_limits_it_is_what_the_kernel_estimates)
{
    make_machine("0::/a/b\n");
    assert_int_equal(available(), 1 << 20);
    assert_string_equal(left.limit, "the machine");
    assert_int_equal(left.group, 0);
}

TEST(where_nothing_tells_there_is_no_limit)
{
    assert_true(available() == UINT64_MAX);
}

TEST(a_groups_limit_counts_and_its_page_cache_does_not)
{
    make_machine("0::/a/b\n");
    write_scratch("sys/fs/cgroup/a/b/memory.max", "600000\n");
    write_scratch("sys/fs/cgroup/a/b/memory.current", "500000\n");
    write_scratch("sys/fs/cgroup/a/b/memory.stat",
                  "anon 7\nfile 300000\ninactive_file 100000\nactive_file 200000\n");
    assert_int_equal(available(), 400000);
    write_scratch("sys/fs/cgroup/a/b/memory.max", "max\n");
    assert_int_equal(available(), 1 << 20);
}

TEST(the_tightest_of_the_groups_around_decides)
{
    make_machine("0::/a/b\n");
    write_scratch("sys/fs/cgroup/a/b/memory.max", "600000\n");
    write_scratch("sys/fs/cgroup/a/b/memory.current", "100000\n");
    write_scratch("sys/fs/cgroup/a/memory.max", "700000\n");
    write_scratch("sys/fs/cgroup/a/memory.current", "690000\n");
    assert_int_equal(available(), 10000);
    assert_decides("sys/fs/cgroup/a", "0 MiB of ");
}

TEST(in_a_container_the_mounted_root_is_the_group)
{
    make_machine("0::/of/the/host\n");
    write_scratch("sys/fs/cgroup/memory.max", "5000\n");
    write_scratch("sys/fs/cgroup/memory.current", "6000\n");
    assert_int_equal(available(), 0);
}

TEST(the_first_version_of_groups_is_read_as_well)
{
    make_machine("7:cpu,cpuacct:/a\n5:memory:/a\n0::/\n");
    write_scratch("sys/fs/cgroup/memory/a/memory.limit_in_bytes", "300000\n");
    write_scratch("sys/fs/cgroup/memory/a/memory.usage_in_bytes", "200000\n");
    write_scratch("sys/fs/cgroup/memory/a/memory.stat",
                  "inactive_file 1\ntotal_inactive_file 50000\ntotal_active_file 20000\n");
    assert_int_equal(available(), 170000);
    assert_decides("sys/fs/cgroup/memory/a", "0 MiB of ");
}

TEST_ALONE(this_machine_has_some)
{
    assert_true(own_left() > 0);
}

EACH_TEST(make_scratch, remove_scratch)
