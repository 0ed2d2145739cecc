/* How much of a context is taken at a time, when all of it is there; contexts in a sender's
 * pool. */
#include "tests/unit/worker/kv/receive_fixture.h"

#include <stdlib.h>
#include <string.h>

#include "worker/kv/offer.h"

/* A block of the one layer is a message of 512 KiB. */
enum { N_BLOCKS = 8, N_KV_HEADS = 32, HEAD_DIM = 128, N_TOKENS = N_BLOCKS * BATON_KV_BLOCK_TOKENS };

static const struct baton_spec spec = {
    .n_layers = 1, .layers = {{.n_kv_heads = N_KV_HEADS, .head_dim = HEAD_DIM, .kv_from = 0}}};

static struct baton_kv *theirs; /* the sender's pool, with the sequence that it sends */
static struct baton_seq sent;

SETUP(set_up)
{
    const struct baton_kv_layout layout = {.spec = &spec, .auto_dtype = "f32"};
    struct baton_kv_pool_options pool = {.dtype = "f32", .n_blocks = N_BLOCKS};
    receiving_open(&pool, &spec, (struct baton_kv_receiver_options){0}, N_TOKENS, N_TOKENS, 0);
    pool.is_shared = true;
    assert_ok(baton_kv_create_of(layout, &pool, &theirs, NULL));
    assert_ok(baton_seq_init(&sent, theirs, N_TOKENS));
}

TEARDOWN(tear_down)
{
    receiving_close();
    baton_seq_fini(&sent);
    baton_kv_destroy(theirs);
}

static void begin_context(bool shares)
{
    Baton__V1__KvBegin kv_begin = BATON__V1__KV_BEGIN__INIT;
    kv_begin.n_layers = 1;
    kv_begin.n_tokens = N_TOKENS;
    kv_begin.total_bytes = N_BLOCKS * baton_kv_all_block_bytes(kv);
    kv_begin.shares = shares;
    send_begin(kv_begin);
}

static void end_context(uint32_t n_chunks)
{
    Baton__V1__KvEnd end = BATON__V1__KV_END__INIT;
    end.total_bytes = N_BLOCKS * baton_kv_all_block_bytes(kv);
    end.n_chunks = n_chunks;
    send_end(end);
}

static void send_blocks_and_end(void)
{
    Baton__V1__KvChunk chunk = BATON__V1__KV_CHUNK__INIT;
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
    end_context(N_BLOCKS); /* of the one layer */
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
    begin_context(false);
    await_begun();
    atomic_store(&n_rings, 0);
    send_blocks_and_end();
    await_rings(N_BLOCKS + 1);
    while (!n_complete) {
        uint64_t n_before = receive.received_bytes;
        atomic_store(&n_rings, 0);
        baton_kv_receiver_work(receiver, baton_now_ns());
        assert_in_range(receive.received_bytes - n_before, 0, most);
        if (!n_complete)
            await_rings(1); /* the receiver rings for the rest itself */
    }
    assert_int_equal(receive.received_bytes, N_BLOCKS * baton_kv_all_block_bytes(kv));
    assert_int_equal(n_failed, 0);
}

/* ---- in the sender's pool ---- */

static struct baton_kv_offer make_offer(void)
{
    struct baton_kv_offer offer = {.link = baton_link_id(link_there),
                                   .sender_epoch = SENDER,
                                   .receiver_epoch = receiver_epoch,
                                   .request_id = origin.request_id,
                                   .attempt = origin.attempt,
                                   .n_blocks = N_BLOCKS,
                                   .ticket = baton_kv_receiver_ticket(receiver, &origin)};
    memcpy(offer.kv_layout, baton_kv_layout_name(theirs), sizeof offer.kv_layout);
    return offer;
}

static void send_place(uint32_t first_block, uint32_t n_blocks, uint32_t at, uint64_t as_of)
{
    Baton__V1__KvChunk chunk = BATON__V1__KV_CHUNK__INIT;
    Baton__V1__KvPlace place = BATON__V1__KV_PLACE__INIT;
    baton_envelope envelope = BATON__V1__ENVELOPE__INIT;
    chunk.offset = first_block * baton_kv_block_bytes(kv, 0);
    chunk.first_block = first_block;
    chunk.n_blocks = n_blocks;
    place.block = at;
    place.as_of = as_of;
    chunk.place = &place;
    envelope.body_case = BATON__V1__ENVELOPE__BODY_KV_CHUNK;
    envelope.kv_chunk = &chunk;
    send(&envelope, NULL, 0);
}

static void begin_shared(const struct baton_kv_offer *offer)
{
    assert_ok(baton_kv_offer_send(offer, baton_kv_fd(theirs), NULL));
    begin_context(true);
    await_begun();
}

static void fill_sent(void)
{
    for (int i = 0; i < N_BLOCKS; i++)
        memset(baton_seq_block(&sent, 0, i), i + 1, baton_kv_block_bytes(theirs, 0));
}

/* One by one: neighbours of the sequence need not be neighbours in the pool. */
TEST(a_context_is_copied_out_of_the_senders_pool)
{
    struct baton_kv_offer offer = make_offer();
    fill_sent();
    begin_shared(&offer);
    for (int i = 0; i < N_BLOCKS; i++)
        send_place((uint32_t)i, 1, (uint32_t)sent.blocks[i], baton_kv_clock(theirs));
    end_context(N_BLOCKS);
    await_outcome();
    assert_int_equal(n_complete, 1);
    assert_int_equal(receive.shared_bytes, N_BLOCKS * baton_kv_all_block_bytes(kv));
    for (int i = 0; i < N_BLOCKS; i++)
        assert_memory_equal(baton_seq_block(&seq, 0, i), baton_seq_block(&sent, 0, i),
                            baton_kv_block_bytes(kv, 0));
}

/* The sender freed the context after its message, before the receiver copied it. */
TEST(blocks_that_were_given_to_another_context_are_not_taken)
{
    struct baton_kv_offer offer = make_offer();
    fill_sent();
    begin_shared(&offer);
    uint64_t as_of = baton_kv_clock(theirs);
    uint32_t at = (uint32_t)sent.blocks[0];
    baton_seq_fini(&sent);
    assert_ok(baton_seq_init(&sent, theirs, N_TOKENS));
    send_place(0, 1, at, as_of);
    await_outcome();
    assert_int_equal(n_failed, 1);
    assert_int_equal(n_complete, 0);
}

/* Places are numbers that a peer says. */
TEST(a_place_outside_the_pool_is_refused)
{
    struct baton_kv_offer offer = make_offer();
    begin_shared(&offer);
    send_place(0, 2, N_BLOCKS - 1, baton_kv_clock(theirs));
    await_outcome();
    assert_int_equal(n_failed, 1);
}

/* A pool that was not mapped with the link's first context is offered again with a later one. */
TEST(a_pool_is_mapped_with_a_later_context_as_well)
{
    struct baton_kv_offer offer = make_offer();
    fill_sent();
    begin_context(true);
    await_begun();
    baton_kv_receive_fini(&receive); /* given up: the next attempt is another request */
    origin.attempt++;
    baton_kv_receive_expect(&receive, &origin, &seq, N_TOKENS, 0);
    begin_shared(&offer);
    for (int i = 0; i < N_BLOCKS; i++)
        send_place((uint32_t)i, 1, (uint32_t)sent.blocks[i], baton_kv_clock(theirs));
    end_context(N_BLOCKS);
    await_outcome();
    assert_int_equal(n_complete, 1);
}

static void assert_not_mapped(const struct baton_kv_offer *offer)
{
    if (offer)
        assert_ok(baton_kv_offer_send(offer, baton_kv_fd(theirs), NULL));
    begin_context(true);
    await_begun();
    send_place(0, 1, (uint32_t)sent.blocks[0], baton_kv_clock(theirs));
    await_outcome();
    assert_int_equal(n_failed, 1);
}

TEST(a_place_without_an_offer_is_refused)
{
    assert_not_mapped(NULL);
}

TEST(an_offer_without_a_ticket_is_not_mapped)
{
    struct baton_kv_offer offer = make_offer();
    offer.ticket.bytes[3] ^= 1;
    assert_not_mapped(&offer);
}

TEST(an_offer_of_another_life_is_not_mapped)
{
    struct baton_kv_offer offer = make_offer();
    offer.sender_epoch++;
    assert_not_mapped(&offer);
}

TEST(an_offer_of_another_layout_is_not_mapped)
{
    struct baton_kv_offer offer = make_offer();
    offer.kv_layout[0] = offer.kv_layout[0] == 'a' ? 'b' : 'a';
    assert_not_mapped(&offer);
}

TEST(an_offer_of_more_than_the_file_has_is_not_mapped)
{
    struct baton_kv_offer offer = make_offer();
    offer.n_blocks++;
    assert_not_mapped(&offer);
}

EACH_TEST(set_up, tear_down)
