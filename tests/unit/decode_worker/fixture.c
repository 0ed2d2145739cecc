/* The worker itself, opened and closed. */
#include "tests/unit/decode_worker/fixture_parts.h"

#include <string.h>

#include "common/base/clock.h"
#include "decode_worker/draft_model.h"
#include "engine/kv/pool.h"
#include "tests/support/random_gpt2.h"

static const struct baton_gpt2_sizes sizes = {SMALL_GPT2, .n_layers = N_LAYERS, .n_vocab = N_VOCAB,
                                              .n_context = N_CONTEXT};

struct baton_service *service;
struct mailbox prefill;

static struct baton_worker_options host_options;
static struct dc_draft_model draft;
static struct mailbox gateway;
static bool has_gateway;
static const char *gateway_url;

/* Layers of two sizes; the last one reads the first one's K and V, and none of its own come. */
static enum baton_err make_model(struct baton_model **model)
{
    struct baton_spec spec;
    baton_gpt2_spec(&sizes, &spec);
    spec.layers[1].n_kv_heads = 1;
    spec.layers[N_LAYERS - 1].kv_from = 0;
    return baton_model_random(&spec, 1, NULL, model, NULL);
}

static void open_host(const struct worker_options *wanted)
{
    int n_threads = wanted->n_threads;
    host_options = (struct baton_worker_options){
        .kv_dtype = "auto", .fleet.silence_s = wanted->silence_s, .advertise = "tcp://127.0.0.1:1"};
    host = (struct baton_host){.options = &host_options,
                               .role = BATON__V1__ROLE__ROLE_DECODE,
                               .epoch = WORKER,
                               .cores = {.n = 1, .n_threads = n_threads ? n_threads : 2},
                               .facts = {.n_vocab = N_VOCAB, .n_context_tokens = N_CONTEXT}};
    assert_ok(baton_doorbell_init(&host.bell));
    assert_ok(make_model(&host.model));
}

static void open_draft(const struct worker_options *wanted)
{
    struct baton_gpt2_sizes of = sizes;
    struct baton_spec spec;
    if (!wanted->draft_seed)
        return;
    of.n_vocab = wanted->draft_vocab ? wanted->draft_vocab : N_VOCAB;
    of.n_context = wanted->draft_context ? wanted->draft_context : N_CONTEXT;
    baton_gpt2_spec(&of, &spec);
    spec.layers[1].n_kv_heads = 1;
    spec.layers[N_LAYERS - 1].kv_from = 0;
    assert_ok(baton_model_random(&spec, wanted->draft_seed, NULL, &draft.model, NULL));
    draft.n_vocab = of.n_vocab;
    draft.n_context = of.n_context;
}

/* The service makes the pool as large as its own. */
static void shrink_draft_pool(const struct worker_options *wanted)
{
    if (!wanted->draft_blocks)
        return;
    baton_kv_destroy(draft.kv);
    assert_ok(dc_draft_model_reserve(&draft, "auto", wanted->draft_blocks,
                                     &(struct baton_kv_options){0}, NULL));
}

void open_gateway(void)
{
    assert_ok(mailbox_open(&gateway, gateway_url, 4096));
    has_gateway = true;
}

static void open_links(size_t max_queued)
{
    struct baton_link_options options = {.url = gateway_url ? gateway_url
                                                            : baton_inbox_url(gateway.inbox),
                                         .local_epoch = WORKER,
                                         .peer_epoch = GATEWAY,
                                         .id = TO_GATEWAY,
                                         .max_queued = max_queued,
                                         .wake = baton_host_wake,
                                         .wake_arg = &host};
    assert_ok(baton_link_open(&options, &to_gateway, NULL));
    assert_ok(mailbox_open(&prefill, NULL, 64));
}

void worker_open(const struct worker_options *wanted)
{
    struct baton_why why = {""};
    forget_heard();
    bulk_may_end = false;
    gateway_url = wanted->gateway_url;
    has_gateway = false;
    open_host(wanted);
    open_draft(wanted);
    struct dc_service_options options = {
        .host = &host,
        .draft = draft.model ? &draft : NULL,
        .bulk_url = "tcp://127.0.0.1:0",
        .kv = {.tokens = wanted->kv_tokens, .prefix_cache_tokens = -1},
        .max_batch = wanted->max_batch ? wanted->max_batch : 4,
        .colocated_chunk = wanted->chunk ? wanted->chunk : 8,
        .prefix_cache = !wanted->no_prefix_cache};
    if (dc_service_create(&options, &service, &why))
        fail_msg("%s", why.text);
    shrink_draft_pool(wanted);
    hooks = baton_service_hooks(service);
    if (!gateway_url)
        open_gateway();
    open_links(wanted->max_queued);
}

void worker_close(void)
{
    await_idle();
    check_account();
    Baton__V1__Status status = worker_status();
    assert_int_equal(status.kv_blocks_free, status.kv_blocks_total);
    assert_int_equal(status.kv_blocks_reserved, 0);
    if (draft.kv) {
        assert_int_equal(baton_kv_n_free(draft.kv), baton_kv_n_blocks(draft.kv));
        assert_true(baton_kv_is_consistent(draft.kv));
    }
    baton_service_destroy(service);
    service = NULL;
    dc_draft_model_close(&draft);
    close_bulk();
    baton_link_release(to_gateway);
    mailbox_close(&prefill);
    if (has_gateway)
        mailbox_close(&gateway);
    baton_model_close(host.model);
    baton_doorbell_fini(&host.bell);
}

int worker_end(void **state)
{
    (void)state;
    if (service)
        worker_close();
    return 0;
}

void work_now(void)
{
    (void)hooks.work(hooks.arg, baton_now_ns());
    if (has_gateway)
        listen_to(&gateway);
    listen_to(&prefill);
}
