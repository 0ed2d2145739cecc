/* 100,000 prompts that are given up at arbitrary moments, in arbitrary order, by each way a prompt
 * may end: the worker's blocks are its jobs' all the time, and free in the end. */
#include "tests/support/test.h"

#include "common/base/log.h"
#include "tests/support/worker_aborts.h"
#include "tests/unit/prefill_worker/fixture.h"

enum { N_LIVE = 24 };

static struct request_params live[N_LIVE];
static uint64_t last_id = MAX_REQUESTS;
static uint32_t n_attempts;

static void begin(int place)
{
    struct request_params *params = &live[place];
    bool naive = !draw(5);
    bool delivers = !naive && draw(3);
    /* One without a hand-off has an id of its own: the one before may still be in the engine. One
     * with it is a further attempt: chunks of the one before may still be under way. */
    *params = (struct request_params){.id = delivers ? (uint64_t)place + 1 : ++last_id,
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

static void end(int place)
{
    const struct request_params *params = &live[place];
    say_cancel(params);
    if (params->delivers && draw(2))
        drop_context(params->id);
}

/* Whoever still comes is served: a context for the decode worker. Tokens of aborted prompts, which
 * the gateway may still hear, are no measure. */
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
    assert_ok(baton_log_init("test", "error", NULL));
    worker_open(&(struct worker_options){.kv_tokens = 2048, .overlap = BATON_OVERLAP_ON});
    counts_alone = true;
    run_aborts(&(struct aborts){N_LIVE, begin, end}, NULL);
    finish_one();
}

EACH_TEST(NULL, worker_end)
