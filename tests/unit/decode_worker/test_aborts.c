/* 100,000 reservations that are given up at arbitrary moments, in arbitrary order, by each way a request
 * may end: the worker's blocks are its requests' all the time, and free in the end. */
#include "common/base/log.h"
#include "common/sampling/philox.h"
#include "tests/unit/decode_worker/fixture.h"

enum { N_ABORTS = 100000, N_LIVE = 40, CHECK_EVERY = 500 };

static struct request_params live[N_LIVE];
static uint64_t n_drawn;
static int n_aborts, n_kinds[6]; /* also of those that got no blocks */

static int draw(int n)
{
    return (int)(baton_philox_uniform(5, n_drawn++) * n);
}

/* How far the gateway and the prefill worker take a request before it is given up. */
static void begin(struct request_params *params, int index)
{
    int kind = draw(6);
    *params = (struct request_params){.id = (uint64_t)index + 1,
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

static void end(struct request_params *params)
{
    say_cancel(params);
    params->id = 0;
    n_aborts++;
}

static void end_all(void)
{
    for (int i = 0; i < N_LIVE; i++)
        if (live[i].id)
            end(&live[i]);
}

static void act(void)
{
    int index = draw(N_LIVE);
    if (!live[index].id)
        begin(&live[index], index);
    else if (draw(1000))
        end(&live[index]);
    else {
        lose_gateway();
        end_all();
    }
    if (draw(3))
        work_now();
}

TEST(a_hundred_thousand_aborts_leave_no_block)
{
    assert_int_equal(baton_log_init("test", "error", NULL), BATON_OK);
    worker_open(&(struct worker_options){.kv_tokens = 3000, .max_batch = 32});
    counts_alone = bulk_may_end = true;
    for (int checked = 0; n_reserved < N_ABORTS;) {
        act();
        if (n_aborts - checked >= CHECK_EVERY) {
            checked = n_aborts;
            check_account();
        }
    }
    end_all();
    for (int kind = 0; kind < 6; kind++)
        assert_true(n_kinds[kind] > N_ABORTS / 10);
    assert_true(n_counted > 0); /* some came as far as to their tokens */
    worker_close();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_hundred_thousand_aborts_leave_no_block),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
