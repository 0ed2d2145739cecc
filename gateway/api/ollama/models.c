#include "gateway/api/ollama/models.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/base/version.h"
#include "gateway/api/answer.h"
#include "gateway/api/completion/builder.h"
#include "gateway/api/ollama/body.h"

/* The release of Ollama whose API these routes follow. Clients check it before they use a feature
 * of a newer release. */
#define OLLAMA_VERSION "0.12.6"

enum { NAME_BYTES = GW_MAX_MODEL_NAME_BYTES + 8, KEY_BYTES = 96 };

/* The model's name with a tag, as Ollama writes names. */
static const char *name_of(const struct gw_api *api, char name[NAME_BYTES])
{
    const char *own = api->names->list[0];
    (void)snprintf(name, NAME_BYTES, "%s%s", own, strchr(own, ':') ? "" : ":latest");
    return name;
}

static void put_start_time(struct baton_json_out *out, const char *key, const struct gw_api *api)
{
    char text[32];
    struct tm utc;
    time_t started_s = (time_t)api->started_s;
    gmtime_r(&started_s, &utc);
    (void)strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
    baton_json_put_string(out, key, text);
}

static void put_details(struct baton_json_out *out, const struct gw_api *api)
{
    const struct baton_model_facts *facts = api->facts;
    bool joined = api->fleet->terms.kv_block_tokens; /* a worker has reported its dtype */
    baton_json_open(out, "details", '{');
    baton_json_put_string(out, "parent_model", "");
    baton_json_put_string(out, "format", facts->has_blocks ? "gguf" : "safetensors");
    baton_json_put_string(out, "family", facts->family);
    baton_json_open(out, "families", '[');
    baton_json_put_string(out, NULL, facts->family);
    baton_json_close(out, ']');
    baton_json_put_string(out, "parameter_size", "");
    baton_json_put_string(out, "quantization_level", joined ? api->fleet->terms.dtype : "");
    baton_json_close(out, '}');
}

/* Writes a size of 0: only the workers know how large the weights are. */
static void put_model(struct baton_json_out *out, const struct gw_api *api)
{
    char name[NAME_BYTES];
    const struct baton_fingerprint *fingerprint = api->fingerprint;
    baton_json_put_string(out, "name", name_of(api, name));
    baton_json_put_string(out, "model", name);
    baton_json_put_uint(out, "size", 0);
    baton_json_put_string(out, "digest",
                          *fingerprint->weights ? fingerprint->weights : fingerprint->config);
    put_details(out, api);
}

static void answer_list(const struct gw_api *api, struct gw_exchange *exchange, bool running)
{
    struct gw_answer answer;
    gw_answer_open(&answer);
    baton_json_open(&answer.out, "models", '[');
    baton_json_open(&answer.out, NULL, '{');
    put_model(&answer.out, api);
    if (running) {
        baton_json_put_string(&answer.out, "expires_at", "9999-12-31T23:59:59Z");
        baton_json_put_uint(&answer.out, "size_vram", 0);
        baton_json_put_int(&answer.out, "context_length", gw_fleet_context_tokens(api->fleet));
    } else {
        put_start_time(&answer.out, "modified_at", api);
    }
    baton_json_close(&answer.out, '}');
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

/* ---- show ---- */

static void put_info(struct baton_json_out *out, const struct gw_api *api)
{
    char key[KEY_BYTES];
    const struct baton_model_facts *facts = api->facts;
    baton_json_open(out, "model_info", '{');
    baton_json_put_string(out, "general.architecture", facts->family);
    baton_json_put_string(out, "general.basename", facts->name);
    (void)snprintf(key, sizeof key, "%s.context_length", facts->family);
    baton_json_put_int(out, key, gw_fleet_context_tokens(api->fleet));
    if (facts->n_embd) {
        (void)snprintf(key, sizeof key, "%s.embedding_length", facts->family);
        baton_json_put_int(out, key, facts->n_embd);
    }
    (void)snprintf(key, sizeof key, "%s.vocab_size", facts->family);
    baton_json_put_int(out, key, facts->n_vocab);
    baton_json_close(out, '}');
}

static void answer_show(const struct gw_api *api, struct gw_exchange *exchange)
{
    struct gw_answer answer;
    gw_answer_open(&answer);
    baton_json_put_string(&answer.out, "modelfile", "");
    baton_json_put_string(&answer.out, "parameters", "");
    baton_json_put_string(&answer.out, "template", "");
    put_details(&answer.out, api);
    put_info(&answer.out, api);
    baton_json_open(&answer.out, "capabilities", '[');
    baton_json_put_string(&answer.out, NULL, "completion");
    if (api->facts->pooling) /* only models that were trained for embeddings name a pooling */
        baton_json_put_string(&answer.out, NULL, "embedding");
    if (baton_chat_tool_form(api->chat))
        baton_json_put_string(&answer.out, NULL, "tools");
    if (baton_chat_has_reasoning(api->chat))
        baton_json_put_string(&answer.out, NULL, "thinking");
    baton_json_close(&answer.out, ']');
    put_start_time(&answer.out, "modified_at", api);
    gw_answer_close(&answer, exchange, 200);
}

void gw_ollama_show(struct gw_api *api, struct gw_exchange *exchange, const struct baton_json *body)
{
    static const struct gw_alias aliases[] = {{"model", "name"}};
    static const struct gw_dialect dialect = {.aliases = aliases, .n_aliases = 1};
    struct gw_completion_builder builder;
    bool verbose = false; /* no effect: the answer is complete already */
    struct baton_json *own = gw_ollama_body(api, body);
    if (!own) {
        gw_answer_error(exchange, 503, "overloaded", "no memory for the request");
        return;
    }
    gw_builder_init(&builder, api, exchange, own, &dialect);
    gw_params_read_model(api, &builder.fields);
    gw_field_bool(&builder.fields, "verbose", &verbose);
    gw_builder_end_fields(&builder);
    if (builder.fields.failed)
        gw_answer_problem(exchange, &builder.fields.problem);
    else
        answer_show(api, exchange);
    gw_builder_fini(&builder);
    baton_json_free(own);
}
