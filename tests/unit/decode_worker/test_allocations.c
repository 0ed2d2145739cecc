/* A step allocates nothing but the message that it sends: with a link that takes none, nothing. */
#include "tests/support/test.h"

#include <string.h>

#include "decode_worker/sample_batch.h"
#include "decode_worker/stream.h"
#include "tests/support/allocations.h"
#include "tests/support/mailbox.h"
#include "tests/support/random_gpt2.h"

enum { N_SEQUENCES = 3, N_VOCAB = 20000, N_STEPS = 300, N_PROMPT = 40, BULK_BYTES = 1 << 20 };

static const struct baton_gpt2_sizes sizes = {SMALL_GPT2, .n_layers = 2, .n_vocab = N_VOCAB,
                                              .n_context = 256};

static struct mailbox box;
static struct baton_link *link_without_listener;
static struct baton_model *model;
static struct baton_kv *kv;
static struct baton_engine *engine;
static struct dc_scheduler scheduler;
static struct dc_sample_batch *sampling;
static struct dc_stream *stream;
static struct dc_context contexts[N_SEQUENCES + 1]; /* the last is a prompt */
static uint32_t prompt[N_PROMPT];
static float logits[(N_SEQUENCES + 1) * N_VOCAB];

/* The other end takes nothing: sooner or later the link's queue is full, and stays so. */
static void fill_link(void)
{
    static uint8_t bulk[BULK_BYTES];
    for (int n_full = 0; n_full < 20;) {
        Baton__V1__KvChunk chunk = BATON__V1__KV_CHUNK__INIT;
        baton_envelope envelope = BATON__V1__ENVELOPE__INIT;
        chunk.n_blocks = 1;
        envelope.request_id = envelope.attempt = 1;
        envelope.body_case = BATON__V1__ENVELOPE__BODY_KV_CHUNK;
        envelope.kv_chunk = &chunk;
        bool full =
            baton_link_send(link_without_listener, &envelope, bulk, sizeof bulk) == BATON_AGAIN;
        n_full = full ? n_full + 1 : 0;
        if (full)
            baton_doorbell_wait(&box.bell, 10 * 1000 * 1000);
    }
}

static void open_link(void)
{
    assert_ok(mailbox_open(&box, NULL, 1));
    struct baton_link_options options = {.url = baton_inbox_url(box.inbox),
                                         .local_epoch = 1,
                                         .peer_epoch = 2,
                                         .id = 3,
                                         .max_queued = 1,
                                         .wake = baton_doorbell_ring,
                                         .wake_arg = &box.bell};
    assert_ok(baton_link_open(&options, &link_without_listener, NULL));
    assert_true(mailbox_await(&box, link_without_listener, BATON_OUTBOX_UP, 60000));
    fill_link();
}

static void add_contexts(void)
{
    for (int i = 0; i <= N_SEQUENCES; i++) {
        struct dc_context *context = &contexts[i];
        assert_ok(baton_seq_init(&context->seq, kv, 200));
        context->origin = (struct baton_origin){.gateway = link_without_listener,
                                                .gateway_epoch = 2,
                                                .request_id = (uint64_t)i + 1,
                                                .attempt = 1};
        context->state = i < N_SEQUENCES ? DC_RUNNING : DC_PREFILLING;
        context->sampling.params = (struct baton_sampling_params){BATON_SAMPLING_DEFAULTS,
                                                                  .top_k = 40, .seed = (uint64_t)i};
        context->sampling.params.explain = i ? 0 : BATON_MAX_LISTED;
        context->sampling.params.logprobs = i == 0;
        context->prompt.sampling = context->sampling;
        context->prompt.tokens = prompt;
        context->n_prompt = N_PROMPT;
        atomic_store(&context->credit_end, 1000);
        dc_scheduler_add(&scheduler, context);
    }
}

static void run_step(void)
{
    struct dc_step *step = &scheduler.step;
    struct dc_event events[N_SEQUENCES];
    (void)dc_scheduler_fill(&scheduler, 1);
    if (baton_engine_forward(engine, step->chunks, step->n_chunks, NULL, NULL, logits))
        fail();
    const struct dc_sampled *made = dc_sample_batch_run(sampling, engine, step, logits);
    for (int i = 0; i < step->n_sequences; i++)
        events[i] =
            (struct dc_event){.context = step->contexts[i], .sampled = &made[i], .last = i == 1};
    dc_stream_send(stream, events, step->n_sequences, &(struct dc_step_times){.compute_s = 0.01});
    for (int i = 0; i < step->n_sequences; i++)
        if (events[i].err != BATON_AGAIN)
            fail();
    if (made[N_SEQUENCES].n) { /* the prompt is through: once more */
        if (dc_stream_send_first(&contexts[N_SEQUENCES], made[N_SEQUENCES].tokens) != BATON_AGAIN)
            fail();
        contexts[N_SEQUENCES].seq.n_tokens = 0;
    }
    for (int i = 0; i < step->n_sequences; i++)
        if (contexts[i].seq.n_tokens == 200)
            contexts[i].seq.n_tokens = 0;
}

TEST(a_step_allocates_nothing_but_its_message)
{
    const struct baton_engine_options options = {.max_rows = dc_scheduler_max_rows(N_SEQUENCES, 7),
                                                 .n_threads = 2};
    assert_ok(random_gpt2(&sizes, 1, NULL, &model));
    assert_ok(baton_kv_create(model, &(struct baton_kv_pool_options){.n_blocks = 100}, &kv, NULL));
    assert_ok(baton_engine_create(model, &options, &engine, NULL));
    assert_ok(dc_scheduler_init(&scheduler, N_SEQUENCES, 7));
    sampling = dc_sample_batch_create(N_SEQUENCES, 2, N_VOCAB);
    stream = dc_stream_create(N_SEQUENCES);
    assert_true(sampling && stream);
    open_link();
    add_contexts();
    long before = allocations_count();
    assert_true(before > 0);
    for (int i = 0; i < N_STEPS; i++)
        run_step();
    assert_int_equal(allocations_count(), before);
    for (int i = 0; i <= N_SEQUENCES; i++)
        baton_seq_fini(&contexts[i].seq);
    baton_link_release(link_without_listener);
    mailbox_close(&box);
    dc_stream_destroy(stream);
    dc_sample_batch_destroy(sampling);
    dc_scheduler_fini(&scheduler);
    baton_engine_destroy(engine);
    baton_kv_destroy(kv);
    baton_model_close(model);
}

ALL_TESTS(allocations_start, NULL)
