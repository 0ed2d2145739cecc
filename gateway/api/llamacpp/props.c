#include "gateway/api/llamacpp/props.h"

#include <stdint.h>
#include <stdio.h>

#include "common/base/version.h"
#include "engine/tokenizer/detokenizer.h"
#include "gateway/api/answer.h"
#include "gateway/api/completion/builder.h"
#include "gateway/api/llamacpp/writer.h"
#include "gateway/api/openai/chat_body.h"
#include "gateway/api/openai/messages.h"
#include "gateway/api/params/prompts.h"

enum { PROMPT_MAX_BYTES = 256 << 20 };

/* Writes the text of a special token; "" if the model has none. */
static void put_token(struct baton_json_out *out, const char *key,
                      const struct baton_tokenizer *tokenizer, int64_t id)
{
    size_t n = 0;
    const char *text = id < 0 ? NULL : baton_tokenizer_bytes(tokenizer, (uint32_t)id, &n);
    baton_json_put_text(out, key, text ? text : "", n);
}

/* Writes the parameters of an empty body. */
static void put_defaults(struct baton_json_out *out, struct gw_api *api)
{
    struct gw_fields none = {0};
    struct gw_completion_params params = {0};
    gw_params_read(api, &none, &params);
    baton_json_open(out, "default_generation_settings", '{');
    baton_json_put_int(out, "n_ctx", gw_fleet_context_tokens(api->fleet));
    baton_json_open(out, "params", '{');
    baton_json_put_int(out, "seed", api->seed);
    gw_llamacpp_put_sampling(out, &params.shared.sampling);
    baton_json_close(out, '}');
    baton_json_close(out, '}');
    gw_params_fini(&params);
}

/* The rows of the decode workers' batches, which GET /slots lists. */
static uint64_t n_slots(struct gw_fleet *fleet)
{
    uint64_t n = 0;
    struct gw_worker_list *workers = &fleet->workers;
    for (struct gw_worker *worker = gw_worker_list_first(workers); worker;
         worker = gw_worker_list_next(workers, worker))
        if (worker->role == BATON__V1__ROLE__ROLE_DECODE && gw_worker_is_there(worker))
            n += worker->status.step_max_rows;
    return n;
}

void gw_llamacpp_props(struct gw_api *api, struct gw_exchange *exchange,
                       const struct baton_json *unused)
{
    const struct baton_model_facts *facts = api->facts;
    struct gw_answer answer;
    char build[64];
    (void)unused;
    gw_answer_open(&answer);
    put_defaults(&answer.out, api);
    baton_json_put_uint(&answer.out, "total_slots", n_slots(api->fleet));
    baton_json_put_string(&answer.out, "model_path", api->facts->name);
    baton_json_put_string(&answer.out, "chat_template", baton_chat_template_text(api->chat));
    baton_json_put_string(&answer.out, "model_alias", api->names->list[0]);
    put_token(&answer.out, "bos_token", api->tokenizer, facts->bos_id);
    put_token(&answer.out, "eos_token", api->tokenizer, facts->n_eos ? facts->eos_ids[0] : -1);
    baton_json_open(&answer.out, "modalities", '{');
    baton_json_put_bool(&answer.out, "vision", false);
    baton_json_put_bool(&answer.out, "audio", false);
    baton_json_close(&answer.out, '}');
    (void)snprintf(build, sizeof build, "baton %s (%s)", baton_release, baton_commit);
    baton_json_put_string(&answer.out, "build_info", build);
    gw_answer_close(&answer, exchange, 200);
}

/* Reads and renders a conversation. A prompt that is too long for the model is read whole: these
 * routes are where to look at it. False: the exchange got the problem. */
static bool encode(struct gw_api *api, struct gw_exchange *exchange, const struct baton_json *body,
                   bool has_model, struct baton_tokens *tokens)
{
    struct gw_completion_builder builder;
    struct baton_chat_input input = {0};
    struct gw_tool_choice choice; /* has no effect on the prompt */
    gw_builder_init(&builder, api, exchange, body, NULL);
    if (has_model)
        gw_params_read_model(api, &builder.fields, &builder.params.shared.adapters);
    gw_messages_read(&builder.fields, &input, &choice);
    gw_builder_end_fields(&builder);
    bool ok = !gw_prompts_encode_chat(api, &builder.fields, &input, SIZE_MAX, tokens, NULL);
    if (!ok)
        gw_answer_problem(exchange, &builder.fields.problem);
    gw_builder_fini(&builder);
    return ok;
}

static bool read_chat(struct gw_api *api, struct gw_exchange *exchange,
                      const struct baton_json *body, bool has_model, struct baton_tokens *tokens)
{
    struct gw_fields given = gw_fields(body);
    given.schema = api->schema;
    struct baton_json *made = gw_chat_body(&given);
    bool ok = made && encode(api, exchange, made, has_model, tokens);
    if (!made)
        gw_answer_problem(exchange, &given.problem);
    baton_json_free(made);
    return ok;
}

void gw_llamacpp_apply_template(struct gw_api *api, struct gw_exchange *exchange,
                                const struct baton_json *body)
{
    struct gw_answer answer;
    struct baton_tokens tokens = {0};
    struct baton_buf text;
    if (read_chat(api, exchange, body, false, &tokens)) {
        baton_buf_init(&text, PROMPT_MAX_BYTES);
        gw_answer_open(&answer);
        baton_detokenize(api->tokenizer, tokens.ids, tokens.n, false, &text);
        baton_json_put_text(&answer.out, "prompt", baton_buf_text(&text), text.len);
        gw_answer_close(&answer, exchange, 200);
        baton_buf_fini(&text);
    }
    baton_tokens_fini(&tokens);
}

void gw_llamacpp_input_tokens(struct gw_api *api, struct gw_exchange *exchange,
                              const struct baton_json *body)
{
    struct gw_answer answer;
    struct baton_tokens tokens = {0};
    if (read_chat(api, exchange, body, true, &tokens)) {
        gw_answer_open(&answer);
        baton_json_put_string(&answer.out, "object", "response.input_tokens");
        baton_json_put_uint(&answer.out, "input_tokens", tokens.n);
        gw_answer_close(&answer, exchange, 200);
    }
    baton_tokens_fini(&tokens);
}
