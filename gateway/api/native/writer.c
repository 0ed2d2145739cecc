#include "gateway/api/native/writer.h"

#include "gateway/api/answer.h"
#include "gateway/api/completion/explain.h"
#include "gateway/request/stages.h"

enum { EVENT_MAX_BYTES = 1 << 20 };

static void put_id(struct baton_json_out *out, const struct gw_choice *choice)
{
    char id[GW_ANSWER_ID_BYTES];
    baton_json_put_string(out, "id", gw_choice_id(choice, "gen", id));
}

/* "" means that no worker of that role took part. */
static void put_worker(struct baton_json_out *out, const char *key, const char *id)
{
    if (*id)
        baton_json_put_string(out, key, id);
    else
        baton_json_put_null(out, key);
}

static void put_served_by(struct baton_json_out *out, const struct gw_request *request)
{
    baton_json_open(out, "served_by", '{');
    put_worker(out, "prefill", request->attempt.prefill_id);
    put_worker(out, "decode", request->attempt.decode_id);
    baton_json_put_uint(out, "prefill_parts", request->attempt.n_split);
    baton_json_put_uint(out, "attempts", request->n_failures + request->migration.n + 1);
    baton_json_put_uint(out, "migrations", request->migration.n);
    baton_json_put_uint(out, "hand_overs", request->migration.n_hand_overs);
    baton_json_put_real(out, "migration_gap_s", request->migration.longest_gap_s);
    baton_json_put_string(out, "numeric_class", request->numeric_class.hex);
    baton_json_put_bool(out, "class_changed", request->class_changed);
    baton_json_close(out, '}');
}

static void put_speculation(struct baton_json_out *out, const struct gw_request *request)
{
    baton_json_open(out, "speculation", '{');
    baton_json_put_uint(out, "drafted_tokens", request->output.n_drafted);
    baton_json_put_uint(out, "accepted_tokens", request->output.n_accepted);
    baton_json_close(out, '}');
}

static void put_timeline(struct baton_json_out *out, const struct gw_request *request)
{
    struct gw_stage_span spans[BATON_N_STAGES];
    baton_json_open(out, "timeline", '{');
    baton_json_open(out, "stages", '[');
    gw_request_stages(request, spans);
    for (int i = 0; i < BATON_N_STAGES; i++) {
        if (!spans[i].worker)
            continue;
        baton_json_open(out, NULL, '{');
        baton_json_put_string(out, "name", baton_stage_name((enum baton_stage)i));
        baton_json_put_string(out, "worker", spans[i].worker);
        baton_json_put_real(out, "start_s", spans[i].start_s);
        baton_json_put_real(out, "duration_s", spans[i].duration_s);
        baton_json_close(out, '}');
    }
    baton_json_close(out, ']');
    baton_json_close(out, '}');
}

static void put_ending(struct baton_json_out *out, const struct gw_request *request)
{
    struct gw_stage_span spans[BATON_N_STAGES];
    double e2el_s = gw_request_e2el_s(request);
    baton_json_put_real(out, "e2el_s", e2el_s);
    baton_json_put_real(out, "token_generation_s", e2el_s - gw_request_ttft_s(request));
    baton_json_put_uint(out, "output_tokens", request->output.tokens.n);
    baton_json_put_real(out, "tpot_s", gw_request_tpot_s(request));
    baton_json_put_real(out, "mean_itl_s", gw_request_mean_itl_s(request));
    baton_json_put_string(out, "finish_reason", gw_finish_name(request->output.finish));
    gw_request_stages(request, spans);
    baton_json_put_string(out, "priority", baton_priority_name(request->params.priority));
    baton_json_put_real(out, "queue_s", spans[BATON_STAGE_queue].duration_s);
}

static void put_meta(struct baton_buf *buf, const struct gw_choice *choice)
{
    const struct gw_request *request = choice->request;
    struct baton_json_out out = baton_json_out(buf);
    baton_json_open(&out, NULL, '{');
    put_id(&out, choice);
    baton_json_put_real(&out, "ttft_s", gw_request_ttft_s(request));
    baton_json_put_uint(&out, "prompt_tokens", request->params.prompt.n);
    baton_json_put_uint(&out, "seed", request->params.sampling.seed);
    baton_json_close(&out, '}');
}

static void put_summary(struct baton_buf *buf, const struct gw_request *request, bool timeline)
{
    struct baton_json_out out = baton_json_out(buf);
    baton_json_open(&out, NULL, '{');
    put_ending(&out, request);
    baton_json_put_uint(&out, "cached_tokens", gw_request_first_attempt(request)->cached_tokens);
    baton_json_put_uint(&out, "disk_tokens", gw_request_first_attempt(request)->disk_tokens);
    baton_json_put_bool(&out, "cold", gw_request_first_attempt(request)->cold);
    put_served_by(&out, request);
    put_speculation(&out, request);
    gw_handoff_put(&out, &request->attempt.handoff);
    if (timeline)
        put_timeline(&out, request);
    baton_json_close(&out, '}');
}

/* How many sequences the forward pass held and their layout: [n] lengths without padding, because
 * the engine takes rows of sequences of different lengths. */
static void put_input(struct baton_json_out *out, const struct gw_prompt *const *prompts, int n)
{
    uint64_t total = 0;
    baton_json_open(out, "input", '{');
    baton_json_put_int(out, "batch_size", n);
    baton_json_open(out, "tokens_per_sequence", '[');
    for (int i = 0; i < n; i++) {
        baton_json_put_uint(out, NULL, prompts[i]->tokens.n);
        total += prompts[i]->tokens.n;
    }
    baton_json_close(out, ']');
    baton_json_put_uint(out, "total_tokens", total);
    baton_json_put_int(out, "padding_tokens", 0);
    baton_json_close(out, '}');
}

/* The shape of the logits of the prompt's forward pass, [B, T, V] as model code writes it. Only the
 * last of its T rows is computed. */
static void put_logits_shape(struct baton_json_out *out, size_t n_tokens, int64_t n_vocab)
{
    baton_json_open(out, "logits_shape", '[');
    baton_json_put_int(out, NULL, 1);
    baton_json_put_uint(out, NULL, n_tokens);
    baton_json_put_int(out, NULL, n_vocab);
    baton_json_close(out, ']');
}

static void put_texts(struct baton_json_out *out, const struct gw_choice *choice)
{
    const struct baton_buf *prompt = &choice->prompt->text, *generated = &choice->text;
    struct baton_buf text;
    baton_buf_init(&text, prompt->max_bytes + generated->max_bytes);
    baton_buf_append(&text, baton_buf_text(prompt), prompt->len);
    baton_buf_append(&text, baton_buf_text(generated), generated->len);
    baton_json_put_text(out, "text", baton_buf_text(&text), text.len);
    baton_json_put_text(out, "generated_text", baton_buf_text(generated), generated->len);
    baton_buf_fini(&text);
}

/* The whole answer for one prompt; the choice's request still lives. */
static void put_whole(struct baton_buf *buf, const struct gw_choice *choice)
{
    const struct gw_api *api = choice->completion->api;
    const struct gw_request *request = choice->request;
    struct baton_json_out out = baton_json_out(buf);
    baton_json_open(&out, NULL, '{');
    put_id(&out, choice);
    baton_json_put_string(&out, "model", api->names->list[0]);
    put_texts(&out, choice);
    baton_json_put_real(&out, "ttft_s", gw_request_ttft_s(request));
    put_ending(&out, request);
    baton_json_put_uint(&out, "prompt_tokens", request->params.prompt.n);
    baton_json_put_uint(&out, "cached_tokens", gw_request_first_attempt(request)->cached_tokens);
    baton_json_put_uint(&out, "disk_tokens", gw_request_first_attempt(request)->disk_tokens);
    baton_json_put_uint(&out, "seed", request->params.sampling.seed);
    baton_json_put_bool(&out, "cold", gw_request_first_attempt(request)->cold);
    put_served_by(&out, request);
    put_speculation(&out, request);
    gw_handoff_put(&out, &request->attempt.handoff);
    put_logits_shape(&out, request->params.prompt.n, api->facts->n_vocab);
    put_input(&out, &choice->prompt, 1);
    if (request->params.sampling.explain)
        gw_explain_put_steps(&out, &choice->steps);
    if (choice->completion->options.timeline)
        put_timeline(&out, request);
    baton_json_close(&out, '}');
}

static void answer_batch(struct gw_completion *completion)
{
    const struct gw_prompt *prompts[GW_MAX_CHOICES];
    struct gw_answer answer;
    gw_answer_open(&answer);
    gw_completion_put_results(completion, "results", &answer.out);
    for (int i = 0; i < completion->n_choices; i++)
        prompts[i] = completion->choices[i].prompt;
    put_input(&answer.out, prompts, completion->n_choices);
    gw_answer_close(&answer, completion->exchange, 200);
}

static void put_usage(struct baton_buf *buf, const struct gw_completion *completion)
{
    struct baton_json_out out = baton_json_out(buf);
    baton_json_open(&out, NULL, '{');
    baton_json_put_uint(&out, "prompt_tokens", completion->totals.prompt_tokens);
    baton_json_put_uint(&out, "output_tokens", completion->totals.output_tokens);
    baton_json_close(&out, '}');
}

/* ---- the response writer ---- */

static void on_first(struct gw_choice *choice)
{
    struct baton_buf meta;
    gw_completion_begin(choice->completion);
    if (!choice->completion->options.streaming)
        return;
    baton_buf_init(&meta, EVENT_MAX_BYTES);
    put_meta(&meta, choice);
    gw_completion_write(choice->completion, choice, "meta", meta.data, meta.len);
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
        gw_completion_write(completion, choice, "step", steps->data, steps->len);
}

static void on_text(struct gw_choice *choice, const char *text, size_t n)
{
    if (choice->completion->options.streaming)
        gw_completion_write(choice->completion, choice, "token", text, n);
    else
        baton_buf_append(&choice->text, text, n);
}

static void end(struct gw_completion *completion)
{
    if (completion->options.batch)
        answer_batch(completion);
    else
        gw_completion_answer_one(completion);
}

static void on_finish(struct gw_choice *choice)
{
    struct gw_completion *completion = choice->completion;
    struct baton_buf *result = &choice->result;
    gw_choice_count(choice);
    if (completion->options.streaming) {
        put_summary(result, choice->request, completion->options.timeline);
        gw_completion_write(completion, choice, "summary", result->data, result->len);
    } else {
        put_whole(result, choice);
    }
    gw_choice_close(choice, end);
}

static void on_fail(struct gw_choice *choice, const struct gw_failure *failure)
{
    gw_choice_fail(choice, failure, put_usage, "error");
}

/* No native field asks for the logprobs of a prompt: prompt_logprobs is never called. */
const struct gw_response_writer gw_native_writer = {.restart = gw_choice_restart,
                                                    .first = on_first,
                                                    .token = on_token,
                                                    .text = on_text,
                                                    .finish = on_finish,
                                                    .fail = on_fail};
