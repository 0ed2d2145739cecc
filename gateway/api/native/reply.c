#include "gateway/api/native/reply.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

void gw_reply_id(const struct gw_request *request, char id[GW_REPLY_ID_BYTES])
{
    (void)snprintf(id, GW_REPLY_ID_BYTES, "gen-%016" PRIx64, request->id);
}

static void put_id(struct baton_json_out *out, const struct gw_request *request)
{
    char id[GW_REPLY_ID_BYTES];
    gw_reply_id(request, id);
    baton_json_put_string(out, "id", id);
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
    put_worker(out, "prefill", request->prefill_id);
    put_worker(out, "decode", request->decode_id);
    baton_json_put_uint(out, "attempts", request->n_failures + 1);
    baton_json_close(out, '}');
}

static void put_timeline(struct baton_json_out *out, const struct gw_request *request)
{
    baton_json_open(out, "timeline", '{');
    baton_json_open(out, "stages", '[');
    for (int i = 0; i < BATON_N_STAGES; i++) {
        struct gw_stage_span span;
        if (!gw_request_stage(request, (enum baton_stage)i, &span))
            continue;
        baton_json_open(out, NULL, '{');
        baton_json_put_string(out, "name", baton_stage_name((enum baton_stage)i));
        baton_json_put_string(out, "worker", span.worker);
        baton_json_put_real(out, "start_s", span.start_s);
        baton_json_put_real(out, "duration_s", span.duration_s);
        baton_json_close(out, '}');
    }
    baton_json_close(out, ']');
    baton_json_close(out, '}');
}

static void put_ending(struct baton_json_out *out, const struct gw_request *request)
{
    double e2el_s = gw_request_e2el_s(request);
    baton_json_put_real(out, "e2el_s", e2el_s);
    baton_json_put_real(out, "token_generation_s", e2el_s - gw_request_ttft_s(request));
    baton_json_put_uint(out, "output_tokens", request->n_output);
    baton_json_put_real(out, "tpot_s", gw_request_tpot_s(request));
    baton_json_put_real(out, "mean_itl_s", gw_request_mean_itl_s(request));
    baton_json_put_string(out, "finish_reason", gw_finish_name(request->finish));
}

void gw_reply_meta(struct baton_buf *buf, const struct gw_request *request)
{
    struct baton_json_out out = baton_json_out(buf);
    baton_json_open(&out, NULL, '{');
    put_id(&out, request);
    baton_json_put_real(&out, "ttft_s", gw_request_ttft_s(request));
    baton_json_put_uint(&out, "prompt_tokens", request->params.prompt.n);
    baton_json_put_uint(&out, "seed", request->params.seed);
    baton_json_close(&out, '}');
}

void gw_reply_summary(struct baton_buf *buf, const struct gw_request *request, bool timeline)
{
    struct baton_json_out out = baton_json_out(buf);
    baton_json_open(&out, NULL, '{');
    put_ending(&out, request);
    baton_json_put_uint(&out, "cached_tokens", request->cached_tokens);
    baton_json_put_bool(&out, "cold", request->cold);
    put_served_by(&out, request);
    gw_handoff_put(&out, &request->handoff);
    if (timeline)
        put_timeline(&out, request);
    baton_json_close(&out, '}');
}

/* How many sequences a pass held and how they were laid out: [n] lengths, no padding, because rows
 * of different sequences need not be of one length here. */
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

/* The shape of the logits of the prompt's pass, [B, T, V] as model code writes it; of its T rows
 * only the last is computed. */
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

void gw_reply_whole(struct baton_buf *buf, const struct gw_choice *choice)
{
    const struct gw_api *api = choice->completion->api;
    const struct gw_request *request = choice->request;
    struct baton_json_out out = baton_json_out(buf);
    baton_json_open(&out, NULL, '{');
    put_id(&out, request);
    baton_json_put_string(&out, "model", api->facts->name);
    put_texts(&out, choice);
    baton_json_put_real(&out, "ttft_s", gw_request_ttft_s(request));
    put_ending(&out, request);
    baton_json_put_uint(&out, "prompt_tokens", request->params.prompt.n);
    baton_json_put_uint(&out, "cached_tokens", request->cached_tokens);
    baton_json_put_uint(&out, "seed", request->params.seed);
    baton_json_put_bool(&out, "cold", request->cold);
    put_served_by(&out, request);
    gw_handoff_put(&out, &request->handoff);
    put_logits_shape(&out, request->params.prompt.n, api->facts->n_vocab);
    put_input(&out, &choice->prompt, 1);
    if (request->params.explain)
        gw_reply_steps(&out, &choice->steps);
    if (choice->completion->options.timeline)
        put_timeline(&out, request);
    baton_json_close(&out, '}');
}

void gw_reply_steps(struct baton_json_out *out, const struct baton_buf *steps)
{
    baton_json_open(out, "steps", '[');
    baton_buf_append(out->buf, baton_buf_text(steps), steps->len);
    if (baton_buf_err(steps))
        out->buf->err = baton_buf_err(steps);
    baton_json_close(out, ']');
}

void gw_reply_batch(struct baton_buf *buf, struct gw_completion *completion)
{
    const struct gw_prompt *prompts[GW_MAX_CHOICES];
    struct baton_json_out out = baton_json_out(buf);
    baton_json_open(&out, NULL, '{');
    gw_completion_put_results(completion, "results", &out);
    for (int i = 0; i < completion->n_choices; i++)
        prompts[i] = completion->choices[i].prompt;
    put_input(&out, prompts, completion->n_choices);
    baton_json_close(&out, '}');
}

static void put_rate(struct baton_json_out *out, const char *n_key, uint64_t n, const char *ms_key,
                     double seconds, const char *per_token_key, const char *per_second_key)
{
    baton_json_put_uint(out, n_key, n);
    baton_json_put_real(out, ms_key, seconds * 1e3);
    baton_json_put_real(out, per_token_key, n ? seconds * 1e3 / (double)n : NAN);
    baton_json_put_real(out, per_second_key, seconds > 0 ? (double)n / seconds : NAN);
}

void gw_reply_timings(struct baton_json_out *out, const struct gw_totals *totals)
{
    char key[32];
    baton_json_open(out, "timings", '{');
    baton_json_put_uint(out, "cache_n", totals->cached_tokens);
    put_rate(out, "prompt_n", totals->run_tokens - totals->cached_tokens, "prompt_ms",
             totals->prompt_s, "prompt_per_token_ms", "prompt_per_second");
    put_rate(out, "predicted_n", totals->output_tokens, "predicted_ms", totals->output_s,
             "predicted_per_token_ms", "predicted_per_second");
    for (int i = 0; i < BATON_N_STAGES; i++) {
        (void)snprintf(key, sizeof key, "%s_s", baton_stage_name((enum baton_stage)i));
        baton_json_put_real(out, key, totals->stages_s[i]);
    }
    baton_json_close(out, '}');
}
