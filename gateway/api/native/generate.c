#include "gateway/api/native/generate.h"

#include <stdlib.h>

#include "common/base/clock.h"
#include "gateway/api/answer.h"
#include "gateway/api/completion/completion.h"
#include "gateway/api/completion/explain.h"
#include "gateway/api/native/reply.h"
#include "gateway/http/sse.h"
#include "gateway/http/status.h"

enum { DEFAULT_NEW_TOKENS = 20, EVENT_MAX_BYTES = 1 << 20 };

/* ---- what the answer says ---- */

static void write_event(struct gw_completion *completion, struct gw_choice *choice,
                        const char *name, const char *data, size_t n)
{
    struct baton_buf *event = gw_completions_event(completion->api->completions);
    gw_sse_event(event, name, data, n);
    gw_completion_write(completion, choice, event->data, event->len);
}

static void on_first(struct gw_choice *choice)
{
    struct baton_buf meta;
    if (!choice->completion->options.streaming)
        return;
    baton_buf_init(&meta, EVENT_MAX_BYTES);
    gw_reply_meta(&meta, choice->request);
    write_event(choice->completion, choice, "meta", meta.data, meta.len);
    baton_buf_fini(&meta);
}

static void on_token(struct gw_choice *choice, const struct gw_token *token)
{
    struct gw_completion *completion = choice->completion;
    struct baton_buf *steps = &choice->steps;
    if (!token->decision)
        return;
    if (completion->options.streaming)
        baton_buf_reset(steps);
    else if (steps->len)
        baton_buf_putc(steps, ',');
    gw_explain_step(steps, completion->api, &choice->request->params, token);
    if (completion->options.streaming)
        write_event(completion, choice, "step", steps->data, steps->len);
}

static void on_text(struct gw_choice *choice, const char *text, size_t n)
{
    if (choice->completion->options.streaming)
        write_event(choice->completion, choice, "token", text, n);
}

static void on_finish(struct gw_choice *choice)
{
    struct gw_completion *completion = choice->completion;
    if (completion->options.streaming) {
        gw_reply_summary(&choice->result, choice->request, completion->options.timeline);
        write_event(completion, choice, "summary", choice->result.data, choice->result.len);
    } else {
        gw_reply_whole(&choice->result, choice);
    }
}

static void on_end(struct gw_completion *completion)
{
    struct baton_buf body;
    if (completion->options.streaming) {
        gw_exchange_stream_end(completion->exchange);
    } else if (!completion->options.batch) {
        gw_answer_json(completion->exchange, 200, &completion->choices[0].result);
    } else {
        baton_buf_init(&body, GW_ANSWER_MAX_BYTES);
        gw_reply_batch(&body, completion);
        gw_answer_json(completion->exchange, 200, &body);
        baton_buf_fini(&body);
    }
}

static void on_error(struct gw_completion *completion, const struct gw_error *error)
{
    struct baton_buf data;
    baton_buf_init(&data, EVENT_MAX_BYTES);
    gw_error_put(&data, error);
    write_event(completion, NULL, "error", data.data, data.len);
    baton_buf_fini(&data);
}

static void put_usage(struct baton_buf *buf, const struct gw_completion *completion)
{
    struct baton_json_out out = baton_json_out(buf);
    baton_json_open(&out, NULL, '{');
    baton_json_put_uint(&out, "prompt_tokens", completion->totals.prompt_tokens);
    baton_json_put_uint(&out, "output_tokens", completion->totals.output_tokens);
    baton_json_close(&out, '}');
}

static const struct gw_dialect native = {.first = on_first,
                                         .token = on_token,
                                         .text = on_text,
                                         .finish = on_finish,
                                         .end = on_end,
                                         .error = on_error,
                                         .usage = put_usage};

/* ---- the endpoints ---- */

/* What only these routes know, and the end of the body's fields. */
static void read_own(const struct gw_api *api, struct gw_fields *fields,
                     struct gw_completion_params *params, struct gw_completion_options *options,
                     int64_t *max_new_tokens)
{
    gw_field_int(fields, "max_new_tokens", 1, api->facts->n_context_tokens, max_new_tokens);
    gw_field_bool(fields, "kv_cache", &params->shared.kv_cache);
    gw_field_bool(fields, "timeline", &options->timeline);
    (void)gw_field(fields, "prompt"); /* known; read once everything else is right */
    gw_fields_refuse_unknown(fields);
}

static void generate(struct gw_api *api, struct gw_exchange *exchange,
                     const struct baton_json *body, bool streaming)
{
    struct gw_fields fields = gw_fields(body);
    struct gw_completion_params params = {0};
    struct gw_prompts prompts = {0};
    struct gw_completion_options options = {.streaming = streaming, .n = 1};
    int64_t max_new_tokens = 0, *lengths = NULL;
    gw_params_read(api, &fields, &params);
    read_own(api, &fields, &params, &options, &max_new_tokens);
    params.parsed_ns = baton_now_ns();
    gw_prompts_read(api, &fields, streaming ? GW_BATCH_NONE : GW_BATCH_IDS, (size_t)api->max_batch,
                    &prompts);
    params.tokenized_ns = baton_now_ns();
    options.batch = prompts.is_batch;
    if (!fields.failed)
        lengths = gw_prompts_lengths(api, &fields, &prompts, "max_new_tokens", max_new_tokens,
                                     DEFAULT_NEW_TOKENS);
    if (fields.failed)
        gw_completion_refuse(api, exchange, &fields.problem);
    else
        gw_completion_start(api, exchange, &native, &options, &params, &prompts, lengths);
    free(lengths);
    gw_prompts_fini(&prompts);
    gw_params_fini(&params);
}

void gw_generate(struct gw_api *api, struct gw_exchange *exchange, const struct baton_json *body)
{
    generate(api, exchange, body, false);
}

void gw_generate_stream(struct gw_api *api, struct gw_exchange *exchange,
                        const struct baton_json *body)
{
    generate(api, exchange, body, true);
}
