#include "tests/support/worker_rig.h"

#include "tests/support/test.h"

#include "common/base/clock.h"
#include "engine/sampling/philox.h"

enum { PATIENCE_MS = 60000 };

struct baton_host host;
struct baton_host_hooks hooks;
struct baton_link *to_gateway;

void work_once(void)
{
    work_now();
    baton_doorbell_wait(&host.bell, BATON_MS);
}

void await_that(bool (*is_so)(void *arg), void *arg)
{
    for (int64_t end_ns = baton_now_ns() + PATIENCE_MS * BATON_MS; !is_so(arg);) {
        assert_true(baton_now_ns() < end_ns);
        work_once();
    }
}

struct awaited_count {
    const int *counter;
    int n;
};

static bool has_counted(void *arg)
{
    const struct awaited_count *awaited = arg;
    return *awaited->counter >= awaited->n;
}

void await(const int *counter, int n)
{
    await_that(has_counted, &(struct awaited_count){counter, n});
    assert_int_equal(*counter, n);
}

static bool is_idle(void *arg)
{
    (void)arg;
    return hooks.is_idle(hooks.arg);
}

void await_idle(void)
{
    await_that(is_idle, NULL);
}

Baton__V1__Status worker_status(void)
{
    Baton__V1__Status status = BATON__V1__STATUS__INIT;
    hooks.status(hooks.arg, &status);
    return status;
}

void check_account(void)
{
    Baton__V1__KvQuery query = BATON__V1__KV_QUERY__INIT;
    baton_envelope envelope = BATON__V1__ENVELOPE__INIT;
    struct baton_message message = {.envelope = &envelope};
    envelope.body_case = BATON__V1__ENVELOPE__BODY_KV_QUERY;
    envelope.kv_query = &query;
    hooks.from_gateway(hooks.arg, to_gateway, &message);
    assert_int_equal(worker_status().kv_account_faults, 0);
}

void deliver(uint64_t request_id, uint32_t attempt, baton_envelope *envelope)
{
    struct baton_message message = {.envelope = envelope};
    envelope->src_epoch = GATEWAY;
    envelope->request_id = request_id;
    envelope->attempt = attempt;
    hooks.from_gateway(hooks.arg, to_gateway, &message);
}

void deliver_ack(uint64_t request_id, uint32_t attempt, uint64_t next_index, uint32_t credit)
{
    Baton__V1__TokenAck ack = BATON__V1__TOKEN_ACK__INIT;
    baton_envelope envelope = BATON__V1__ENVELOPE__INIT;
    ack.next_index = next_index;
    ack.credit_tokens = credit;
    envelope.body_case = BATON__V1__ENVELOPE__BODY_TOKEN_ACK;
    envelope.token_ack = &ack;
    deliver(request_id, attempt, &envelope);
}

void deliver_cancel(uint64_t request_id, uint32_t attempt)
{
    Baton__V1__Cancel cancel = BATON__V1__CANCEL__INIT;
    baton_envelope envelope = BATON__V1__ENVELOPE__INIT;
    cancel.reason = baton_envelope_text("the test says so");
    envelope.body_case = BATON__V1__ENVELOPE__BODY_CANCEL;
    envelope.cancel = &cancel;
    deliver(request_id, attempt, &envelope);
}

void lose_gateway(void)
{
    hooks.lost(hooks.arg, GATEWAY);
}

void fill_words(uint64_t words, uint32_t *tokens, int n)
{
    for (int i = 0; i < n; i++)
        tokens[i] =
            (uint32_t)(baton_philox_uniform(words, (uint64_t)i) * (double)host.facts.n_vocab);
}
