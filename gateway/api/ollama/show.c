#include <stdio.h>

#include "common/base/array.h"
#include "gateway/api/answer.h"
#include "gateway/api/completion/builder.h"
#include "gateway/api/model_card.h"
#include "gateway/api/ollama/body.h"
#include "gateway/api/ollama/models.h"

enum { KEY_BYTES = 128, TEXT_MAX_BYTES = 16 << 20 };

/* ---- texts ---- */

/* Appends the model's sampling defaults and the token that ends its answers, a line each: Ollama's
 * parameters, or the same as lines of a modelfile. */
static void say_parameters(struct baton_buf *text, const struct gw_api *api, const char *prefix,
                           const char *format)
{
    const struct baton_sampling_defaults *sampling = &api->facts->sampling;
    const struct {
        const char *name;
        double value;
    } numbers[] = {{"temperature", sampling->temperature},
                   {"top_k", sampling->top_k},
                   {"top_p", sampling->top_p},
                   {"repeat_penalty", sampling->repetition_penalty}};
    size_t n_end = 0;
    int64_t eos = api->facts->n_eos ? api->facts->eos_ids[0] : -1;
    const char *end = eos < 0 ? NULL : baton_tokenizer_bytes(api->tokenizer, (uint32_t)eos, &n_end);
    char name[KEY_BYTES];
    for (size_t i = 0; i < BATON_N_OF(numbers); i++) {
        if (numbers[i].value < 0)
            continue;
        (void)snprintf(name, sizeof name, format, numbers[i].name);
        baton_buf_printf(text, "%s%s %g\n", prefix, name, numbers[i].value);
    }
    (void)snprintf(name, sizeof name, format, "stop");
    if (end)
        baton_buf_printf(text, "%s%s \"%.*s\"\n", prefix, name, (int)n_end, end);
}

static void say_modelfile(struct baton_buf *text, const struct gw_api *api)
{
    baton_buf_printf(text, "FROM %s\n", api->names->list[0]);
    if (*baton_chat_template_text(api->chat))
        baton_buf_printf(text, "TEMPLATE \"\"\"%s\"\"\"\n", baton_chat_template_text(api->chat));
    say_parameters(text, api, "PARAMETER ", "%s");
}

static void put_texts(struct baton_json_out *out, const struct gw_api *api)
{
    struct baton_buf text;
    baton_buf_init(&text, TEXT_MAX_BYTES);
    say_modelfile(&text, api);
    baton_json_put_text(out, "modelfile", baton_buf_text(&text), text.len);
    baton_buf_reset(&text);
    say_parameters(&text, api, "", "%-30s");
    baton_json_put_text(out, "parameters", baton_buf_text(&text), text.len);
    baton_buf_fini(&text);
    baton_json_put_string(out, "template", baton_chat_template_text(api->chat));
}

/* ---- numbers ---- */

/* Writes a size under the family's name; nothing for 0, which stands for unknown. */
static void put_size(struct baton_json_out *out, const struct gw_api *api, const char *key,
                     double value)
{
    char whole[KEY_BYTES];
    (void)snprintf(whole, sizeof whole, "%s.%s", api->facts->family, key);
    if (value > 0)
        baton_json_put_exact(out, whole, value);
}

static void put_info(struct baton_json_out *out, const struct gw_api *api)
{
    const struct baton_model_facts *facts = api->facts;
    baton_json_open(out, "model_info", '{');
    baton_json_put_string(out, "general.architecture", facts->family);
    baton_json_put_string(out, "general.basename", facts->name);
    if (facts->weights.n_parameters)
        baton_json_put_uint(out, "general.parameter_count", facts->weights.n_parameters);
    put_size(out, api, "context_length", (double)gw_fleet_context_tokens(api->fleet));
    put_size(out, api, "embedding_length", (double)facts->n_embd);
    put_size(out, api, "block_count", facts->n_layers);
    put_size(out, api, "feed_forward_length", facts->n_ff);
    put_size(out, api, "attention.head_count", facts->n_heads);
    put_size(out, api, "attention.head_count_kv", facts->n_kv_heads);
    put_size(out, api, "attention.layer_norm_rms_epsilon", facts->rms_norm_eps);
    put_size(out, api, "rope.freq_base", facts->rope_theta);
    put_size(out, api, "vocab_size", (double)facts->n_vocab);
    if (facts->bos_id >= 0)
        baton_json_put_int(out, "tokenizer.ggml.bos_token_id", facts->bos_id);
    if (facts->n_eos)
        baton_json_put_int(out, "tokenizer.ggml.eos_token_id", facts->eos_ids[0]);
    baton_json_close(out, '}');
}

/* ---- the routes ---- */

static void answer_show(const struct gw_api *api, struct gw_exchange *exchange)
{
    struct gw_answer answer;
    gw_answer_open(&answer);
    put_texts(&answer.out, api);
    gw_ollama_put_details(&answer.out, api);
    put_info(&answer.out, api);
    gw_ollama_put_capabilities(&answer.out, api);
    gw_put_rfc3339(&answer.out, "modified_at", api->started_s);
    gw_answer_close(&answer, exchange, 200);
}

static void put_status(struct baton_buf *lines, const char *status)
{
    struct baton_json_out out = baton_json_out(lines);
    baton_json_open(&out, NULL, '{');
    baton_json_put_string(&out, "status", status);
    baton_json_close(&out, '}');
    baton_buf_putc(lines, '\n');
}

/* The line of a layer that is here already. */
static void put_layer(struct baton_buf *lines, const struct gw_api *api)
{
    struct baton_json_out out = baton_json_out(lines);
    char text[KEY_BYTES];
    baton_json_open(&out, NULL, '{');
    (void)snprintf(text, sizeof text, "pulling %.12s", gw_model_digest(api));
    baton_json_put_string(&out, "status", text);
    (void)snprintf(text, sizeof text, "sha256:%s", gw_model_digest(api));
    baton_json_put_string(&out, "digest", text);
    baton_json_put_uint(&out, "total", api->facts->weights.n_bytes);
    baton_json_put_uint(&out, "completed", api->facts->weights.n_bytes);
    baton_json_close(&out, '}');
    baton_buf_putc(lines, '\n');
}

/* Ollama's clients pull a model before they use it, so this succeeds for the one that is served. */
static void answer_pull(const struct gw_api *api, struct gw_exchange *exchange, bool streaming)
{
    struct gw_answer answer;
    struct baton_buf lines;
    if (!streaming) {
        gw_answer_open(&answer);
        baton_json_put_string(&answer.out, "status", "success");
        gw_answer_close(&answer, exchange, 200);
        return;
    }
    baton_buf_init(&lines, TEXT_MAX_BYTES);
    put_status(&lines, "pulling manifest");
    put_layer(&lines, api);
    put_status(&lines, "verifying sha256 digest");
    put_status(&lines, "writing manifest");
    put_status(&lines, "success");
    if (exchange) /* there is none while the route is described */
        gw_exchange_respond(exchange, 200, "application/x-ndjson", "", lines.data, lines.len);
    baton_buf_fini(&lines);
}

/* Fields of pull without an effect: nothing is fetched. */
static const char *const of_registries[] = {"insecure", "username", "password"};

static void run(struct gw_api *api, struct gw_exchange *exchange, const struct baton_json *body,
                bool pulls)
{
    static const struct gw_alias aliases[] = {{"model", "name"}};
    static const struct gw_dialect dialect = {.aliases = aliases, .n_aliases = 1};
    struct gw_completion_builder builder;
    bool streaming = true, verbose = false; /* verbose: no effect, the answer is complete */
    struct baton_json *own = gw_ollama_body(api, body);
    if (!own) {
        gw_answer_error(exchange, 503, "overloaded", "no memory for the request");
        return;
    }
    gw_builder_init(&builder, api, exchange, own, &dialect);
    gw_params_read_model(api, &builder.fields, &builder.params.shared.adapters);
    if (!pulls)
        gw_field_bool(&builder.fields, "verbose", &verbose);
    for (size_t i = 0; pulls && i < BATON_N_OF(of_registries); i++)
        (void)gw_field(&builder.fields, of_registries[i]);
    if (pulls)
        gw_field_bool(&builder.fields, "stream", &streaming);
    gw_builder_end_fields(&builder);
    if (builder.fields.failed)
        gw_answer_problem(exchange, &builder.fields.problem);
    else if (pulls)
        answer_pull(api, exchange, streaming);
    else
        answer_show(api, exchange);
    gw_builder_fini(&builder);
    baton_json_free(own);
}

void gw_ollama_show(struct gw_api *api, struct gw_exchange *exchange, const struct baton_json *body)
{
    run(api, exchange, body, false);
}

void gw_ollama_pull(struct gw_api *api, struct gw_exchange *exchange, const struct baton_json *body)
{
    run(api, exchange, body, true);
}
