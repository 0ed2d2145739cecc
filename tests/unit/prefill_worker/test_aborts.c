/* 100,000 prompts that are given up at arbitrary moments, in arbitrary order, by each way a prompt
 * may end: the worker's blocks are its jobs' all the time, and free in the end. */
#include "tests/support/test.h"

#include "common/base/log.h"
#include "common/sampling/philox.h"
#include "tests/unit/prefill_worker/fixture.h"

enum { N_ABORTS = 100000, N_LIVE = 24, CHECK_EVERY = 500 };

static struct request_params live[N_LIVE];
static uint64_t n_drawn;
static uint64_t last_id = MAX_REQUESTS;
static uint32_t n_attempts;
static int n_aborts;

static int draw(int n)
{
    return (int)(baton_philox_uniform(5, n_drawn++) * n);
}

static void begin(struct request_params *params, int index)
{
    bool naive = !draw(5);
    bool delivers = !naive && draw(3);
    /* One without a hand-off has an id of its own: the one before may still be in the engine. One
     * with it is a further attempt: chunks of the one before may still be under way. */
    *params = (struct request_params){.id = delivers ? (uint64_t)index + 1 : ++last_id,
                                      .attempt = ++n_attempts,
                                      .n_prompt = naive ? 1 + draw(20) : 1 + draw(150),
                                      .n_new = 1 + draw(10),
                                      .words = (uint64_t)draw(6),
                                      .hashes = draw(2) ? OUR_HASHES : NO_HASHES,
                                      .naive = naive,
                                      .delivers = delivers,
                                      .prompt_logprobs = !naive && !draw(10),
                                      .credit = naive ? 1 + (uint32_t)draw(4) : 0,
                                      .deadline_ms = draw(20) ? 0 : 1};
    if (delivers)
        drop_context(params->id);
    say_prompt(params);
    if (naive && draw(2))
        say_ack(params, 1, 10);
}

static void end(struct request_params *params)
{
    say_cancel(params);
    if (params->delivers && draw(2))
        drop_context(params->id);
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

/* Whoever still comes is served: a context for the decode worker. Tokens of aborted prompts, which the
 * gateway may still hear, are no measure. */
static void finish_one(void)
{
    struct request_params params = {
        .id = N_LIVE + 1, .attempt = ++n_attempts, .n_prompt = 20, .n_new = 4, .delivers = true};
    await_idle();
    for (uint64_t id = 1; id <= N_LIVE; id++)
        drop_context(id);
    int n_contexts = n_received;
    say_prompt(&params);
    await(&n_received, n_contexts + 1);
}

TEST(a_hundred_thousand_aborts_leave_no_block)
{
    assert_int_equal(baton_log_init("test", "error", NULL), BATON_OK);
    worker_open(&(struct worker_options){.kv_tokens = 2048, .overlap = BATON_OVERLAP_ON});
    counts_alone = true;
    for (int checked = 0; n_aborts < N_ABORTS;) {
        act();
        if (n_aborts - checked >= CHECK_EVERY) {
            checked = n_aborts;
            check_account();
        }
    }
    end_all();
    finish_one();
    worker_close();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_hundred_thousand_aborts_leave_no_block),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
