#include "gateway/api/completion/completion_parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/clock.h"
#include "common/base/random.h"
#include "common/base/utf8.h"
#include "gateway/admission/admission.h"
#include "gateway/api/access/access.h"
#include "gateway/api/access/keys.h"
#include "gateway/api/answer.h"
#include "gateway/api/streams/streams.h"
#include "gateway/http/local.h"

enum { TEXT_MAX_BYTES = 64 << 20 };

size_t gw_completion_n_at_once(const struct gw_completion *completion)
{
    int n = completion->options.n_at_once;
    return (size_t)(n && n < completion->n_choices ? n : completion->n_choices);
}

/* Allocates the choices, and one block for the writer's own state of all of them. */
static struct gw_choice *create_choices(const struct gw_answer_writer *writer, size_t n)
{
    struct gw_choice *choices = calloc(n, sizeof *choices);
    char *own = writer->choice_bytes ? calloc(n, writer->choice_bytes) : NULL;
    if (!choices || (writer->choice_bytes && !own)) {
        free(choices);
        free(own);
        return NULL;
    }
    for (size_t i = 0; own && i < n; i++)
        choices[i].own = own + i * writer->choice_bytes;
    return choices;
}

static struct gw_completion *create(struct gw_api *api, struct gw_exchange *exchange,
                                    const struct gw_answer_writer *writer,
                                    const struct gw_completion_options *options, int n_choices)
{
    struct gw_completion *completion = calloc(1, sizeof *completion + writer->options_bytes);
    struct gw_choice *choices = create_choices(writer, (size_t)n_choices);
    if (!completion || !choices) {
        free(completion);
        if (choices)
            free(choices[0].own);
        free(choices);
        return NULL;
    }
    completion->user = GW_USER_COMPLETION;
    completion->api = api;
    completion->exchange = exchange;
    completion->payers = gw_exchange_payers(exchange);
    completion->put_error = gw_exchange_error_writer(exchange);
    if (options->has_secret_id)
        baton_random_secret(completion->id);
    else if (*options->id)
        memcpy(completion->id, options->id, sizeof completion->id);
    else
        (void)snprintf(completion->id, sizeof completion->id, "%s", gw_exchange_id(exchange));
    completion->writer = writer;
    completion->options = *options;
    if (writer->options_bytes)
        memcpy(completion->own_options, options->own, writer->options_bytes);
    completion->options.own = completion->own_options;
    completion->choices = choices;
    completion->n_choices = n_choices;
    completion->created_s = (int64_t)time(NULL);
    gw_completions_add(completion);
    return completion;
}

static size_t n_chars(const struct baton_buf *text)
{
    return baton_utf8_count(baton_buf_text(text), text->len);
}

static void init_choices(struct gw_completion *completion,
                         const struct gw_completion_params *params)
{
    /* All results go into one answer, so together they may not be larger than it. */
    size_t result_max_bytes = GW_ANSWER_MAX_BYTES / (size_t)completion->n_choices;
    for (int i = 0; i < completion->n_choices; i++) {
        struct gw_choice *choice = &completion->choices[i];
        choice->completion = completion;
        choice->index = i;
        choice->prompt = &completion->prompts.items[i / completion->options.n];
        choice->echo_chars = completion->options.echo ? n_chars(&choice->prompt->text) : 0;
        baton_buf_init(&choice->text, TEXT_MAX_BYTES);
        baton_buf_init(&choice->reasoning, TEXT_MAX_BYTES);
        baton_buf_init(&choice->steps, result_max_bytes);
        baton_buf_init(&choice->result, result_max_bytes);
        gw_logprobs_init(&choice->logprobs, (int)params->shared.sampling.top_logprobs);
        choice->logprobs.max_output_top -= completion->options.n_hidden_tops;
        gw_tool_calls_init(&choice->calls, &completion->options.form, completion->id, i);
    }
}

/* The earlier of the client's deadline and the gateway's own; 0: neither is set. A line of a batch
 * has none of the gateway's: it may wait for as long as interactive requests come. */
static int64_t deadline_of(const struct gw_api *api, const struct gw_completion_params *params,
                           const struct gw_exchange *exchange)
{
    int64_t arrived_ns = gw_exchange_arrived_ns(exchange);
    double own_s = gw_local_key(exchange) ? 0 : api->timeout_s;
    double timeout_s = params->timeout_s > 0 ? params->timeout_s : own_s;
    if (own_s > 0 && own_s < timeout_s)
        timeout_s = own_s;
    return timeout_s > 0 ? arrived_ns + (int64_t)(timeout_s * (double)BATON_SECOND) : 0;
}

/* The first choice's request gets the exchange's own number, so that the id which the client sees
 * names it completely. */
static void name_request(struct gw_request *request, const struct gw_choice *choice)
{
    const struct gw_exchange *exchange = choice->completion->exchange;
    uint64_t number = choice->index ? 0 : gw_exchange_number(exchange);
    gw_request_set_id(choice->completion->api->requests, request, number);
    request->trace = *gw_exchange_trace(exchange);
    baton_request_tag_set(&request->tag,
                          number && request->id == number ? "" : gw_exchange_id(exchange),
                          gw_exchange_trace(exchange)->id);
}

/* Creates a request in state TOKENIZING. It takes over the times of the stages that the completion
 * went through for all of its requests. */
static bool make_request(struct gw_choice *choice, const struct gw_completion_params *params,
                         int64_t max_new_tokens)
{
    struct gw_completion *completion = choice->completion;
    struct gw_api *api = completion->api;
    int64_t arrived_ns = gw_exchange_arrived_ns(completion->exchange);
    struct gw_request *request =
        gw_request_create(api->requests, &gw_completion_writer, choice, arrived_ns);
    if (!request)
        return false;
    choice->request = request;
    request->payers = &completion->payers;
    name_request(request, choice);
    request->times.parsed_ns = params->parsed_ns;
    request->times.tokenized_ns = params->tokenized_ns;
    gw_request_set_state(api->requests, request, GW_TOKENIZING, "");
    request->deadline_ns = deadline_of(api, params, completion->exchange);
    if (!gw_params_apply(params, &choice->prompt->tokens, max_new_tokens,
                         choice->index % completion->options.n, request))
        return false;
    request->params.n_first_part = choice->prompt->n_first_part;
    request->params.borders = choice->prompt->borders;
    request->params.streaming = completion->options.streaming;
    gw_params_set_cache_epoch(&request->params, api->cache_epoch);
    if (api->prefix_of_key) {
        struct gw_owner owner = gw_access_owner(api->access, completion->exchange);
        gw_params_set_cache_owner(&request->params, &owner);
    }
    if (gw_local_key(completion->exchange) ||
        gw_key_priority(gw_access_key(api->access, completion->exchange)) == BATON_PRIORITY_BATCH)
        request->params.priority = BATON_PRIORITY_BATCH;
    return true;
}

static bool make_requests(struct gw_completion *completion,
                          const struct gw_completion_params *params, const int64_t *lengths)
{
    for (int i = 0; i < completion->n_choices; i++)
        if (!make_request(&completion->choices[i], params, lengths[i / completion->options.n]))
            return false;
    return true;
}

/* Rejects a completion whose requests were not queued. */
static void give_up(struct gw_completion *completion, const struct gw_verdict *verdict)
{
    const struct gw_failure *failure = &verdict->failure;
    const struct gw_request *first = completion->choices[0].request;
    struct gw_error error = {.status = failure->status,
                             .code = failure->code,
                             .message = failure->message,
                             .retry_after_s = verdict->retry_s};
    if (first && first->exceeded_tokens) {
        error.n_prompt_tokens = (int64_t)first->params.prompt.n;
        error.n_ctx = first->exceeded_tokens;
    }
    gw_exchange_set_data(completion->exchange, NULL);
    gw_exchange_respond_error(completion->exchange, &error);
    gw_completion_drop(completion, failure->code);
}

static struct gw_load load_of(const struct gw_completion *completion)
{
    struct gw_load load = {.n_requests = gw_completion_n_at_once(completion),
                           .id = gw_exchange_id(completion->exchange),
                           .left_s = INFINITY};
    for (int i = 0; i < completion->n_choices; i++) {
        const struct gw_request *request = completion->choices[i].request;
        /* Each choice counts, also of the same prompt: `n` must not be a way around the bounds. */
        load.n_tokens += request->params.prompt.n;
        load.priority = request->params.priority; /* equal in all choices */
        if (request->params.max_new_tokens > load.max_new_tokens)
            load.max_new_tokens = request->params.max_new_tokens;
        if (request->deadline_ns)
            load.left_s = baton_seconds(request->deadline_ns - baton_now_ns());
    }
    return load;
}

static bool key_allows(const struct gw_completion *completion, const struct gw_key *key,
                       struct gw_verdict *verdict)
{
    if (!key)
        return true;
    return gw_admission_judge_key(&completion->api->dispatcher->lifecycle.throughput,
                                  gw_key_max(key, (size_t)completion->api->max_per_key),
                                  gw_key_n_open(key), gw_completion_n_at_once(completion), verdict);
}

void gw_completion_queue_next(struct gw_completion *completion)
{
    if (completion->n_queued < completion->n_choices)
        gw_admission_queue(&completion->api->dispatcher->admission,
                           completion->choices[completion->n_queued++].request);
}

/* Admits all choices or none. Queueing comes last, because a queued request may be routed, fail and
 * end its completion at the next pump. */
static void submit(struct gw_completion *completion)
{
    struct gw_dispatcher *dispatcher = completion->api->dispatcher;
    struct gw_load load = load_of(completion);
    struct gw_verdict verdict;
    struct gw_key *key = gw_access_key(completion->api->access, completion->exchange);
    if (!key_allows(completion, key, &verdict) ||
        !gw_admission_admit(&dispatcher->admission, completion->choices[0].request, &load,
                            &verdict)) {
        gw_admission_refused(&dispatcher->admission, &load, &verdict);
        give_up(completion, &verdict);
        return;
    }
    completion->key = key; /* only now: destroy gives back what gw_key_take took */
    gw_key_take(key, load.n_requests);
    gw_payers_charge_tokens(&completion->payers, load.n_tokens);
    gw_exchange_set_data(completion->exchange, completion);
    for (size_t i = 0; i < load.n_requests; i++)
        gw_completion_queue_next(completion);
    if (completion->writer->accepted)
        completion->writer->accepted(completion);
}

/* Answers a request for what the model does not make; true: it makes it. */
static bool check_kind(struct gw_api *api, struct gw_exchange *exchange,
                       const struct gw_completion_params *params)
{
    static const struct gw_problem embeds = {
        .status = 400,
        .param = "model",
        .code = "model_not_supported",
        .message = "model: it is an encoder, which generates no text: use /v1/embeddings"};
    static const struct gw_problem scores = {
        .status = 400,
        .param = "model",
        .code = "model_not_supported",
        .message = "model: it is a reranker, which scores documents: use /v1/rerank"};
    if (!api->facts->is_encoder ||
        (params->shared.pooling && params->shared.scores == api->facts->scores_pairs))
        return true;
    gw_completion_refuse(api, exchange, api->facts->scores_pairs ? &scores : &embeds);
    return false;
}

static void name_adapter(struct gw_completion *completion, const struct baton_adapter_uses *uses)
{
    const struct gw_adapter *adapter =
        uses->n == 1 ? gw_fleet_adapter_of(completion->api->fleet, uses->list[0].digest) : NULL;
    if (adapter)
        memcpy(completion->adapter, adapter->name, sizeof completion->adapter);
}

void gw_completion_start(struct gw_api *api, struct gw_exchange *exchange,
                         const struct gw_answer_writer *writer,
                         const struct gw_completion_options *options,
                         const struct gw_completion_params *params, struct gw_prompts *prompts,
                         const int64_t *lengths)
{
    static const struct gw_verdict no_memory = {
        .failure = {503, "overloaded", "no memory for the request"}};
    static const struct gw_problem bad_header = {.status = 400,
                                                 .param = "x-baton-resumable",
                                                 .code = "invalid_value",
                                                 .message =
                                                     "x-baton-resumable: must be true or false"};
    bool resumable;
    if (!check_kind(api, exchange, params)) {
        gw_completion_options_fini(options, writer);
        return;
    }
    if (!gw_stream_read_resumable(exchange, &resumable)) {
        gw_completion_refuse(api, exchange, &bad_header);
        gw_completion_options_fini(options, writer);
        return;
    }
    if (!gw_exchange_may_generate(exchange)) {
        api->metrics->outcomes[GW_OUTCOME_rejected]++;
        api->metrics->rejections[GW_REJECTION_token_rate]++;
        gw_completion_options_fini(options, writer);
        return;
    }
    struct gw_completion *completion =
        create(api, exchange, writer, options, (int)prompts->n * options->n);
    if (!completion) {
        gw_answer_error(exchange, no_memory.failure.status, no_memory.failure.code,
                        no_memory.failure.message);
        gw_completion_options_fini(options, writer);
        return;
    }
    name_adapter(completion, &params->shared.adapters);
    gw_exchange_note(exchange)->model = api->names->list[0];
    completion->prompts = *prompts;
    *prompts = (struct gw_prompts){0};
    for (size_t i = 0; i < completion->prompts.n; i++)
        completion->totals.prompt_tokens += completion->prompts.items[i].tokens.n;
    gw_exchange_note(exchange)->prompt_tokens = completion->totals.prompt_tokens;
    init_choices(completion, params);
    if (make_requests(completion, params, lengths))
        submit(completion);
    else
        give_up(completion, &no_memory);
}

void gw_completion_refuse(struct gw_api *api, struct gw_exchange *exchange,
                          const struct gw_problem *problem)
{
    if (exchange)
        api->metrics->outcomes[GW_OUTCOME_rejected]++;
    gw_answer_problem(exchange, problem);
}
