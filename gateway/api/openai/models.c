#include "gateway/api/openai/models.h"

#include <string.h>

#include "gateway/api/answer.h"
#include "gateway/api/embeddings/embeddings.h"

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
    if (api->facts->n_embd)
        baton_json_put_int(out, "dimensions", api->facts->n_embd);
    else
        baton_json_put_null(out, "dimensions");
    baton_json_close(out, '}');
}

static void put_model(struct baton_json_out *out, const struct gw_api *api)
{
    baton_json_put_string(out, "id", api->names->list[0]);
    baton_json_put_string(out, "object", "model");
    baton_json_put_int(out, "created", api->started_s);
    baton_json_put_string(out, "owned_by", "baton");
    baton_json_put_int(out, "context_length", gw_fleet_context_tokens(api->fleet));
    baton_json_put_int(out, "max_model_len", gw_fleet_context_tokens(api->fleet));
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

void gw_openai_models(struct gw_api *api, struct gw_exchange *exchange,
                      const struct baton_json *none)
{
    struct gw_answer answer;
    (void)none;
    gw_answer_open(&answer);
    baton_json_put_string(&answer.out, "object", "list");
    baton_json_open(&answer.out, "data", '[');
    baton_json_open(&answer.out, NULL, '{');
    put_model(&answer.out, api);
    baton_json_close(&answer.out, '}');
    baton_json_close(&answer.out, ']');
    gw_answer_close(&answer, exchange, 200);
}

void gw_openai_model(struct gw_api *api, struct gw_exchange *exchange,
                     const struct baton_json *none)
{
    const char *name = strrchr(gw_exchange_path(exchange), '/') + 1;
    struct gw_problem problem;
    struct gw_answer answer;
    (void)none;
    if (!gw_model_names_has(api->names, name)) {
        gw_params_refuse_model(api, name, &problem);
        gw_answer_problem(exchange, &problem);
        return;
    }
    gw_answer_open(&answer);
    put_model(&answer.out, api);
    gw_answer_close(&answer, exchange, 200);
}
