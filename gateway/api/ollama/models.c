#include "gateway/api/ollama/models.h"

#include <stdio.h>
#include <string.h>

#include "common/base/version.h"
#include "gateway/api/answer.h"
#include "gateway/api/choose_model.h"
#include "gateway/api/model_card.h"

/* The release of Ollama whose API these routes follow. Clients check it before they use a feature
 * of a newer release. */
#define OLLAMA_VERSION "0.12.6"

enum { NAME_BYTES = GW_MAX_MODEL_NAME_BYTES + 8 };

/* A name of the model with a tag, as Ollama writes names. */
static const char *tagged(const char *own, char name[NAME_BYTES])
{
    (void)snprintf(name, NAME_BYTES, "%s%s", own, strchr(own, ':') ? "" : ":latest");
    return name;
}

/* ---- the model ---- */

void gw_ollama_put_details(struct baton_json_out *out, const struct gw_api *api)
{
    const struct baton_model_facts *facts = api->facts;
    char size[GW_PARAMETER_SIZE_BYTES];
    baton_json_open(out, "details", '{');
    baton_json_put_string(out, "parent_model", "");
    baton_json_put_string(out, "format", facts->has_blocks ? "gguf" : "safetensors");
    baton_json_put_string(out, "family", facts->family);
    baton_json_open(out, "families", '[');
    baton_json_put_string(out, NULL, facts->family);
    baton_json_close(out, ']');
    baton_json_put_string(out, "parameter_size", gw_model_parameter_size(api, size));
    baton_json_put_string(out, "quantization_level", gw_model_quantization(api));
    baton_json_put_int(out, "context_length", gw_fleet_context_tokens(api->fleet));
    baton_json_put_int(out, "embedding_length", facts->n_embd);
    baton_json_close(out, '}');
}

void gw_ollama_put_capabilities(struct baton_json_out *out, const struct gw_api *api)
{
    baton_json_open(out, "capabilities", '[');
    if (!api->facts->is_encoder)
        baton_json_put_string(out, NULL, "completion");
    /* only models that were trained for embeddings name a pooling */
    if (api->facts->pooling && !api->facts->scores_pairs)
        baton_json_put_string(out, NULL, "embedding");
    if (baton_chat_tool_form(api->chat))
        baton_json_put_string(out, NULL, "tools");
    if (baton_chat_has_reasoning(api->chat))
        baton_json_put_string(out, NULL, "thinking");
    baton_json_close(out, ']');
}

static void put_model(struct baton_json_out *out, const struct gw_api *api, const char *own)
{
    char name[NAME_BYTES];
    baton_json_put_string(out, "name", tagged(own, name));
    baton_json_put_string(out, "model", name);
    baton_json_put_uint(out, "size", api->facts->weights.n_bytes);
    baton_json_put_string(out, "digest", gw_model_digest(api));
    gw_ollama_put_details(out, api);
}

static void put_running(struct baton_json_out *out, const struct gw_api *api)
{
    baton_json_put_string(out, "expires_at", "9999-12-31T23:59:59Z");
    baton_json_put_uint(out, "size_vram", 0);
    baton_json_put_int(out, "context_length", gw_fleet_context_tokens(api->fleet));
}

/* Puts one entry for each of the model's names, because clients look for theirs. */
static void put_entries(struct baton_json_out *out, const struct gw_api *api, bool running)
{
    for (int i = 0; i < api->names->n; i++) {
        baton_json_open(out, NULL, '{');
        put_model(out, api, api->names->list[i]);
        if (running) {
            put_running(out, api);
        } else {
            gw_put_rfc3339(out, "modified_at", api->started_s);
            gw_ollama_put_capabilities(out, api);
        }
        baton_json_close(out, '}');
    }
}

static void answer_list(struct gw_api *api, struct gw_exchange *exchange, bool running)
{
    struct gw_answer answer;
    struct gw_served models;
    gw_models_asked_for(api, exchange, &models);
    gw_answer_open(&answer);
    baton_json_open(&answer.out, "models", '[');
    for (size_t i = 0; i < models.n; i++)
        put_entries(&answer.out, models.models[i], running);
    baton_json_close(&answer.out, ']');
    gw_answer_close(&answer, exchange, 200);
}

void gw_ollama_tags(struct gw_api *api, struct gw_exchange *exchange, const struct baton_json *none)
{
    (void)none;
    answer_list(api, exchange, false);
}

void gw_ollama_ps(struct gw_api *api, struct gw_exchange *exchange, const struct baton_json *none)
{
    (void)none;
    answer_list(api, exchange, true);
}

void gw_ollama_version(struct gw_api *api, struct gw_exchange *exchange,
                       const struct baton_json *none)
{
    struct gw_answer answer;
    (void)api;
    (void)none;
    gw_answer_open(&answer);
    baton_json_put_string(&answer.out, "version", OLLAMA_VERSION);
    baton_json_put_string(&answer.out, "baton", baton_release);
    gw_answer_close(&answer, exchange, 200);
}
