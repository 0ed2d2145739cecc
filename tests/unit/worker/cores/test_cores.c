#include "common/base/array.h"
#include "tests/support/scratch.h"

#include <sched.h>
#include <sys/stat.h>

#include "worker/cores/cores.h"

static struct baton_why why;

static enum baton_err init(struct baton_cores *cores, const char *list, const char *lease_dir)
{
    const struct baton_cores_options options = {
        .cores = list, .lease_dir = lease_dir, .role = BATON_CORE_DECODE, .root = scratch};
    why.text[0] = 0;
    return baton_cores_init(cores, &options, &why);
}

static int n_allowed(void)
{
    cpu_set_t set;
    assert_int_equal(sched_getaffinity(0, sizeof set, &set), 0);
    return CPU_COUNT(&set);
}

TEST(all_means_all_allowed_processors_without_a_lease)
{
    struct baton_cores cores;
    assert_ok(init(&cores, "all", scratch));
    assert_int_equal(cores.n, n_allowed());
    assert_null(cores.lease);
    assert_int_equal(baton_cores_tick(&cores, 5), INT64_MAX);
    baton_cores_busy(&cores, true);
    baton_cores_fini(&cores);
}

TEST(auto_takes_a_lease_in_the_directory_it_is_given)
{
    struct baton_cores cores;
    char name[64];
    assert_ok(init(&cores, "auto", scratch));
    assert_non_null(cores.lease);
    (void)snprintf(name, sizeof name, "baton-cores-%u", (unsigned)geteuid());
    assert_int_equal(access(in_scratch(name), R_OK | W_OK), 0);
    baton_cores_fini(&cores);
}

TEST(without_a_usable_directory_auto_is_all)
{
    struct baton_cores cores;
    assert_ok(init(&cores, "auto", ""));
    assert_null(cores.lease);
    assert_ok(init(&cores, "auto", in_scratch("not there")));
    assert_null(cores.lease);
    assert_int_equal(cores.n, n_allowed());
    baton_cores_fini(&cores);
}

TEST(a_table_that_others_may_write_is_not_used)
{
    struct baton_cores cores;
    char name[64];
    (void)snprintf(name, sizeof name, "baton-cores-%u", (unsigned)geteuid());
    write_scratch(name, "");
    assert_int_equal(chmod(in_scratch(name), 0666), 0);
    assert_ok(init(&cores, "auto", scratch));
    assert_null(cores.lease);
}

TEST(a_cpu_quota_bounds_cores_and_threads)
{
    struct baton_cores cores;
    static const char *const dirs[] = {"proc", "proc/self", "sys", "sys/fs", "sys/fs/cgroup"};
    for (size_t i = 0; i < BATON_N_OF(dirs); i++)
        assert_int_equal(mkdir(in_scratch(dirs[i]), 0700), 0);
    write_scratch("proc/self/cgroup", "0::/\n");
    write_scratch("sys/fs/cgroup/cpu.max", "150000 100000\n");
    for (const char *const *how = (const char *const[]){"all", "auto", NULL}; *how; how++) {
        assert_ok(init(&cores, *how, scratch));
        assert_int_equal(cores.n, 1);
        assert_int_equal(cores.n_threads, 1);
        baton_cores_fini(&cores);
    }
}

/* Last: it leaves this process with one processor. */
TEST(a_list_is_taken)
{
    struct baton_cores cores;
    assert_ok(init(&cores, "0", scratch));
    assert_int_equal(cores.n, 1);
    assert_int_equal(n_allowed(), 1);
    assert_null(cores.lease);
    assert_true(cores.pinned);
}

TEST(a_bad_list_is_refused_with_its_text)
{
    static const char *const bad[] = {"x",  "",      "0,",  "1-0", "-1",
                                      "0-", "99999", "0 1", ",",   "automatic"};
    for (size_t i = 0; i < BATON_N_OF(bad); i++) {
        struct baton_cores cores;
        assert_int_equal(init(&cores, bad[i], scratch), BATON_INVALID);
        assert_non_null(strstr(why.text, bad[i]));
        assert_non_null(strstr(why.text, "auto, all or a list"));
    }
}

EACH_TEST(make_scratch, remove_scratch)
