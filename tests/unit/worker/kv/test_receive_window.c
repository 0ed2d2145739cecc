/* A sequence that grows arrives: where its window begins, only its sender knows. What that says is
 * held against the length that the sequence had in the end, and against the room there is. */
#include "tests/support/test.h"

#include <stdatomic.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/random.h"
#include "engine/kv/pool.h"
#include "tests/support/mailbox.h"
#include "worker/kv/receive.h"

enum {
    BLOCK = BATON_KV_BLOCK_TOKENS,
    N_BLOCKS = 12,
    N_LEAST = 2 * BLOCK,      /* tokens when it begins to be sent */
    N_TOKENS = 9 * BLOCK + 6, /* when it has stopped: ten blocks */
    FIRST = 7,                /* block of the window: of twenty positions, and one block more */
    SENDER = 11
};

/* The second layer has a window. */
static const struct baton_spec spec = {
    .n_layers = 2,
    .layers = {{.n_kv_heads = 1, .head_dim = 16, .kv_from = 0},
               {.n_kv_heads = 1, .head_dim = 16, .kv_from = 1, .window = 20}}};

static uint64_t receiver_epoch;
static struct baton_kv *kv;
static struct baton_seq seq;
static struct baton_origin origin = {.request_id = 1, .attempt = 1};
static struct baton_kv_receive receive;
static struct baton_kv_receiver *receiver;
static struct baton_doorbell bell;
static struct mailbox acks;
static struct baton_link *link_there;
static char payload[1 << 16];
static uint64_t n_sent;
static uint32_t n_chunks;
static int n_complete, n_failed;

static void wake(void *arg)
{
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

SETUP(set_up)
{
    const struct baton_kv_layout layout = {.spec = &spec, .auto_dtype = "f32"};
    const struct baton_kv_pool_options one = {
        .dtype = "f32", .n_blocks = N_BLOCKS, .n_window_blocks = 4, .n_step_rows = 1};
    receiver_epoch = baton_random_id();
    n_sent = n_chunks = 0;
    n_complete = n_failed = 0;
    assert_int_equal(baton_kv_create_of(layout, &one, &kv, NULL), BATON_OK);
    assert_int_equal(baton_seq_init(&seq, kv, N_BLOCKS * BLOCK), BATON_OK);
    const struct baton_kv_receiver_options options = {.bulk_url = "tcp://127.0.0.1:0",
                                                      .epoch = receiver_epoch,
                                                      .path = BATON_KV_PATH_WIRE,
                                                      .wake = wake,
                                                      .wake_arg = &bell,
                                                      .find = find,
                                                      .begin = begin,
                                                      .complete = complete,
                                                      .failed = failed};
    assert_int_equal(baton_doorbell_init(&bell), BATON_OK);
    assert_int_equal(baton_kv_receiver_create(&options, &receiver, NULL), BATON_OK);
    assert_int_equal(mailbox_open(&acks, NULL, 64), BATON_OK);
    baton_kv_receive_expect(&receive, &origin, &seq, N_LEAST, N_BLOCKS * BLOCK);
    link_there = mailbox_dial(&acks, baton_kv_receiver_url(receiver), SENDER, receiver_epoch, 0);
    assert_non_null(link_there);
    origin.gateway = mailbox_dial(&acks, baton_inbox_url(acks.inbox), receiver_epoch, SENDER, 0);
    assert_non_null(origin.gateway);
    return 0;
}

TEARDOWN(tear_down)
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
    return 0;
}

static void send(baton_envelope *envelope, size_t n_bytes)
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
    kv_begin.n_layers = 2;
    kv_begin.n_tokens = N_LEAST;
    kv_begin.block_tokens = BLOCK;
    kv_begin.total_bytes = baton_kv_context_bytes(kv, 0, N_LEAST);
    kv_begin.grows = true;
    kv_begin.kv_dtype = baton_envelope_text(baton_kv_dtype(kv));
    kv_begin.kv_layout = baton_envelope_text(baton_kv_layout_name(kv));
    kv_begin.ticket = (ProtobufCBinaryData){sizeof ticket.bytes, ticket.bytes};
    envelope.body_case = BATON__V1__ENVELOPE__BODY_KV_BEGIN;
    envelope.kv_begin = &kv_begin;
    send(&envelope, 0);
}

static void send_blocks(uint32_t layer, uint32_t first, uint32_t n)
{
    Baton__V1__KvChunk chunk = BATON__V1__KV_CHUNK__INIT;
    baton_envelope envelope = BATON__V1__ENVELOPE__INIT;
    size_t block_bytes = baton_kv_block_bytes(kv, (int)layer);
    for (uint32_t i = 0; i < n; i++)
        memset(payload + i * block_bytes, (int)(64 * layer + first + i), block_bytes);
    chunk.offset = n_sent;
    chunk.layer = layer;
    chunk.first_block = first;
    chunk.n_blocks = n;
    envelope.body_case = BATON__V1__ENVELOPE__BODY_KV_CHUNK;
    envelope.kv_chunk = &chunk;
    send(&envelope, n * block_bytes);
    n_sent += n * block_bytes;
    n_chunks++;
}

static void send_end(void)
{
    Baton__V1__KvEnd end = BATON__V1__KV_END__INIT;
    baton_envelope envelope = BATON__V1__ENVELOPE__INIT;
    end.total_bytes = n_sent;
    end.n_chunks = n_chunks;
    end.n_tokens = N_TOKENS;
    envelope.body_case = BATON__V1__ENVELOPE__BODY_KV_END;
    envelope.kv_end = &end;
    send(&envelope, 0);
}

/* All of the first layer, and the second one's from `first` on. */
static void send_all(uint32_t first, uint32_t n)
{
    send_begin();
    send_blocks(0, 0, 10);
    send_blocks(1, first, n);
    send_end();
    int64_t until_ns = baton_now_ns() + 60 * BATON_SECOND;
    while (!n_complete && !n_failed && baton_now_ns() < until_ns) {
        baton_kv_receiver_work(receiver, baton_now_ns());
        if (!n_complete && !n_failed)
            baton_doorbell_wait(&bell, BATON_SECOND);
    }
}

TEST(a_window_that_begins_where_the_length_says_is_taken)
{
    send_all(FIRST, 3);
    assert_int_equal(n_complete, 1);
    assert_int_equal(seq.n_tokens, N_TOKENS);
    for (int i = FIRST; i < 10; i++)
        assert_int_equal(*(const unsigned char *)baton_seq_block(&seq, 1, i), 64 + i);
    assert_true(baton_seq_slide(&seq, 1));
}

TEST(a_window_above_the_maximum_is_refused)
{
    send_all(FIRST - 2, 5);
    assert_int_equal(n_failed, 1);
}

TEST(a_window_that_begins_too_early_is_refused)
{
    send_all(FIRST - 1, 4);
    assert_int_equal(n_failed, 1);
}

TEST(a_window_that_begins_too_late_is_refused)
{
    send_all(FIRST + 1, 2);
    assert_int_equal(n_failed, 1);
}

TEST(a_window_outside_the_sequence_is_refused)
{
    send_all(N_BLOCKS, 1);
    assert_int_equal(n_failed, 1);
}

EACH_TEST(set_up, tear_down)
