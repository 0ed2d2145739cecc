/* A sequence that grows arrives: where its window begins, only its sender knows. What that says is
 * held against the length that the sequence had in the end, and against the room there is. */
#include "tests/unit/worker/kv/receive_fixture.h"

#include <string.h>

enum {
    BLOCK = BATON_KV_BLOCK_TOKENS,
    N_BLOCKS = 12,
    N_LEAST = 2 * BLOCK,      /* tokens when it begins to be sent */
    N_TOKENS = 9 * BLOCK + 6, /* when it has stopped: ten blocks */
    FIRST = 7                 /* block of the window: of twenty positions, and one block more */
};

/* The second layer has a window. */
static const struct baton_spec spec = {
    .n_layers = 2,
    .layers = {{.n_kv_heads = 1, .head_dim = 16, .kv_from = 0},
               {.n_kv_heads = 1, .head_dim = 16, .kv_from = 1, .window = 20}}};

static char payload[1 << 16];
static uint64_t n_sent;
static uint32_t n_chunks;

SETUP(set_up)
{
    const struct baton_kv_pool_options pool = {
        .dtype = "f32", .n_blocks = N_BLOCKS, .n_window_blocks = 4, .n_step_rows = 1};
    n_sent = n_chunks = 0;
    receiving_open(&pool, &spec, (struct baton_kv_receiver_options){.path = BATON_KV_PATH_WIRE},
                   N_BLOCKS * BLOCK, N_LEAST, N_BLOCKS * BLOCK);
}

TEARDOWN(tear_down)
{
    receiving_close();
}

static void begin_growing(void)
{
    Baton__V1__KvBegin kv_begin = BATON__V1__KV_BEGIN__INIT;
    kv_begin.n_layers = 2;
    kv_begin.n_tokens = N_LEAST;
    kv_begin.total_bytes = baton_kv_context_bytes(kv, 0, N_LEAST);
    kv_begin.grows = true;
    send_begin(kv_begin);
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
    send(&envelope, payload, n * block_bytes);
    n_sent += n * block_bytes;
    n_chunks++;
}

/* All of the first layer, and the second one's from `first` on. */
static void send_all(uint32_t first, uint32_t n)
{
    Baton__V1__KvEnd end = BATON__V1__KV_END__INIT;
    begin_growing();
    send_blocks(0, 0, 10);
    send_blocks(1, first, n);
    end.total_bytes = n_sent;
    end.n_chunks = n_chunks;
    end.n_tokens = N_TOKENS;
    send_end(end);
    await_outcome();
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
