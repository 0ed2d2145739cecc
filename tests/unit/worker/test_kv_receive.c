/* How much of a context is taken at a time, when all of it is there. */
#include "tests/support/test.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "common/base/clock.h"
#include "common/worker/kv_receive.h"
#include "tests/support/mailbox.h"

/* A block of the one layer is a message of 512 KiB. */
enum { N_BLOCKS = 8, N_KV_HEADS = 32, HEAD_DIM = 128, N_TOKENS = N_BLOCKS * BATON_KV_BLOCK_TOKENS };
enum { SENDER = 11, RECEIVER = 22 };

static const struct baton_spec spec = {
    .n_layers = 1, .layers = {{.n_kv_heads = N_KV_HEADS, .head_dim = HEAD_DIM, .kv_from = 0}}};

static struct baton_kv *kv;
static struct baton_seq seq;
static struct baton_origin origin = {.request_id = 1, .attempt = 1};
static struct baton_kv_receive receive;
static struct baton_kv_receiver *receiver;
static struct baton_doorbell bell;
static atomic_int n_rings; /* one or more for each message */
static struct mailbox acks;
static struct baton_link *link_there;
static bool is_complete;

static void wake(void *arg)
{
    atomic_fetch_add(&n_rings, 1);
    baton_doorbell_ring(arg);
}

static struct baton_kv_receive *find(void *arg, const baton_envelope *envelope)
{
    (void)arg;
    (void)envelope;
    return &receive;
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
    is_complete = true;
}

static void failed(void *arg, struct baton_kv_receive *broken)
{
    (void)arg;
    (void)broken;
    fail_msg("the transfer failed");
}

SETUP(set_up)
{
    const struct baton_kv_receiver_options options = {.bulk_url = "tcp://127.0.0.1:0",
                                                      .epoch = RECEIVER,
                                                      .wake = wake,
                                                      .wake_arg = &bell,
                                                      .find = find,
                                                      .begin = begin,
                                                      .complete = complete,
                                                      .failed = failed};
    const struct baton_kv_layout layout = {.spec = &spec, .auto_dtype = "f32"};
    assert_int_equal(baton_doorbell_init(&bell), BATON_OK);
    assert_int_equal(baton_kv_create(layout, "f32", N_BLOCKS, &kv, NULL), BATON_OK);
    assert_int_equal(baton_seq_init(&seq, kv, N_TOKENS), BATON_OK);
    assert_int_equal(baton_kv_receiver_create(&options, &receiver, NULL), BATON_OK);
    assert_int_equal(mailbox_open(&acks, NULL, 64), BATON_OK);
    baton_kv_receive_expect(&receive, &origin, &seq, N_TOKENS, 0);
    link_there = mailbox_dial(&acks, baton_kv_receiver_url(receiver), SENDER, RECEIVER, 0);
    assert_non_null(link_there);
    return 0;
}

TEARDOWN(tear_down)
{
    baton_kv_receive_fini(&receive);
    baton_link_release(link_there);
    baton_kv_receiver_destroy(receiver);
    mailbox_close(&acks);
    baton_seq_fini(&seq);
    baton_kv_destroy(kv);
    baton_doorbell_fini(&bell);
    return 0;
}

static void send(baton_envelope *envelope, const void *payload, size_t n_bytes)
{
    envelope->request_id = origin.request_id;
    envelope->attempt = origin.attempt;
    assert_int_equal(baton_link_send(link_there, envelope, payload, n_bytes), BATON_OK);
}

static void send_begin(void)
{
    Baton__V1__KvBegin kv_begin = BATON__V1__KV_BEGIN__INIT;
    baton_envelope envelope = BATON__V1__ENVELOPE__INIT;
    struct baton_ticket ticket = baton_kv_receiver_ticket(receiver, &origin);
    kv_begin.reply_url = baton_envelope_text(baton_inbox_url(acks.inbox));
    kv_begin.n_layers = 1;
    kv_begin.n_tokens = N_TOKENS;
    kv_begin.block_tokens = BATON_KV_BLOCK_TOKENS;
    kv_begin.total_bytes = N_BLOCKS * baton_kv_all_block_bytes(kv);
    kv_begin.kv_dtype = baton_envelope_text(baton_kv_dtype(kv));
    kv_begin.kv_layout = baton_envelope_text(baton_kv_layout_name(kv));
    kv_begin.ticket = (ProtobufCBinaryData){sizeof ticket.bytes, ticket.bytes};
    envelope.body_case = BATON__V1__ENVELOPE__BODY_KV_BEGIN;
    envelope.kv_begin = &kv_begin;
    send(&envelope, NULL, 0);
}

static void send_blocks_and_end(void)
{
    Baton__V1__KvChunk chunk = BATON__V1__KV_CHUNK__INIT;
    Baton__V1__KvEnd end = BATON__V1__KV_END__INIT;
    baton_envelope envelope = BATON__V1__ENVELOPE__INIT;
    size_t n_bytes = baton_kv_block_bytes(kv, 0);
    void *payload = calloc(1, n_bytes);
    assert_non_null(payload);
    envelope.body_case = BATON__V1__ENVELOPE__BODY_KV_CHUNK;
    envelope.kv_chunk = &chunk;
    chunk.n_blocks = 1;
    for (; chunk.first_block < N_BLOCKS; chunk.first_block++) {
        chunk.offset = chunk.first_block * n_bytes;
        send(&envelope, payload, n_bytes);
    }
    free(payload);
    end.total_bytes = N_BLOCKS * n_bytes;
    end.n_chunks = N_BLOCKS;
    envelope.body_case = BATON__V1__ENVELOPE__BODY_KV_END;
    envelope.kv_end = &end;
    send(&envelope, NULL, 0);
}

/* Until so many rings came. */
static void await_rings(int n)
{
    int64_t until_ns = baton_now_ns() + 60 * BATON_SECOND;
    while (atomic_load(&n_rings) < n && baton_now_ns() < until_ns)
        baton_doorbell_wait(&bell, BATON_SECOND);
    assert_true(atomic_load(&n_rings) >= n);
}

static void await_begun(void)
{
    int64_t until_ns = baton_now_ns() + 60 * BATON_SECOND;
    while (receive.state == BATON_KV_RECEIVE_EXPECTED && baton_now_ns() < until_ns) {
        baton_kv_receiver_work(receiver, baton_now_ns());
        baton_doorbell_wait(&bell, BATON_SECOND);
    }
    assert_int_equal(receive.state, BATON_KV_RECEIVE_RECEIVING);
}

/* Gateways' messages wait while contexts are copied. One ring may be the link's, not a message's:
 * all messages but one are there before the first turn. */
TEST(a_context_that_is_all_there_is_taken_in_turns)
{
    uint64_t most = BATON_KV_RECEIVE_TURN_BYTES + baton_kv_block_bytes(kv, 0);
    send_begin();
    await_begun();
    atomic_store(&n_rings, 0);
    send_blocks_and_end();
    await_rings(N_BLOCKS + 1);
    while (!is_complete) {
        uint64_t n_before = receive.received_bytes;
        atomic_store(&n_rings, 0);
        baton_kv_receiver_work(receiver, baton_now_ns());
        assert_in_range(receive.received_bytes - n_before, 0, most);
        if (!is_complete)
            await_rings(1); /* that more is there is told, with nothing new to tell it */
    }
    assert_int_equal(receive.received_bytes, N_BLOCKS * baton_kv_all_block_bytes(kv));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_context_that_is_all_there_is_taken_in_turns, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
