#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/clock.h"
#include "gateway/admission/admission.h"
#include "gateway/api/access/access.h"
#include "gateway/api/access/keys.h"
#include "gateway/api/answer.h"
#include "gateway/api/completion/parts.h"
#include "gateway/http/status.h"
#include "gateway/routing/routing.h"

static struct gw_completion *create_completion(struct gw_api *api, struct gw_exchange *exchange,
                                               const struct gw_dialect *dialect,
                                               const struct gw_completion_options *options,
                                               int n_choices)
{
    struct gw_completion *completion = calloc(1, sizeof *completion);
    struct gw_choice *choices = calloc((size_t)n_choices, sizeof *choices);
    if (!completion || !choices) {
        free(completion);
        free(choices);
        return NULL;
    }
    completion->api = api;
    completion->exchange = exchange;
    completion->dialect = dialect;
    completion->options = *options;
    completion->choices = choices;
    completion->n_choices = n_choices;
    completion->wrote_ns = baton_now_ns();
    completion->created_s = (int64_t)time(NULL);
    gw_completion_list(completion);
    return completion;
}

static void init_choices(struct gw_completion *completion,
                         const struct gw_completion_params *params)
{
    size_t result_max_bytes = GW_ANSWER_MAX_BYTES / (size_t)completion->n_choices;
    for (int i = 0; i < completion->n_choices; i++) {
        struct gw_choice *choice = &completion->choices[i];
        choice->completion = completion;
        choice->index = i;
        choice->prompt = &completion->prompts.items[i / completion->options.n];
        baton_buf_init(&choice->text, GW_TEXT_MAX_BYTES);
        baton_buf_init(&choice->steps, result_max_bytes);
        baton_buf_init(&choice->result, result_max_bytes);
        gw_logprobs_init(&choice->logprobs, (int)params->shared.top_logprobs);
    }
}

static bool copy_tokens(struct baton_tokens *to, const struct baton_tokens *from)
{
    to->ids = malloc(from->n * sizeof *to->ids);
    if (!to->ids)
        return false;
    memcpy(to->ids, from->ids, from->n * sizeof *to->ids);
    to->n = to->cap = from->n;
    return true;
}

/* The nearer of the client's and our own; 0: neither set one. */
static int64_t deadline_of(const struct gw_api *api, const struct gw_completion_params *params,
                           int64_t arrived_ns)
{
    double timeout_s = params->timeout_s > 0 ? params->timeout_s : api->timeout_s;
    if (api->timeout_s > 0 && api->timeout_s < timeout_s)
        timeout_s = api->timeout_s;
    return timeout_s > 0 ? arrived_ns + (int64_t)(timeout_s * (double)BATON_SECOND) : 0;
}

/* A request in state TOKENIZING; what it went through so far was the completion's. */
static bool make_request(struct gw_choice *choice, const struct gw_completion_params *params,
                         int64_t max_new_tokens)
{
    struct gw_completion *completion = choice->completion;
    struct gw_api *api = completion->api;
    int64_t arrived_ns = gw_exchange_arrived_ns(completion->exchange);
    struct gw_sink sink = gw_completion_sink(choice);
    struct gw_request *request = gw_request_create(api->requests, &sink, arrived_ns);
    if (!request)
        return false;
    choice->request = request;
    request->times.parsed_ns = params->parsed_ns;
    request->times.tokenized_ns = params->tokenized_ns;
    gw_request_set_state(api->requests, request, GW_TOKENIZING, "");
    request->deadline_ns = deadline_of(api, params, arrived_ns);
    request->params.max_new_tokens = max_new_tokens;
    if (!copy_tokens(&request->params.prompt, &choice->prompt->tokens) ||
        !gw_params_apply(params, choice->index % completion->options.n, request))
        return false;
    request->params.streaming = completion->options.streaming;
    return true;
}

static bool make_requests(struct gw_completion *completion,
                          const struct gw_completion_params *params, const int64_t *lengths)
{
    for (int i = 0; i < completion->n_choices; i++)
        if (!make_request(&completion->choices[i], params, lengths[i / completion->options.n]))
            return false;
    completion->id = completion->choices[0].request->id;
    return true;
}

static void give_up(struct gw_completion *completion, const struct gw_verdict *verdict)
{
    const struct gw_failure *failure = &verdict->failure;
    gw_exchange_set_data(completion->exchange, NULL);
    gw_exchange_respond_error(completion->exchange,
                              &(struct gw_error){.status = failure->status,
                                                 .code = failure->code,
                                                 .message = failure->message,
                                                 .retry_after_s = verdict->retry_s});
    gw_completion_cancel_rest(completion, failure->code);
    gw_completion_destroy(completion);
}

static struct gw_load load_of(const struct gw_completion *completion)
{
    struct gw_load load = {.n_requests = (size_t)completion->n_choices, .left_s = INFINITY};
    for (int i = 0; i < completion->n_choices; i++) {
        const struct gw_request *request = completion->choices[i].request;
        load.n_tokens += request->params.prompt.n;
        if (request->params.max_new_tokens > load.max_new_tokens)
            load.max_new_tokens = request->params.max_new_tokens;
        if (request->deadline_ns)
            load.left_s = baton_seconds(request->deadline_ns - baton_now_ns());
    }
    return load;
}

static bool may_have(const struct gw_completion *completion, const struct gw_key *key,
                     struct gw_verdict *verdict)
{
    if (!key)
        return true;
    return gw_admission_judge_key(&completion->api->dispatcher->throughput,
                                  gw_key_max(key, (size_t)completion->api->max_per_key),
                                  gw_key_n_open(key), (size_t)completion->n_choices, verdict);
}

/* All or nothing. Once queued, a request may fail or finish as soon as it is placed, and the
 * completion with it: placing comes last. */
static void submit(struct gw_completion *completion)
{
    struct gw_dispatcher *dispatcher = completion->api->dispatcher;
    struct gw_load load = load_of(completion);
    struct gw_verdict verdict;
    struct gw_key *key = gw_access_key(completion->api->access, completion->exchange);
    if (!may_have(completion, key, &verdict) ||
        !gw_admission_admit(dispatcher, completion->choices[0].request, &load, &verdict)) {
        gw_admission_refused(dispatcher, &load, &verdict);
        give_up(completion, &verdict);
        return;
    }
    completion->key = key;
    gw_key_take(key, load.n_requests);
    gw_exchange_set_data(completion->exchange, completion);
    for (int i = 0; i < completion->n_choices; i++)
        gw_admission_queue(dispatcher, completion->choices[i].request);
    gw_routing_pump(dispatcher);
}

void gw_completion_start(struct gw_api *api, struct gw_exchange *exchange,
                         const struct gw_dialect *dialect,
                         const struct gw_completion_options *options,
                         const struct gw_completion_params *params, struct gw_prompts *prompts,
                         const int64_t *lengths)
{
    static const struct gw_verdict no_memory = {
        .failure = {503, "overloaded", "no memory for the request"}};
    struct gw_completion *completion =
        create_completion(api, exchange, dialect, options, (int)prompts->n * options->n);
    if (!completion) {
        gw_answer_error(exchange, no_memory.failure.status, no_memory.failure.code,
                        no_memory.failure.message);
        return;
    }
    completion->prompts = *prompts;
    *prompts = (struct gw_prompts){0};
    for (size_t i = 0; i < completion->prompts.n; i++)
        completion->totals.prompt_tokens += completion->prompts.items[i].tokens.n;
    init_choices(completion, params);
    if (make_requests(completion, params, lengths))
        submit(completion);
    else
        give_up(completion, &no_memory);
}
