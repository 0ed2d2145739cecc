#include "tests/support/scratch.h"

#include <signal.h>
#include <sys/wait.h>

#include "common/base/clock.h"
#include "worker/cores/lease.h"

/* Processors of these numbers need not exist: the lease only divides them. */
static cpu_set_t allowed;
static struct baton_cpu_quota quota;
static const char *path;

SETUP(set_up)
{
    CPU_ZERO(&allowed);
    quota = (struct baton_cpu_quota){0};
    CPU_SET(2, &allowed);
    CPU_SET(5, &allowed);
    assert_false(make_scratch(NULL));
    path = in_scratch("table");
}

static struct baton_core_lease *open_lease(enum baton_core_role role)
{
    struct baton_core_lease *lease;
    struct baton_why why = {""};
    if (baton_core_lease_open(path, role, &allowed, &quota, &lease, &why))
        fail_msg("%s", why.text);
    return lease;
}

static void assert_share(struct baton_core_lease *lease, int n, int first, int second)
{
    struct baton_share share = {0};
    assert_true(baton_core_lease_share(lease, &share));
    assert_int_equal(share.n, n);
    assert_int_equal(share.processors[0], first);
    if (n == 2)
        assert_int_equal(share.processors[1], second);
    assert_false(baton_core_lease_share(lease, &share));
}

static void assert_unchanged(struct baton_core_lease *lease)
{
    struct baton_share share;
    assert_false(baton_core_lease_share(lease, &share));
}

TEST(a_busy_worker_has_the_cores_of_an_idle_one)
{
    struct baton_core_lease *decode = open_lease(BATON_CORE_DECODE),
                            *prefill = open_lease(BATON_CORE_PREFILL);
    baton_core_lease_busy(decode, true);
    assert_share(decode, 2, 5, 2);
    baton_core_lease_busy(prefill, true);
    assert_share(decode, 1, 5, 0);
    assert_share(prefill, 1, 2, 0);
    baton_core_lease_busy(decode, false);
    assert_share(prefill, 2, 2, 5);
    baton_core_lease_busy(prefill, false);
    baton_core_lease_close(prefill);
    baton_core_lease_busy(decode, true);
    assert_share(decode, 2, 2, 5);
    baton_core_lease_close(decode);
}

static void assert_floating(struct baton_core_lease *lease, int n)
{
    struct baton_share share = {0};
    assert_true(baton_core_lease_share(lease, &share));
    assert_int_equal(share.n, n);
    assert_null(share.processors);
}

TEST(under_a_quota_workers_share_its_whole_cores_and_no_processors)
{
    for (int cpu = 8; cpu < 12; cpu++)
        CPU_SET((size_t)cpu, &allowed);
    quota = (struct baton_cpu_quota){.cores = 3.9, .group = 7};
    struct baton_core_lease *decode = open_lease(BATON_CORE_DECODE),
                            *prefill = open_lease(BATON_CORE_PREFILL);
    baton_core_lease_busy(decode, true);
    assert_floating(decode, 3);
    baton_core_lease_busy(prefill, true);
    assert_floating(decode, 1);
    assert_floating(prefill, 2);
    quota.group = 8; /* another container, which shares the table */
    struct baton_core_lease *stranger = open_lease(BATON_CORE_DECODE);
    baton_core_lease_busy(stranger, true);
    assert_floating(stranger, 3);
    assert_unchanged(decode);
    baton_core_lease_close(stranger);
    baton_core_lease_close(prefill);
    baton_core_lease_close(decode);
}

TEST(a_quota_of_every_processor_is_none)
{
    quota = (struct baton_cpu_quota){.cores = 2, .group = 7};
    struct baton_core_lease *decode = open_lease(BATON_CORE_DECODE);
    baton_core_lease_busy(decode, true);
    assert_share(decode, 2, 2, 5);
    baton_core_lease_close(decode);
}

TEST(workers_of_other_processors_are_strangers)
{
    struct baton_core_lease *prefill = open_lease(BATON_CORE_PREFILL);
    CPU_SET(7, &allowed);
    struct baton_core_lease *decode = open_lease(BATON_CORE_DECODE);
    baton_core_lease_busy(prefill, true);
    assert_share(prefill, 2, 2, 5);
    baton_core_lease_busy(decode, true);
    assert_unchanged(prefill);
    baton_core_lease_close(decode);
    baton_core_lease_close(prefill);
}

/* A process that is busy until it is killed, and does not beat. */
static pid_t start_busy_prefill(void)
{
    int ready[2];
    char byte = 0;
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    if (!pid) {
        struct baton_core_lease *lease = open_lease(BATON_CORE_PREFILL);
        baton_core_lease_busy(lease, true);
        if (write(ready[1], &byte, 1) != 1)
            _exit(1);
        for (;;)
            (void)pause();
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
    return pid;
}

static void end(pid_t pid)
{
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

TEST(a_killed_worker_gives_its_cores_back)
{
    pid_t pid = start_busy_prefill();
    struct baton_core_lease *decode = open_lease(BATON_CORE_DECODE);
    baton_core_lease_busy(decode, true);
    assert_share(decode, 1, 5, 0);
    int64_t now_ns = baton_now_ns(), next_ns = baton_core_lease_tick(decode, now_ns);
    assert_in_range(next_ns - now_ns, 1, 100 * BATON_MS);
    assert_unchanged(decode);
    end(pid);
    assert_int_equal(baton_core_lease_tick(decode, now_ns + BATON_MS), next_ns);
    assert_unchanged(decode); /* it is not time to look yet */
    (void)baton_core_lease_tick(decode, next_ns);
    assert_share(decode, 2, 2, 5); /* with its home: it is alone now */
    baton_core_lease_close(decode);
}

TEST(a_silent_worker_loses_its_cores_until_it_beats_again)
{
    pid_t pid = start_busy_prefill();
    struct baton_core_lease *decode = open_lease(BATON_CORE_DECODE);
    baton_core_lease_busy(decode, true);
    int64_t now_ns = baton_now_ns();
    for (int i = 0; i < 9; i++, now_ns += 100 * BATON_MS)
        (void)baton_core_lease_tick(decode, now_ns);
    assert_share(decode, 1, 5, 0);
    for (int i = 0; i < 3; i++, now_ns += 100 * BATON_MS)
        (void)baton_core_lease_tick(decode, now_ns);
    assert_share(decode, 2, 5, 2);
    end(pid);
    baton_core_lease_close(decode);
}

TEST(a_worker_that_was_silent_comes_back_with_its_next_beat)
{
    struct baton_share share;
    struct baton_core_lease *decode = open_lease(BATON_CORE_DECODE),
                            *prefill = open_lease(BATON_CORE_PREFILL);
    baton_core_lease_busy(decode, true);
    baton_core_lease_busy(prefill, true);
    for (int64_t now_ns = BATON_SECOND; now_ns < 3 * BATON_SECOND; now_ns += 100 * BATON_MS)
        (void)baton_core_lease_tick(decode, now_ns);
    assert_share(decode, 2, 5, 2);
    (void)baton_core_lease_tick(prefill, BATON_SECOND);
    assert_share(decode, 1, 5, 0);
    assert_true(baton_core_lease_share(prefill, &share));
    assert_int_equal(share.n, 1);
    baton_core_lease_close(prefill);
    baton_core_lease_close(decode);
}

TEST(coming_back_waits_for_the_handover_but_not_long)
{
    struct baton_core_lease *decode = open_lease(BATON_CORE_DECODE),
                            *prefill = open_lease(BATON_CORE_PREFILL);
    baton_core_lease_busy(decode, true);
    assert_share(decode, 2, 5, 2);
    int64_t begin_ns = baton_now_ns();
    baton_core_lease_busy(prefill, true); /* decode, on this very thread, cannot take note */
    assert_true(baton_now_ns() - begin_ns >= BATON_CORE_HANDOVER_US * BATON_MS / 1000);
    baton_core_lease_close(prefill);
    baton_core_lease_close(decode);
}

EACH_TEST(set_up, remove_scratch)
