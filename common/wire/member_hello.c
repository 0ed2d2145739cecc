#include "common/wire/member_hello.h"

#include <unistd.h>

#include "common/base/clock.h"

static void fill_hello(const struct baton_member_options *options, Baton__V1__Hello *hello)
{
    hello->role = options->role;
    hello->worker_id = baton_envelope_text(options->worker_id);
    hello->pid = (uint32_t)getpid();
    hello->inbox_url = baton_envelope_text(options->inbox_url);
    hello->bulk_url = baton_envelope_text(options->bulk_url);
    hello->parts_url = baton_envelope_text(options->parts_url);
    hello->model = baton_envelope_text(options->model);
    hello->dtype = baton_envelope_text(options->dtype);
    hello->kv_dtype = baton_envelope_text(options->kv_dtype);
    hello->kv_layout = baton_envelope_text(options->kv_layout);
    hello->hands_over = options->role == BATON__V1__ROLE__ROLE_DECODE;
    hello->embeds = options->role == BATON__V1__ROLE__ROLE_PREFILL;
    hello->numeric_class = baton_envelope_text(options->numeric_class);
    hello->kernels = baton_envelope_text(options->kernels);
    hello->draft_model = baton_envelope_text(options->draft_model ? options->draft_model : "");
    hello->numa = baton_envelope_text(options->numa ? options->numa : "");
    hello->kv_block_tokens = options->kv_block_tokens;
    hello->n_context_tokens = options->n_context_tokens;
    hello->n_cores = options->n_cores;
    hello->cluster_token = baton_envelope_text(options->cluster_token);
    hello->start_to_ready_s = options->start_to_ready_s;
    hello->model_load_s = options->model_load_s;
    hello->max_beat_s = baton_seconds(options->max_beat_ns);
}

enum baton_err baton_member_say_hello(const struct baton_member_options *options,
                                      struct baton_link *link)
{
    Baton__V1__Fingerprint fingerprint = BATON__V1__FINGERPRINT__INIT;
    Baton__V1__Status status = BATON__V1__STATUS__INIT;
    Baton__V1__Hello hello = BATON__V1__HELLO__INIT;
    baton_envelope envelope = BATON__V1__ENVELOPE__INIT;
    fingerprint.config = baton_envelope_text(options->fingerprint->config);
    fingerprint.tokenizer = baton_envelope_text(options->fingerprint->tokenizer);
    fingerprint.weights = baton_envelope_text(options->fingerprint->weights);
    options->status(options->arg, &status);
    fill_hello(options, &hello);
    hello.fingerprint = &fingerprint;
    hello.status = &status;
    hello.adapts = options->adapts;
    hello.state_interval = options->state_interval;
    if (options->adapters)
        hello.adapters = options->adapters(options->arg, &hello.n_adapters);
    envelope.body_case = BATON__V1__ENVELOPE__BODY_HELLO;
    envelope.hello = &hello;
    return baton_link_send(link, &envelope, NULL, 0);
}
