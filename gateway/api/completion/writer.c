#include "gateway/api/completion/completion_parts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "gateway/api/completion/explain.h"
#include "gateway/request/stages.h"

enum { USAGE_MAX_BYTES = 1024 };

/* ---- helpers of writers ---- */

void gw_event_open(struct gw_event *event, struct gw_choice *choice, const char *name)
{
    event->choice = choice;
    event->name = name;
    baton_buf_init(&event->data, GW_EVENT_MAX_BYTES);
    event->out = baton_json_out(&event->data);
    baton_json_open(&event->out, NULL, '{');
}

void gw_event_close(struct gw_event *event)
{
    baton_json_close(&event->out, '}');
    gw_completion_write(event->choice->completion, event->choice, event->name, event->data.data,
                        event->data.len);
    baton_buf_fini(&event->data);
}

const char *gw_choice_id(const struct gw_choice *choice, const char *prefix,
                         char id[GW_ANSWER_ID_BYTES])
{
    char suffix[16] = "";
    if (choice->index)
        (void)snprintf(suffix, sizeof suffix, "-%d", choice->index);
    (void)snprintf(id, GW_ANSWER_ID_BYTES, "%s-%s%s", prefix, choice->completion->id, suffix);
    return id;
}

void gw_choice_put_steps(struct gw_choice *choice, struct baton_json_out *out)
{
    if (!choice->request->params.sampling.explain || choice->completion->options.hides_steps)
        return;
    gw_explain_put_steps(out, &choice->steps);
    baton_buf_reset(&choice->steps);
}

void gw_choice_put_text(const struct gw_choice *choice, struct baton_json_out *out, const char *key,
                        bool with_prompt)
{
    const struct baton_buf *prompt = &choice->prompt->text, *generated = &choice->text;
    struct baton_buf text;
    baton_buf_init(&text, prompt->max_bytes + generated->max_bytes);
    if (with_prompt)
        baton_buf_append(&text, baton_buf_text(prompt), prompt->len);
    baton_buf_append(&text, baton_buf_text(generated), generated->len);
    baton_json_put_text(out, key, baton_buf_text(&text), text.len);
    baton_buf_fini(&text);
}

struct baton_json_out gw_choice_calls_out(struct gw_choice *choice)
{
    struct baton_json_out out = baton_json_out(&choice->calls.json);
    out.comma = choice->calls.json.len > 0;
    return out;
}

void gw_completion_put_results(struct gw_completion *completion, const char *key,
                               struct baton_json_out *out)
{
    baton_json_open(out, key, '[');
    for (int i = 0; i < completion->n_choices; i++) {
        const struct baton_buf *result = &completion->choices[i].result;
        baton_json_put_raw(out, NULL, baton_buf_text(result), result->len);
        if (baton_buf_err(result)) /* a cut result would make the whole answer invalid JSON */
            out->buf->err = baton_buf_err(result);
    }
    baton_json_close(out, ']');
}

/* ---- tokens and text ---- */

static const struct gw_answer_writer *writer_of(const struct gw_choice *choice)
{
    return choice->completion->writer;
}

static bool streams(const struct gw_choice *choice)
{
    return choice->completion->options.streaming;
}

static void on_restart(struct gw_choice *choice)
{
    baton_buf_reset(&choice->text);
    baton_buf_reset(&choice->reasoning);
    baton_buf_reset(&choice->steps);
    gw_logprobs_reset(&choice->logprobs);
    gw_tool_calls_restart(&choice->calls);
    choice->part = GW_PART_NONE;
    choice->n_parts = 0;
    if (choice->own)
        memset(choice->own, 0, writer_of(choice)->choice_bytes);
    if (writer_of(choice)->restart)
        writer_of(choice)->restart(choice);
}

static void on_prompt_logprobs(struct gw_choice *choice, const Baton__V1__PromptLogprobs *logprobs)
{
    gw_logprobs_add_prompt(&choice->logprobs, &choice->request->params.prompt, logprobs);
}

/* Only a stream's params ask for progress, so there is a stream to begin. */
static void on_prompt_progress(struct gw_choice *choice, const Baton__V1__PromptProgress *progress)
{
    gw_completion_begin(choice->completion);
    writer_of(choice)->progress(choice, progress->n_tokens, progress->cached_tokens);
}

void gw_choice_begin(struct gw_choice *choice)
{
    if (choice->has_begun || !streams(choice) || !writer_of(choice)->begin)
        return;
    choice->has_begun = true;
    writer_of(choice)->begin(choice);
}

static void on_first(struct gw_choice *choice)
{
    const struct gw_params *params = &choice->request->params;
    gw_completion_begin(choice->completion);
    if (params->prompt_progress) /* the first token implies that the whole prompt is computed */
        writer_of(choice)->progress(choice, params->prompt.n,
                                    gw_request_first_attempt(choice->request)->cached_tokens);
    gw_choice_begin(choice);
}

/* Keeps the token's logprobs and its explained step, if they were requested. */
static void keep_token(struct gw_choice *choice, const struct gw_token *token)
{
    const struct gw_completion_options *options = &choice->completion->options;
    choice->calls.n_reasoning_tokens += gw_tool_calls_in_reasoning(&choice->calls);
    if (options->post_sampling_probs && token->decision)
        gw_logprobs_add_drawn(&choice->logprobs, token);
    else if (token->logprobs)
        gw_logprobs_add(&choice->logprobs, token);
    if (!token->decision || options->hides_steps)
        return;
    if (choice->steps.len)
        baton_buf_putc(&choice->steps, ',');
    gw_explain_step(&choice->steps, choice->completion->api, &choice->request->params, token);
}

static void on_token(struct gw_choice *choice, const struct gw_token *token)
{
    if (choice->completion->options.no_output)
        return;
    keep_token(choice, token);
    if (writer_of(choice)->token)
        writer_of(choice)->token(choice);
}

static void close_part(struct gw_choice *choice, bool is_last)
{
    if (choice->part != GW_PART_NONE && writer_of(choice)->close_part)
        writer_of(choice)->close_part(choice, is_last);
    choice->part = GW_PART_NONE;
}

static void open_part(struct gw_choice *choice, enum gw_part part)
{
    if (choice->part == part)
        return;
    close_part(choice, false);
    choice->part = part;
    choice->n_parts++;
    if (writer_of(choice)->open_part)
        writer_of(choice)->open_part(choice);
}

static void on_content(struct gw_choice *choice, const char *text, size_t n)
{
    open_part(choice, GW_PART_TEXT);
    if (streams(choice))
        writer_of(choice)->text(choice, text, n);
    else
        baton_buf_append(&choice->text, text, n);
}

static void on_reasoning(struct gw_choice *choice, const char *text, size_t n)
{
    open_part(choice, GW_PART_REASONING);
    if (streams(choice))
        writer_of(choice)->text(choice, text, n);
    else
        baton_buf_append(&choice->reasoning, text, n);
}

static void on_call(struct gw_choice *choice, const struct gw_tool_call *call)
{
    close_part(choice, false);
    choice->n_parts++;
    writer_of(choice)->call(choice, call);
}

static bool may_be_cut(struct gw_choice *choice, const struct gw_tool_call *call)
{
    const struct gw_answer_writer *writer = writer_of(choice);
    return !writer->wants_whole || !writer->wants_whole(choice, call);
}

static void ignore_piece(struct gw_choice *choice, const struct gw_tool_call *call)
{
    (void)choice;
    (void)call;
}

static bool on_call_begin(struct gw_choice *choice, const struct gw_tool_call *call)
{
    const struct gw_answer_writer *writer = writer_of(choice);
    if (!may_be_cut(choice, call))
        return false;
    close_part(choice, false);
    choice->n_parts++;
    writer->call_begin(choice, call);
    return true;
}

static void on_call_more(struct gw_choice *choice, const struct gw_tool_call *call)
{
    writer_of(choice)->call_more(choice, call);
}

static void on_call_end(struct gw_choice *choice, const struct gw_tool_call *call)
{
    if (writer_of(choice)->call_end)
        writer_of(choice)->call_end(choice, call);
}

static const struct gw_parts whole_calls = {
    .text = on_content, .reasoning = on_reasoning, .call = on_call};
static const struct gw_parts calls_in_pieces = {.text = on_content,
                                                .reasoning = on_reasoning,
                                                .call = on_call,
                                                .call_begin = on_call_begin,
                                                .call_more = on_call_more,
                                                .call_end = on_call_end};
/* Of a whole answer: a call that the end cuts off is the same as in a stream. */
static const struct gw_parts collected_calls = {.text = on_content,
                                                .reasoning = on_reasoning,
                                                .call = on_call,
                                                .call_begin = may_be_cut,
                                                .call_more = ignore_piece,
                                                .call_end = on_call};

static const struct gw_parts *parts_of(const struct gw_choice *choice)
{
    const struct gw_answer_writer *writer = writer_of(choice);
    if (streams(choice))
        return writer->call_begin ? &calls_in_pieces : &whole_calls;
    return writer->tells_cut_calls ? &collected_calls : &whole_calls;
}

static void on_text(struct gw_choice *choice, const char *text, size_t n)
{
    choice->logprobs.n_before = choice->logprobs.n_ready;
    gw_logprobs_shown(&choice->logprobs, choice->request->output.shown_bytes);
    if (choice->completion->options.no_output)
        return;
    gw_tool_calls_push(choice, &choice->calls, text, n, parts_of(choice));
    if (writer_of(choice)->flush)
        writer_of(choice)->flush(choice);
}

static void on_embedding(struct gw_choice *choice, const float *values, size_t n)
{
    writer_of(choice)->embedding(choice, values, n);
}

/* ---- the end of a choice ---- */

/* No more text follows: the logprobs of tokens without text become ready, except those that the end
 * of the text cut off. */
static void end_logprobs(struct gw_choice *choice)
{
    const struct gw_output *output = &choice->request->output;
    choice->logprobs.n_before = choice->logprobs.n_ready;
    if (!output->text.stopped)
        gw_logprobs_shown(&choice->logprobs, SIZE_MAX);
}

static void end_parts(struct gw_choice *choice)
{
    bool is_whole = choice->request->output.finish != GW_FINISH_LENGTH;
    gw_tool_calls_end(choice, &choice->calls, is_whole, parts_of(choice));
    if (!choice->n_parts) /* clients expect at least one part */
        open_part(choice, GW_PART_TEXT);
    close_part(choice, true);
}

/* Adds the choice to totals and n_over. */
static void count_choice(struct gw_choice *choice)
{
    const struct gw_request *request = choice->request;
    struct gw_totals *totals = &choice->completion->totals;
    const struct gw_stages stages = gw_request_stages(request);
    gw_choice_charge(choice);
    totals->run_tokens += request->params.prompt.n;
    totals->cached_tokens += gw_request_first_attempt(request)->cached_tokens;
    if (choice->index % choice->completion->options.n == 0)
        totals->prompt_cached_tokens += gw_request_first_attempt(request)->cached_tokens;
    totals->disk_tokens += gw_request_first_attempt(request)->disk_tokens;
    totals->stateless_tokens += gw_request_first_attempt(request)->stateless_tokens;
    totals->output_tokens += request->output.tokens.n;
    totals->reasoning_tokens += choice->calls.n_reasoning_tokens;
    totals->prompt_s += gw_request_first_attempt(request)->prefill_compute_s;
    totals->output_s += gw_request_e2el_s(request) - gw_request_ttft_s(request);
    totals->e2el_s += gw_request_e2el_s(request);
    for (int i = 0; i < BATON_N_STAGES; i++)
        totals->stages_s[i] += stages.spans[i].duration_s;
    totals->overlap_s += stages.overlap_s;
    totals->preempted_s += stages.preempted_s;
    totals->migrations += request->migration.n;
    totals->hand_overs += request->migration.n_hand_overs;
    totals->drafted_tokens += request->output.n_drafted;
    totals->accepted_tokens += request->output.n_accepted;
    totals->migration_gap_s = fmax(totals->migration_gap_s, request->migration.longest_gap_s);
    totals->class_changed |= request->class_changed;
    totals->priority = request->params.priority;
    choice->completion->n_over++;
}

static void keep_result(struct gw_choice *choice)
{
    struct baton_json_out out = baton_json_out(&choice->result);
    baton_json_open(&out, NULL, '{');
    writer_of(choice)->put_choice(choice, &out);
    baton_json_close(&out, '}');
    if (baton_buf_err(&choice->calls.json)) /* truncated calls would make the answer invalid JSON */
        choice->result.err = baton_buf_err(&choice->calls.json);
}

static void answer_batch(struct gw_completion *completion)
{
    struct gw_answer answer;
    struct baton_buf body;
    if (completion->writer->put_answer) {
        gw_answer_open(&answer);
        if (completion->writer->is_array && completion->writer->is_array(completion))
            gw_answer_make_array(&answer);
        completion->writer->put_answer(completion, &answer.out);
        gw_answer_close(&answer, completion->exchange, 200);
        return;
    }
    baton_buf_init(&body, GW_ANSWER_MAX_BYTES);
    struct baton_json_out out = baton_json_out(&body);
    gw_completion_put_results(completion, NULL, &out);
    gw_answer_json(completion->exchange, 200, &body);
    baton_buf_fini(&body);
}

static void answer_client(struct gw_completion *completion)
{
    if (!completion->options.streaming && !completion->exchange)
        return; /* its writer keeps the answer */
    if (!completion->options.streaming && completion->options.batch) {
        answer_batch(completion);
    } else if (!completion->options.streaming) {
        gw_answer_json(completion->exchange, 200, &completion->choices[0].result);
    } else {
        if (completion->writer->end_stream)
            completion->writer->end_stream(completion);
        gw_completion_end_stream(completion);
    }
}

/* Drops the choice's request and, once every choice is over, ends the completion. */
static void close_choice(struct gw_choice *choice)
{
    struct gw_completion *completion = choice->completion;
    choice->request = NULL;
    if (completion->n_over < completion->n_choices) {
        gw_completion_queue_next(completion);
        return;
    }
    gw_completion_leave_exchange(completion);
    answer_client(completion);
    gw_completion_destroy(completion);
}

/* Adds the stop string that ended the text to it, if the client wants to see it. */
static void show_stop(struct gw_choice *choice)
{
    const struct baton_text_stop *met = baton_text_stream_met(&choice->request->output.text);
    if (met && choice->completion->options.shows_stop)
        gw_tool_calls_push(choice, &choice->calls, met->text, met->n_bytes, parts_of(choice));
}

static void on_finish(struct gw_choice *choice)
{
    const struct gw_answer_writer *writer = writer_of(choice);
    end_logprobs(choice);
    show_stop(choice);
    end_parts(choice);
    count_choice(choice);
    if (streams(choice))
        writer->end(choice);
    else if (writer->put_choice) /* without it the result is an embedding */
        keep_result(choice);
    if (writer->done)
        writer->done(choice);
    close_choice(choice);
}

/* ---- a failure ---- */

/* Adds the tokens of a failing completion's unfinished choices to its totals. */
static void add_unfinished(struct gw_completion *completion)
{
    for (int i = 0; i < completion->n_choices; i++)
        if (completion->choices[i].request)
            completion->totals.output_tokens += completion->choices[i].request->output.tokens.n;
}

/* Writes the usage of an incomplete completion as a JSON object. */
static void put_usage(struct baton_buf *buf, const struct gw_completion *completion)
{
    const struct gw_answer_writer *writer = completion->writer;
    struct baton_json_out out = baton_json_out(buf);
    if (writer->put_usage) {
        writer->put_usage(&out, NULL, completion);
        return;
    }
    baton_json_open(&out, NULL, '{');
    baton_json_put_uint(&out, writer->usage_names[0], completion->totals.prompt_tokens);
    if (writer->usage_names[1])
        baton_json_put_uint(&out, writer->usage_names[1], completion->totals.output_tokens);
    baton_json_close(&out, '}');
}

static void answer_error(struct gw_completion *completion, const struct gw_error *error)
{
    const struct gw_answer_writer *writer = completion->writer;
    struct baton_buf data;
    if (completion->options.is_background)
        writer->failed(completion, error);
    if (!completion->begun) {
        if (completion->exchange)
            gw_exchange_respond_error(completion->exchange, error);
        return;
    }
    baton_buf_init(&data, GW_EVENT_MAX_BYTES);
    if (writer->put_failure)
        writer->put_failure(&data, completion, error);
    else
        completion->put_error(&data, error);
    gw_completion_write(completion, NULL, writer->error_event, data.data, data.len);
    gw_completion_end_stream(completion);
    baton_buf_fini(&data);
}

static void on_fail(struct gw_choice *choice, const struct gw_failure *failure)
{
    struct gw_completion *completion = choice->completion;
    struct gw_error error = {
        .status = failure->status, .code = failure->code, .message = failure->message};
    struct baton_buf usage;
    if (choice->request->exceeded_tokens) {
        error.n_prompt_tokens = (int64_t)choice->request->params.prompt.n;
        error.n_ctx = choice->request->exceeded_tokens;
    }
    if (!completion->over) { /* before the choice loses its request, whose tokens count as well */
        add_unfinished(completion);
        gw_completion_charge_rest(completion);
    }
    choice->request = NULL; /* the lifecycle destroys the request */
    if (completion->over)   /* the client has its error already */
        return;
    gw_completion_leave_exchange(completion);
    baton_buf_init(&usage, USAGE_MAX_BYTES);
    if (error.status == 504) { /* a client whose time is up learns how far it came */
        put_usage(&usage, completion);
        error.usage = &usage;
    }
    answer_error(completion, &error);
    baton_buf_fini(&usage);
    /* One HTTP status cannot report two results: the first failed choice ends the others. */
    gw_completion_drop(completion, "another choice of the completion failed");
}

const struct gw_response_writer gw_completion_writer = {.restart = on_restart,
                                                        .prompt_logprobs = on_prompt_logprobs,
                                                        .prompt_progress = on_prompt_progress,
                                                        .first = on_first,
                                                        .token = on_token,
                                                        .text = on_text,
                                                        .embedding = on_embedding,
                                                        .finish = on_finish,
                                                        .fail = on_fail};
