/* CPU quotas of control groups, by files as the kernel writes them. */
#include <sys/stat.h>

#include "common/base/array.h"
#include "tests/support/scratch.h"

#include "common/base/os/cpu_quota.h"

/* A machine whose groups lie under mount, the process's in GROUPS as /proc/self/cgroup has it. */
static void make_machine(const char *groups, const char *mount)
{
    static const char *const dirs[] = {"proc", "proc/self", "sys", "sys/fs", "sys/fs/cgroup"};
    char path[256];
    for (size_t i = 0; i < BATON_N_OF(dirs); i++)
        assert_int_equal(mkdir(in_scratch(dirs[i]), 0700), 0);
    for (const char *const *level = (const char *const[]){"", "/a", "/a/b", NULL}; *level;
         level++) {
        (void)snprintf(path, sizeof path, "sys/fs/cgroup%s%s", mount, *level);
        assert_true(!mkdir(in_scratch(path), 0700) || !**level);
    }
    write_scratch("proc/self/cgroup", groups);
}

static struct baton_cpu_quota get(void)
{
    struct baton_cpu_quota quota;
    baton_cpu_quota_get_under(scratch, &quota);
    return quota;
}

static void assert_quota(double cores, const char *dir)
{
    struct baton_cpu_quota quota = get();
    struct stat info;
    assert_true(quota.cores == cores);
    assert_int_equal(stat(in_scratch(dir), &info), 0);
    assert_int_equal(quota.group, info.st_ino);
}

TEST(where_nothing_tells_there_is_no_quota)
{
    assert_true(get().cores == 0);
    make_machine("0::/a/b\n", "");
    assert_true(get().cores == 0);
}

TEST(the_second_version_names_quota_and_period)
{
    make_machine("0::/a/b\n", "");
    write_scratch("sys/fs/cgroup/a/b/cpu.max", "150000 100000\n");
    assert_quota(1.5, "sys/fs/cgroup/a/b");
    write_scratch("sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
    assert_true(get().cores == 0);
}

TEST(the_first_version_has_a_file_for_each)
{
    make_machine("7:cpuset:/\n6:cpuacct:/\n5:cpu:/a/b\n", "/cpu");
    write_scratch("sys/fs/cgroup/cpu/a/b/cpu.cfs_quota_us", "-1\n");
    write_scratch("sys/fs/cgroup/cpu/a/b/cpu.cfs_period_us", "50000\n");
    assert_true(get().cores == 0);
    write_scratch("sys/fs/cgroup/cpu/a/b/cpu.cfs_quota_us", "100000\n");
    assert_quota(2, "sys/fs/cgroup/cpu/a/b");
}

TEST(controllers_that_are_mounted_together_are_found_without_a_link)
{
    make_machine("5:cpu,cpuacct:/a\n", "/cpu,cpuacct");
    write_scratch("sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "300000\n");
    write_scratch("sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us", "100000\n");
    assert_quota(3, "sys/fs/cgroup/cpu,cpuacct/a");
}

TEST(controllers_with_longer_names_are_others)
{
    make_machine("6:cpuacct:/a\n5:cpuset:/a\n4:cpu:/\n", "/cpu");
    write_scratch("sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "300000\n");
    write_scratch("sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000\n");
    assert_true(get().cores == 0);
}

TEST(the_tightest_level_holds)
{
    make_machine("0::/a/b\n", "");
    write_scratch("sys/fs/cgroup/a/b/cpu.max", "400000 100000\n");
    write_scratch("sys/fs/cgroup/a/cpu.max", "25000 10000\n");
    assert_quota(2.5, "sys/fs/cgroup/a");
}

TEST(in_a_container_the_mounted_root_is_the_group)
{
    make_machine("0::/of/the/host\n", "");
    write_scratch("sys/fs/cgroup/cpu.max", "50000 100000\n");
    assert_quota(0.5, "sys/fs/cgroup");
}

TEST_ALONE(whole_cores_are_used_and_at_least_one)
{
    struct baton_cpu_quota quota = {0};
    assert_int_equal(baton_cpu_quota_cores(&quota, 8), 8);
    quota.cores = 0.2;
    assert_int_equal(baton_cpu_quota_cores(&quota, 8), 1);
    quota.cores = 1.99;
    assert_int_equal(baton_cpu_quota_cores(&quota, 8), 1);
    quota.cores = 3;
    assert_int_equal(baton_cpu_quota_cores(&quota, 8), 3);
    assert_int_equal(baton_cpu_quota_cores(&quota, 2), 2);
}

EACH_TEST(make_scratch, remove_scratch)
