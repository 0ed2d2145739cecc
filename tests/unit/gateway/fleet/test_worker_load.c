#include "tests/support/test.h"

#include "gateway/fleet/worker_load.h"

static void add(struct gw_worker_load *load, int64_t n_requests, int64_t n_tokens, int64_t n_blocks)
{
    gw_worker_load_add(load, &(struct gw_work){n_requests, n_tokens, n_blocks});
}

static void tell(struct gw_worker_load *load, int64_t n_requests, int64_t n_tokens,
                 int64_t n_blocks)
{
    gw_worker_load_reported(load, &(struct gw_work){n_requests, n_tokens, n_blocks});
}

static void expect(const struct gw_worker_load *load, int64_t n_requests, int64_t n_tokens,
                   int64_t n_blocks)
{
    struct gw_work now = gw_worker_load_now(load);
    assert_int_equal(now.n_requests, n_requests);
    assert_int_equal(now.n_queued_tokens, n_tokens);
    assert_int_equal(now.n_blocks, n_blocks);
}

TEST(a_routed_request_counts_at_once_and_until_it_ends)
{
    struct gw_worker_load load = {0};
    expect(&load, 0, 0, 0);
    add(&load, 1, 512, 40);
    add(&load, 1, 64, 8);
    expect(&load, 2, 576, 48);
    tell(&load, 2, 576, 48);
    expect(&load, 2, 576, 48);
    add(&load, -1, -512, -40);
    expect(&load, 1, 64, 8);
}

TEST(progress_and_shared_blocks_are_learnt_from_the_worker)
{
    struct gw_worker_load load = {0};
    add(&load, 2, 1024, 80);
    tell(&load, 2, 300, 50);
    expect(&load, 2, 300, 50);
    add(&load, 1, 100, 10);
    expect(&load, 3, 400, 60);
    add(&load, -2, -1024, -80); /* more than it still told of */
    expect(&load, 1, 0, 0);
    tell(&load, 1, 100, 10);
    expect(&load, 1, 100, 10);
}

TEST(one_status_that_comes_late_adds_nothing)
{
    struct gw_worker_load load = {0};
    add(&load, 1, 512, 40);
    add(&load, -1, -512, -40);
    tell(&load, 1, 512, 40);
    expect(&load, 0, 0, 0);
    tell(&load, 0, 0, 0);
    expect(&load, 0, 0, 0);
}

TEST(the_work_of_others_counts_once_it_was_told_twice)
{
    struct gw_worker_load load = {0};
    tell(&load, 3, 700, 90);
    tell(&load, 2, 800, 90);
    expect(&load, 2, 700, 90);
    add(&load, 1, 10, 5);
    expect(&load, 3, 710, 95);
    tell(&load, 3, 810, 95);
    expect(&load, 3, 810, 95);
    tell(&load, 1, 10, 5);
    expect(&load, 1, 10, 5);
}
