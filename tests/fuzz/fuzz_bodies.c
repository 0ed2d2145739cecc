/* The body of a generating request, of any route, is refused with a 4xx, a reason and a known code,
 * or it becomes prompts within the model's context and parameters that a worker accepts, or a
 * whole answer.
 *
 * Input: the first byte chooses the route, the rest is the body. */
#include "tests/fuzz/fuzz.h"

#include "common/base/array.h"
#include "common/wire/envelope/sampling_codec.h"
#include "engine/checkpoint/chat_template.h"
#include "gateway/api/access/access.h"
#include "gateway/api/answer.h"
#include "gateway/api/anthropic/messages.h"
#include "gateway/api/completion/writer.h"
#include "gateway/api/llamacpp/completion.h"
#include "gateway/api/llamacpp/embedding.h"
#include "gateway/api/llamacpp/props.h"
#include "gateway/api/native/generate.h"
#include "gateway/api/ollama/embed.h"
#include "gateway/api/ollama/generate.h"
#include "gateway/api/ollama/models.h"
#include "gateway/api/openai/completions.h"
#include "gateway/api/openai/embeddings.h"
#include "gateway/api/params/adapters.h"
#include "gateway/api/responses/responses.h"
#include "gateway/api/responses/store.h"
#include "gateway/api/streams/streams.h"
#include "gateway/api/tgi/generate.h"
#include "gateway/chat/parts.h"

enum { N_VOCAB = 2560, N_CONTEXT = 512, MAX_BATCH = 8 };

static struct baton_model_facts facts = {
    .name = "tale", .n_vocab = N_VOCAB, .n_context_tokens = N_CONTEXT, .n_eos = 1, .bos_id = -1};
static struct gw_model_names names = {.n = 2, .n_given = 2, .list = {"tale", "story"}};
static const struct baton_fingerprint fingerprint = {.config = "c0"};
static const struct baton_fim fim = {
    .ids = {2000, 2001, 2002, 2003, 2004, 2005}, .ends = {2003}, .n_ends = 1};
static struct gw_adapter_defaults adapter_defaults;
static struct gw_served served;
static struct gw_streams streams = {.bounds = {.window_ns = 1}};
static struct gw_api api = {.served = &served,
                            .streams = &streams,
                            .facts = &facts,
                            .adapter_defaults = &adapter_defaults,
                            .fim = &fim,
                            .fingerprint = &fingerprint,
                            .names = &names,
                            .max_prompt_tokens = N_CONTEXT,
                            .max_batch = MAX_BATCH,
                            .prefix_cache = true,
                            .model_sampling = true};
static int n_answers;

/* ---- in place of completion.h and the exchange ---- */

void __wrap_gw_completion_refuse(struct gw_api *of, struct gw_exchange *exchange,
                                 const struct gw_problem *problem);
void __wrap_gw_completion_start(struct gw_api *of, struct gw_exchange *exchange,
                                const struct gw_answer_writer *writer,
                                const struct gw_completion_options *options,
                                const struct gw_completion_params *params,
                                struct gw_prompts *prompts, const int64_t *lengths);

void __wrap_gw_completion_refuse(struct gw_api *of, struct gw_exchange *exchange,
                                 const struct gw_problem *problem)
{
    (void)of;
    (void)exchange;
    check(!problem->status || (problem->status >= 400 && problem->status < 500));
    check(*problem->message && problem->code && *problem->code);
    n_answers++;
}

/* Of a route that makes no completion. */
void __wrap_gw_answer_problem(struct gw_exchange *exchange, const struct gw_problem *problem);
void __wrap_gw_answer_close(struct gw_answer *answer, struct gw_exchange *exchange, int status);

void __wrap_gw_answer_problem(struct gw_exchange *exchange, const struct gw_problem *problem)
{
    __wrap_gw_completion_refuse(NULL, exchange, problem);
}

void __wrap_gw_answer_close(struct gw_answer *answer, struct gw_exchange *exchange, int status)
{
    struct baton_json *json;
    (void)exchange;
    baton_json_close(&answer->out, '}');
    check(status == 200 && !baton_buf_err(&answer->body));
    check(!baton_json_parse(answer->body.data, answer->body.len, &json, NULL));
    baton_json_free(json);
    baton_buf_fini(&answer->body);
    n_answers++;
}

enum baton_err __wrap_gw_exchange_add_header(struct gw_exchange *exchange, const char *name,
                                             const char *value);

/* Of fields that are ignored, whatever they are called, and of messages that are dropped: a line of
 * a header. */
enum baton_err __wrap_gw_exchange_add_header(struct gw_exchange *exchange, const char *name,
                                             const char *value)
{
    (void)exchange;
    check(!strcmp(name, "x-baton-ignored") || !strcmp(name, "x-baton-dropped"));
    check(*value && strlen(value) < 512);
    for (const char *c = value; *c; c++)
        check(*c >= ' ' && *c <= '~');
    return BATON_OK;
}

/* As a worker would be sent it. */
static void check_command(const struct gw_completion_params *params, const struct gw_prompt *prompt,
                          int64_t length)
{
    struct baton_sampling_message sampling;
    Baton__V1__PrefillRequest prefill = BATON__V1__PREFILL_REQUEST__INIT;
    baton_envelope envelope = BATON__V1__ENVELOPE__INIT;
    struct baton_why why;
    baton_sampling_encode(&sampling, &params->shared.sampling);
    prefill.tokens = prompt->tokens.ids;
    prefill.n_tokens = prompt->tokens.n;
    prefill.sampling = &sampling.message;
    prefill.max_new_tokens = (uint32_t)length;
    prefill.credit_tokens = 1;
    prefill.naive = !params->shared.kv_cache;
    prefill.prompt_logprobs = params->shared.prompt_logprobs;
    prefill.pooling = (Baton__V1__Pooling)params->shared.pooling;
    envelope.src_epoch = envelope.dst_epoch = envelope.link = envelope.link_seq = 1;
    envelope.request_id = envelope.attempt = 1;
    envelope.body_case = BATON__V1__ENVELOPE__BODY_PREFILL_REQUEST;
    envelope.prefill_request = &prefill;
    check(!baton_envelope_check(&envelope, 0, &why));
}

void __wrap_gw_completion_start(struct gw_api *of, struct gw_exchange *exchange,
                                const struct gw_answer_writer *writer,
                                const struct gw_completion_options *options,
                                const struct gw_completion_params *params,
                                struct gw_prompts *prompts, const int64_t *lengths)
{
    (void)of;
    (void)exchange;
    gw_completion_options_fini(options, writer);
    check(writer && prompts->n >= 1 && options->n >= 1);
    check(prompts->n * (size_t)options->n <= (params->shared.pooling ? 2048 : MAX_BATCH));
    check(params->shared.speculation.min_tokens <= params->shared.speculation.max_tokens);
    check(params->n_stops >= 0 && params->n_stops <= BATON_STOP_MAX);
    for (size_t i = 0; i < prompts->n; i++) {
        const struct baton_tokens *tokens = &prompts->items[i].tokens;
        check(tokens->n >= 1 && lengths[i] >= 1);
        check(tokens->n + (params->shared.pooling ? 0 : (uint64_t)lengths[i]) <= N_CONTEXT);
        for (size_t j = 0; j < tokens->n; j++)
            check(tokens->ids[j] < N_VOCAB);
        check_command(params, &prompts->items[i], lengths[i]);
    }
    n_answers++;
}

/* ---- */

/* A conversation that previous_response_id goes on from. */
static void store_response(void)
{
    static const char conversation[] = "[{\"role\":\"user\",\"content\":\"a\"},"
                                       "{\"role\":\"assistant\",\"content\":\"b\"}]";
    const struct gw_owner nobody = {{0}};
    struct baton_json *messages = NULL;
    struct baton_buf body;
    baton_buf_init(&body, 1);
    check(!baton_json_parse(conversation, strlen(conversation), &messages, NULL));
    check(!gw_response_store_put(api.responses, &nobody, "resp-1", &body, messages, 0));
    baton_buf_fini(&body);
}

/* A worker that serves two adapters. */
static void add_worker(struct gw_fleet *fleet)
{
    static struct gw_adapter adapters[] = {
        {.name = "one", .digest = "1", .scale = 1, .rank = 8},
        {.name = "two", .digest = "2", .scale = 0.5F, .rank = 8}};
    static struct gw_worker worker = {.state = GW_WORKER_READY,
                                      .adapters = {.list = adapters, .n = BATON_N_OF(adapters)}};
    static struct gw_adapter_defaults defaults = {.n = 1, .list = {{.name = "two", .scale = 2}}};
    gw_worker_list_push_back(&fleet->workers, &worker);
    api.adapter_defaults = &defaults;
}

static void open_api(void)
{
    static struct gw_fleet fleet;
    struct baton_chat_template source = {.bos = strdup("<|endoftext|>"), .eos = strdup("</s>")};
    struct baton_chat *chat = NULL;
    check(!baton_tokenizer_open(BATON_SOURCE_DIR "/models/tale", &api.tokenizer, NULL));
    check(!baton_chat_create(&source, "chatml", &chat, NULL));
    gw_fleet_init(&fleet, &(struct gw_fleet_options){.identity.facts = &facts});
    add_worker(&fleet);
    api.fleet = &fleet;
    served = (struct gw_served){.models = {&api}, .n = 1, .fleets = {.list = {&fleet}, .n = 1}};
    api.chat = chat;
    const struct gw_access_options access = {
        .api_keys = "", .admin_keys = "", .cors_origins = "", .allowed_hosts = "", .host = ""};
    check(!gw_access_open(&access, &api.access, NULL));
    api.responses =
        gw_response_store_create(&(struct gw_response_bounds){.n = 1, .bytes = 1 << 20});
    check(api.responses != NULL);
    store_response();
    baton_chat_template_fini(&source);
}

FUZZ(data, size)
{
    static const gw_endpoint routes[] = {gw_generate,
                                         gw_generate_stream,
                                         gw_openai_completions,
                                         gw_openai_chat,
                                         gw_anthropic_messages,
                                         gw_anthropic_count_tokens,
                                         gw_ollama_generate,
                                         gw_ollama_chat,
                                         gw_ollama_show,
                                         gw_openai_embeddings,
                                         gw_ollama_embed,
                                         gw_ollama_embeddings,
                                         gw_responses,
                                         gw_llamacpp_completion,
                                         gw_llamacpp_apply_template,
                                         gw_tgi_generate_stream,
                                         gw_tgi_compatible,
                                         gw_llamacpp_embedding,
                                         gw_llamacpp_infill,
                                         gw_mistral_fim};
    struct baton_json *body = NULL;
    if (!api.tokenizer)
        open_api();
    if (!size || baton_json_parse(data + 1, size - 1, &body, NULL))
        return;
    n_answers = 0;
    routes[data[0] % (BATON_N_OF(routes))](&api, NULL, body);
    check(n_answers == 1);
    baton_json_free(body);
}
