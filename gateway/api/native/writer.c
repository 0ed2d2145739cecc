#include "gateway/api/native/writer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "gateway/request/stages.h"

static bool wants_timeline(const struct gw_choice *choice)
{
    const struct gw_native_options *own = choice->completion->options.own;
    return own->timeline;
}

static void put_id(struct baton_json_out *out, const struct gw_choice *choice)
{
    char id[GW_ANSWER_ID_BYTES];
    baton_json_put_string(out, "id", gw_choice_id(choice, "gen", id));
}

/* Writes null for "", which means that no worker of that role took part. */
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
    /* Not attempt.number, which also counts reservations that a decode worker rejected. */
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
    const struct gw_stages stages = gw_request_stages(request);
    const struct gw_stage_span *spans = stages.spans;
    baton_json_open(out, "timeline", '{');
    baton_json_open(out, "stages", '[');
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
    baton_json_put_real(out, "overlap_s", stages.overlap_s);
    baton_json_put_real(out, "preempted_s", stages.preempted_s);
    baton_json_close(out, '}');
}

static void put_ending(struct baton_json_out *out, const struct gw_request *request)
{
    const struct gw_stages stages = gw_request_stages(request);
    double e2el_s = gw_request_e2el_s(request);
    baton_json_put_real(out, "e2el_s", e2el_s);
    baton_json_put_real(out, "token_generation_s", e2el_s - gw_request_ttft_s(request));
    baton_json_put_uint(out, "output_tokens", request->output.tokens.n);
    baton_json_put_real(out, "tpot_s", gw_request_tpot_s(request));
    baton_json_put_real(out, "mean_itl_s", gw_request_mean_itl_s(request));
    baton_json_put_string(out, "finish_reason", gw_finish_name(request->output.finish));
    baton_json_put_string(out, "priority", baton_priority_name(request->params.priority));
    baton_json_put_real(out, "queue_s", stages.spans[BATON_STAGE_queue].duration_s);
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

/* Tells how much of the prompt was found, and why a prompt of a model that keeps states began
 * earlier than its blocks of K and V allow. */
static void put_cached(struct baton_json_out *out, const struct gw_request *request)
{
    const struct gw_attempt *first = gw_request_first_attempt(request);
    char note[160] = "";
    if (first->stateless_tokens)
        (void)snprintf(note, sizeof note,
                       "blocks of %" PRIu64 " tokens were there, no state was saved after %" PRIu32
                       ": the prompt began at %" PRIu32,
                       (uint64_t)first->cached_tokens + first->stateless_tokens,
                       first->cached_tokens, first->cached_tokens);
    baton_json_put_uint(out, "cached_tokens", first->cached_tokens);
    baton_json_put_uint(out, "disk_tokens", first->disk_tokens);
    baton_json_put_string(out, "cache_note", note);
}

static void put_choice(struct gw_choice *choice, struct baton_json_out *out)
{
    const struct gw_api *api = choice->completion->api;
    const struct gw_request *request = choice->request;
    put_id(out, choice);
    baton_json_put_string(out, "model", gw_completion_model(choice->completion));
    gw_choice_put_text(choice, out, "text", true);
    gw_choice_put_text(choice, out, "generated_text", false);
    baton_json_put_real(out, "ttft_s", gw_request_ttft_s(request));
    put_ending(out, request);
    baton_json_put_uint(out, "prompt_tokens", request->params.prompt.n);
    put_cached(out, request);
    baton_json_put_uint(out, "seed", request->params.sampling.seed);
    baton_json_put_bool(out, "cold", gw_request_first_attempt(request)->cold);
    put_served_by(out, request);
    put_speculation(out, request);
    gw_handoff_put(out, &request->attempt.handoff);
    put_logits_shape(out, request->params.prompt.n, api->facts->n_vocab);
    put_input(out, &choice->prompt, 1);
    gw_choice_put_steps(choice, out);
    if (wants_timeline(choice))
        put_timeline(out, request);
}

static void put_batch(struct gw_completion *completion, struct baton_json_out *out)
{
    const struct gw_prompt *prompts[GW_MAX_CHOICES];
    gw_completion_put_results(completion, "results", out);
    for (int i = 0; i < completion->n_choices; i++)
        prompts[i] = completion->choices[i].prompt;
    put_input(out, prompts, completion->n_choices);
}

/* ---- events ---- */

static void write_meta(struct gw_choice *choice)
{
    const struct gw_request *request = choice->request;
    struct gw_event event;
    gw_event_open(&event, choice, "meta");
    put_id(&event.out, choice);
    baton_json_put_real(&event.out, "ttft_s", gw_request_ttft_s(request));
    baton_json_put_uint(&event.out, "prompt_tokens", request->params.prompt.n);
    baton_json_put_uint(&event.out, "seed", request->params.sampling.seed);
    gw_event_close(&event);
}

static void write_step(struct gw_choice *choice)
{
    struct baton_buf *step = &choice->steps;
    if (!choice->completion->options.streaming || !step->len)
        return;
    gw_completion_write(choice->completion, choice, "step", step->data, step->len);
    baton_buf_reset(step);
}

/* No line of a server-sent event can hold a CR: a reader takes it for the end of the line. */
static void write_as_json(struct gw_choice *choice, const char *text, size_t n)
{
    struct gw_event event;
    gw_event_open(&event, choice, "token_json");
    baton_json_put_text(&event.out, "text", text, n);
    gw_event_close(&event);
}

static void write_text(struct gw_choice *choice, const char *text, size_t n)
{
    if (memchr(text, '\r', n))
        write_as_json(choice, text, n);
    else
        gw_completion_write(choice->completion, choice, "token", text, n);
}

static void write_summary(struct gw_choice *choice)
{
    const struct gw_request *request = choice->request;
    struct gw_event event;
    gw_event_open(&event, choice, "summary");
    put_ending(&event.out, request);
    put_cached(&event.out, request);
    baton_json_put_bool(&event.out, "cold", gw_request_first_attempt(request)->cold);
    put_served_by(&event.out, request);
    put_speculation(&event.out, request);
    gw_handoff_put(&event.out, &request->attempt.handoff);
    if (wants_timeline(choice))
        put_timeline(&event.out, request);
    gw_event_close(&event);
}

const struct gw_answer_writer gw_native_writer = {
    .options_bytes = sizeof(struct gw_native_options),
    .begin = write_meta,
    .token = write_step,
    .text = write_text,
    .end = write_summary,
    .put_choice = put_choice,
    .put_answer = put_batch,
    .usage_names = {"prompt_tokens", "output_tokens"},
    .error_event = "error",
};
