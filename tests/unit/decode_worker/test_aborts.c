/* 100,000 reservations that are given up at arbitrary moments, in arbitrary order, by each way a
 * request may end: the worker's blocks are its requests' all the time, and free in the end. */
#include "common/base/log.h"
#include "tests/support/worker_aborts.h"
#include "tests/unit/decode_worker/fixture.h"

enum { N_LIVE = 40 };

static struct request_params live[N_LIVE];
static int n_kinds[6]; /* also of those that got no blocks */

/* How far the gateway and the prefill worker take a request before it is given up. */
static void begin(int place)
{
    struct request_params *params = &live[place];
    int kind = draw(6);
    *params = (struct request_params){.id = (uint64_t)place + 1,
                                      .n_prompt = 1 + draw(70),
                                      .n_new = 2 + draw(40),
                                      .words = (uint64_t)draw(6),
                                      .stop = STOP_NONE,
                                      .credit = draw(3) ? 0 : 1 + (uint32_t)draw(4),
                                      .deadline_ms = draw(20) ? 0 : 1,
                                      .with_hashes = draw(2)};
    heard[params->id] = (struct heard){.n_tokens = 1}; /* say_start needs no other first token */
    n_kinds[kind]++;
    say_reserve(params);
    bool may_ship = heard[params->id].has_ticket; /* or the worker had no room */
    if (may_ship && (kind == 1 || kind == 2))
        ship_nothing(params);
    if (may_ship && kind == 2 && !draw(100))
        ship(params, 0, 2, 1); /* a second KvBegin, which loses its link */
    if (kind >= 3)
        say_prompt(params);
    if (kind >= 4)
        say_start(params);
    if (kind == 5)
        say_ack(params, 1, 100);
}

static void end(int place)
{
    say_cancel(&live[place]);
}

TEST(a_hundred_thousand_aborts_leave_no_block)
{
    assert_ok(baton_log_init("test", "error", NULL));
    worker_open(&(struct worker_options){.kv_tokens = 3000, .max_batch = 32});
    counts_alone = bulk_may_end = true;
    run_aborts(&(struct aborts){N_LIVE, begin, end}, &n_reserved);
    for (int kind = 0; kind < 6; kind++)
        assert_true(n_kinds[kind] > N_ABORTS / 10);
    assert_true(n_counted > 0); /* some came as far as to their tokens */
}

EACH_TEST(NULL, worker_end)
