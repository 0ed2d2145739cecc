#include "gateway/api/openai/models.h"

#include <string.h>

#include "gateway/api/answer.h"
#include "gateway/api/choose_model.h"
#include "gateway/api/embeddings/embeddings.h"
#include "gateway/api/embeddings/pairs.h"
#include "gateway/api/embeddings/text_prompt.h"
#include "gateway/api/model_card.h"
#include "gateway/api/openai/anthropic_models.h"
#include "gateway/api/path_param.h"

static void put_known(struct baton_json_out *out, const char *key, double value)
{
    if (value < 0)
        baton_json_put_null(out, key);
    else
        baton_json_put_exact(out, key, value);
}

static void put_sampling(struct baton_json_out *out, const struct gw_api *api)
{
    const struct baton_sampling_defaults *sampling = &api->facts->sampling;
    baton_json_open(out, "sampling_defaults", '{');
    if (sampling->do_sample < 0)
        baton_json_put_null(out, "do_sample");
    else
        baton_json_put_bool(out, "do_sample", sampling->do_sample);
    put_known(out, "temperature", sampling->temperature);
    if (sampling->top_k < 0)
        baton_json_put_null(out, "top_k");
    else
        baton_json_put_int(out, "top_k", sampling->top_k);
    put_known(out, "top_p", sampling->top_p);
    put_known(out, "repetition_penalty", sampling->repetition_penalty);
    baton_json_put_bool(out, "applied", api->model_sampling);
    baton_json_close(out, '}');
}

/* trained: the model's files name a pooling, as those of models trained for embeddings do. Other
 * models' embeddings are a decoder's hidden states, which are less useful. */
static void put_embeddings(struct baton_json_out *out, const struct gw_api *api)
{
    baton_json_open(out, "embeddings", '{');
    baton_json_put_string(out, "pooling", baton_pooling_name(gw_embeddings_pooling(api)));
    baton_json_put_bool(out, "trained", api->facts->pooling != BATON_POOLING_NONE);
    if (api->facts->n_pooled)
        baton_json_put_int(out, "dimensions", api->facts->n_pooled);
    else
        baton_json_put_null(out, "dimensions");
    gw_text_prompts_put(out, "prompts", api);
    baton_json_close(out, '}');
}

/* Writes llama.cpp's member. */
static void put_meta(struct baton_json_out *out, const struct gw_api *api)
{
    const struct baton_model_facts *facts = api->facts;
    baton_json_open(out, "meta", '{');
    baton_json_put_int(out, "n_vocab", facts->n_vocab);
    baton_json_put_int(out, "n_ctx", gw_fleet_context_tokens(api->fleet));
    baton_json_put_int(out, "n_ctx_train", facts->n_context_tokens);
    gw_put_known(out, "n_embd", (uint64_t)facts->n_embd);
    gw_put_known(out, "n_params", facts->weights.n_parameters);
    gw_put_known(out, "size", facts->weights.n_bytes);
    baton_json_close(out, '}');
}

/* adapter NULL: the model itself. */
static void put_names(struct baton_json_out *out, const struct gw_api *api,
                      const struct gw_adapter *adapter)
{
    if (adapter) {
        baton_json_open(out, "aliases", '[');
        baton_json_close(out, ']');
        baton_json_put_string(out, "root", adapter->name);
        baton_json_put_string(out, "parent", api->names->list[0]);
        return;
    }
    baton_json_open(out, "aliases", '[');
    for (int i = 0; i < api->names->n; i++)
        baton_json_put_string(out, NULL, api->names->list[i]);
    baton_json_close(out, ']');
    baton_json_put_string(out, "root", api->facts->name);
    baton_json_put_null(out, "parent");
}

static const char *kind_of(const struct gw_api *api)
{
    if (gw_scoring_of(api) != GW_SCORES_NOTHING)
        return "reranker";
    return api->facts->is_encoder ? "embedding" : "generation";
}

static void put_model(struct baton_json_out *out, const struct gw_api *api, const char *name)
{
    baton_json_put_string(out, "id", name);
    baton_json_put_string(out, "object", "model");
    baton_json_put_string(out, "kind", kind_of(api));
    baton_json_put_int(out, "created", api->started_s);
    baton_json_put_string(out, "owned_by", "baton");
    baton_json_put_int(out, "context_length", gw_fleet_context_tokens(api->fleet));
    baton_json_put_int(out, "max_model_len", gw_fleet_context_tokens(api->fleet));
    put_names(out, api,
              gw_model_names_lists(api->names, name) ? NULL : gw_fleet_adapter(api->fleet, name));
    baton_json_put_string(out, "family", api->facts->family);
    gw_put_known(out, "parameters", api->facts->weights.n_parameters);
    baton_json_put_string(out, "quantization", gw_model_quantization(api));
    put_meta(out, api);
    baton_json_put_int(out, "vocab_size", api->facts->n_vocab);
    if (api->fleet->terms.kv_block_tokens)
        baton_json_put_string(out, "dtype", api->fleet->terms.dtype);
    else
        baton_json_put_null(out, "dtype");
    baton_json_put_string(out, "chat_template", baton_chat_source(api->chat));
    if (baton_chat_tool_form(api->chat))
        baton_json_put_string(out, "tool_call_form", baton_chat_tool_form(api->chat));
    else
        baton_json_put_null(out, "tool_call_form");
    baton_json_put_bool(out, "reasoning", baton_chat_has_reasoning(api->chat));
    baton_chat_put_abilities(api->chat, out, "chat_template_abilities");
    put_sampling(out, api);
    put_embeddings(out, api);
}

typedef void put_any_model(struct baton_json_out *out, const struct gw_api *api, const char *name);

/* Anthropic's clients ask the same paths, with a header that no other client sends. */
static put_any_model *writer_for(const struct gw_exchange *exchange)
{
    return *gw_exchange_header(exchange, "anthropic-version") ? gw_anthropic_put_model : put_model;
}

static void put_adapters(struct baton_json_out *out, const struct gw_api *api, put_any_model *put)
{
    const struct gw_adapter *list[GW_MAX_FLEET_ADAPTERS];
    size_t n = gw_fleet_adapters(api->fleet, list);
    for (size_t i = 0; i < n; i++) {
        baton_json_open(out, NULL, '{');
        put(out, api, list[i]->name);
        baton_json_close(out, '}');
    }
}

static void put_entries(struct baton_json_out *out, const struct gw_api *api, put_any_model *put)
{
    for (int i = 0; i < api->names->n; i++) {
        baton_json_open(out, NULL, '{');
        put(out, api, api->names->list[i]);
        baton_json_close(out, '}');
    }
    put_adapters(out, api, put);
}

void gw_openai_models(struct gw_api *api, struct gw_exchange *exchange,
                      const struct baton_json *none)
{
    struct gw_answer answer;
    struct gw_served models;
    put_any_model *put = writer_for(exchange);
    (void)none;
    gw_models_asked_for(api, exchange, &models);
    gw_answer_open(&answer);
    baton_json_open(&answer.out, "data", '[');
    for (size_t i = 0; i < models.n; i++)
        put_entries(&answer.out, models.models[i], put);
    baton_json_close(&answer.out, ']');
    if (put == gw_anthropic_put_model)
        gw_anthropic_put_page(&answer.out, &models);
    else
        baton_json_put_string(&answer.out, "object", "list");
    gw_answer_close(&answer, exchange, 200);
}

void gw_openai_model(struct gw_api *api, struct gw_exchange *exchange,
                     const struct baton_json *none)
{
    static const char before[] = "/v1/models/";
    char text[GW_PATH_PARAM_BYTES];
    const char *path = gw_exchange_path(exchange) + sizeof before - 1;
    const char *name = gw_path_param(path, strlen(path), text);
    struct gw_problem problem;
    struct gw_answer answer;
    (void)none;
    const struct gw_api *of = gw_model_named(api, name);
    if (!of || (!gw_model_names_has(of->names, name) && !gw_fleet_adapter(of->fleet, name))) {
        gw_params_refuse_model(api, name, &problem);
        gw_answer_problem(exchange, &problem);
        return;
    }
    gw_answer_open(&answer);
    writer_for(exchange)(&answer.out, of, name);
    gw_answer_close(&answer, exchange, 200);
}
