#include "tests/unit/worker/kv/receive_fixture.h"

#include "common/base/random.h"

uint64_t receiver_epoch;
struct baton_kv *kv;
struct baton_seq seq;
struct baton_origin origin = {.request_id = 1, .attempt = 1};
struct baton_kv_receive receive;
struct baton_kv_receiver *receiver;
struct baton_doorbell bell;
atomic_int n_rings;
struct baton_link *link_there;
int n_complete, n_failed;

static struct mailbox acks;

static void wake(void *arg)
{
    atomic_fetch_add(&n_rings, 1);
    baton_doorbell_ring(arg);
}

static struct baton_kv_receive *find(void *arg, const baton_envelope *envelope)
{
    (void)arg;
    (void)envelope;
    return n_failed ? NULL : &receive; /* one that failed is forgotten */
}

static bool begin(void *arg, struct baton_kv_receive *begun)
{
    (void)arg;
    (void)begun;
    return true;
}

static void complete(void *arg, struct baton_kv_receive *whole)
{
    (void)arg;
    (void)whole;
    n_complete++;
}

static void failed(void *arg, struct baton_kv_receive *broken)
{
    (void)arg;
    (void)broken;
    n_failed++;
}

void receiving_open(const struct baton_kv_pool_options *pool, const struct baton_spec *spec,
                    struct baton_kv_receiver_options other, int n_positions, int n_tokens,
                    int most_tokens)
{
    const struct baton_kv_layout layout = {.spec = spec, .auto_dtype = "f32"};
    receiver_epoch = baton_random_id();
    n_complete = n_failed = 0;
    assert_ok(baton_kv_create_of(layout, pool, &kv, NULL));
    assert_ok(baton_seq_init(&seq, kv, n_positions));
    other.bulk_url = "tcp://127.0.0.1:0";
    other.epoch = receiver_epoch;
    other.kv = kv;
    other.wake = wake;
    other.wake_arg = &bell;
    other.find = find;
    other.begin = begin;
    other.complete = complete;
    other.failed = failed;
    assert_ok(baton_doorbell_init(&bell));
    assert_ok(baton_kv_receiver_create(&other, &receiver, NULL));
    assert_ok(mailbox_open(&acks, NULL, 64));
    baton_kv_receive_expect(&receive, &origin, &seq, n_tokens, most_tokens);
    link_there = mailbox_dial(&acks, baton_kv_receiver_url(receiver), SENDER, receiver_epoch, 0);
    assert_non_null(link_there);
    origin.gateway = mailbox_dial(&acks, baton_inbox_url(acks.inbox), receiver_epoch, SENDER, 0);
    assert_non_null(origin.gateway);
}

void receiving_close(void)
{
    baton_kv_receive_fini(&receive);
    baton_link_release(link_there);
    baton_link_release(origin.gateway);
    baton_kv_receiver_destroy(receiver);
    mailbox_close(&acks);
    baton_seq_fini(&seq);
    assert_true(baton_kv_is_consistent(kv));
    assert_int_equal(baton_kv_n_set_aside(kv), 0);
    baton_kv_destroy(kv);
    baton_doorbell_fini(&bell);
}

void send(baton_envelope *envelope, const void *payload, size_t n_bytes)
{
    envelope->request_id = origin.request_id;
    envelope->attempt = origin.attempt;
    assert_ok(baton_link_send(link_there, envelope, payload, n_bytes));
}

void send_begin(Baton__V1__KvBegin kv_begin)
{
    baton_envelope envelope = BATON__V1__ENVELOPE__INIT;
    struct baton_ticket ticket = baton_kv_receiver_ticket(receiver, &origin);
    kv_begin.reply_url = baton_envelope_text(baton_inbox_url(acks.inbox));
    kv_begin.block_tokens = BATON_KV_BLOCK_TOKENS;
    kv_begin.kv_dtype = baton_envelope_text(baton_kv_dtype(kv));
    kv_begin.kv_layout = baton_envelope_text(baton_kv_layout_name(kv));
    kv_begin.ticket = (ProtobufCBinaryData){sizeof ticket.bytes, ticket.bytes};
    envelope.body_case = BATON__V1__ENVELOPE__BODY_KV_BEGIN;
    envelope.kv_begin = &kv_begin;
    send(&envelope, NULL, 0);
}

void send_end(Baton__V1__KvEnd end)
{
    baton_envelope envelope = BATON__V1__ENVELOPE__INIT;
    envelope.body_case = BATON__V1__ENVELOPE__BODY_KV_END;
    envelope.kv_end = &end;
    send(&envelope, NULL, 0);
}

void await_outcome(void)
{
    int64_t until_ns = baton_now_ns() + 60 * BATON_SECOND;
    while (!n_complete && !n_failed && baton_now_ns() < until_ns) {
        baton_kv_receiver_work(receiver, baton_now_ns());
        if (!n_complete && !n_failed)
            baton_doorbell_wait(&bell, BATON_SECOND);
    }
}
