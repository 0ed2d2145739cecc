#include "tools/load/http/api.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/base/array.h"

enum { SEED_MASK = INT32_MAX };

static const struct {
    const char *name, *path, *length;
} apis[] = {[LD_API_NATIVE] = {"native", "/generate/stream", "max_new_tokens"},
            [LD_API_COMPLETIONS] = {"openai-completions", "/v1/completions", "max_tokens"},
            [LD_API_CHAT] = {"openai-chat", "/v1/chat/completions", "max_tokens"}};

enum baton_err ld_api_parse(const char *option, const char *text, enum ld_api *api,
                            struct baton_why *why)
{
    for (size_t i = 0; i < BATON_N_OF(apis); i++) {
        if (strcmp(text, apis[i].name) != 0)
            continue;
        *api = (enum ld_api)i;
        return BATON_OK;
    }
    return baton_fail(why, BATON_INVALID,
                      "%s: must be native, openai-completions or openai-chat, not \"%.60s\"",
                      option, text);
}

const char *ld_api_name(enum ld_api api)
{
    return apis[api].name;
}

const char *ld_api_path(enum ld_api api)
{
    return apis[api].path;
}

/* ---- requests ---- */

static void put_messages(const struct ld_workload *workload, const struct ld_plan *plan,
                         struct baton_json_out *out)
{
    baton_json_open(out, "messages", '[');
    baton_json_open(out, NULL, '{');
    baton_json_put_string(out, "role", "user");
    ld_plan_put_prompt(workload, plan, true, out, "content");
    baton_json_close(out, '}');
    baton_json_close(out, ']');
}

static void put_stream(struct baton_json_out *out)
{
    baton_json_put_bool(out, "stream", true);
    baton_json_open(out, "stream_options", '{');
    baton_json_put_bool(out, "include_usage", true);
    baton_json_close(out, '}');
}

void ld_api_put_body(const struct ld_api_options *options, const struct ld_workload *workload,
                     const struct ld_plan *plan, struct baton_buf *body)
{
    struct baton_json_out out = baton_json_out(body);
    struct ld_rng rng = ld_rng(workload->seed, LD_STREAM_PROMPT, plan->index);
    baton_json_open(&out, NULL, '{');
    if (options->model)
        baton_json_put_string(&out, "model", options->model);
    baton_json_put_int(&out, apis[options->api].length, plan->output_tokens);
    baton_json_put_real(&out, "temperature", options->temperature);
    /* Servers differ in the width of a seed; all accept 31 bits. */
    baton_json_put_uint(&out, "seed", ld_rng_next(&rng) & SEED_MASK);
    if (options->ignore_eos)
        baton_json_put_bool(&out, "ignore_eos", true);
    if (options->api != LD_API_NATIVE)
        put_stream(&out);
    else if (options->timeline)
        baton_json_put_bool(&out, "timeline", true);
    if (options->api == LD_API_CHAT)
        put_messages(workload, plan, &out);
    else
        ld_plan_put_prompt(workload, plan, false, &out, "prompt");
    if (*options->extra) {
        baton_buf_putc(body, ',');
        baton_buf_puts(body, options->extra);
    }
    baton_json_close(&out, '}');
}

/* ---- events ---- */

static bool is_number(const struct baton_json *value)
{
    return baton_json_kind(value) == BATON_JSON_INT || baton_json_kind(value) == BATON_JSON_REAL;
}

static void read_count(const struct baton_json *object, const char *key, int64_t *count)
{
    const struct baton_json *value = baton_json_get(object, key);
    if (baton_json_kind(value) == BATON_JSON_INT && baton_json_int(value) >= 0)
        *count = baton_json_int(value);
}

static void read_time(const struct baton_json *object, const char *key, double unit_s,
                      double *seconds)
{
    const struct baton_json *value = baton_json_get(object, key);
    if (is_number(value) && baton_json_number(value) >= 0)
        *seconds = baton_json_number(value) * unit_s;
}

static void read_finish(const struct baton_json *value, struct ld_record *record)
{
    const char *reason = baton_json_string(value, NULL);
    if (reason)
        (void)snprintf(record->server.finish, sizeof record->server.finish, "%s", reason);
}

static void read_timeline(const struct baton_json *timeline, struct ld_server_view *server)
{
    const struct baton_json *stages = baton_json_get(timeline, "stages");
    read_time(timeline, "overlap_s", 1, &server->overlap_s);
    for (size_t i = 0; i < baton_json_size(stages); i++) {
        const struct baton_json *stage = baton_json_at(stages, i);
        const char *name = baton_json_string(baton_json_get(stage, "name"), NULL);
        for (int k = 0; name && k < BATON_N_STAGES; k++)
            if (!strcmp(name, baton_stage_name((enum baton_stage)k)))
                read_time(stage, "duration_s", 1, &server->stages_s[k]);
    }
}

/* Sums the stages that add up to the time to the first token. */
static double sum_to_first_token(const struct ld_server_view *server)
{
    double sum_s = 0;
    for (int i = BATON_STAGE_parse; i <= BATON_STAGE_first_token; i++)
        if (server->stages_s[i] >= 0)
            sum_s += server->stages_s[i];
    return sum_s;
}

/* Reads the names of llama.cpp, which Baton uses too, with its own stages beside them. */
static void read_timings(const struct baton_json *timings, struct ld_server_view *server)
{
    double predicted_s = -1;
    int64_t n_predicted = 0;
    read_count(timings, "cache_n", &server->cached_tokens);
    read_time(timings, "prompt_ms", 1e-3, &server->ttft_s);
    read_time(timings, "predicted_ms", 1e-3, &predicted_s);
    read_count(timings, "predicted_n", &n_predicted);
    /* The first token belongs to the prompt's time. */
    if (predicted_s >= 0 && n_predicted > 1)
        server->tpot_s = predicted_s / (double)(n_predicted - 1);
    read_time(timings, "overlap_s", 1, &server->overlap_s);
    for (int i = 0; i < BATON_N_STAGES; i++) {
        read_time(timings, baton_stage_key((enum baton_stage)i), 1, &server->stages_s[i]);
    }
    /* Baton's stages are finer than prompt_ms, and begin with the request. */
    if (server->stages_s[BATON_STAGE_first_token] >= 0)
        server->ttft_s = sum_to_first_token(server);
}

static void read_usage(const struct baton_json *usage, struct ld_server_view *server)
{
    read_count(usage, "prompt_tokens", &server->prompt_tokens);
    read_count(usage, "completion_tokens", &server->output_tokens);
    read_count(baton_json_get(usage, "prompt_tokens_details"), "cached_tokens",
               &server->cached_tokens);
}

static void mark_first(struct ld_record *record, int64_t now_ns)
{
    if (!record->first_ns)
        record->first_ns = now_ns;
}

static enum baton_err add_text(struct ld_record *record, int64_t now_ns)
{
    mark_first(record, now_ns);
    return ld_record_arrival(record, now_ns) ? BATON_OK : BATON_NO_MEMORY;
}

static enum baton_err fail(struct ld_record *record, const char *what, const char *text)
{
    (void)snprintf(record->failure, sizeof record->failure, "%s%s%s", what, *text ? ": " : "",
                   text);
    return BATON_PEER;
}

static enum baton_err fail_by_event(struct ld_record *record, const struct ld_event *event)
{
    char text[LD_FAILURE_BYTES] = "";
    (void)ld_api_error_text(event->data, event->n_data, text, sizeof text);
    return fail(record, "error event", text);
}

static void read_meta(const struct baton_json *meta, int64_t now_ns, struct ld_record *record)
{
    mark_first(record, now_ns);
    read_time(meta, "ttft_s", 1, &record->server.ttft_s);
    read_count(meta, "prompt_tokens", &record->server.prompt_tokens);
    read_count(meta, "cached_tokens", &record->server.cached_tokens);
}

static void read_summary(const struct baton_json *summary, int64_t now_ns, struct ld_record *record)
{
    struct ld_server_view *server = &record->server;
    record->finished_ns = now_ns;
    read_count(summary, "output_tokens", &server->output_tokens);
    read_count(summary, "cached_tokens", &server->cached_tokens);
    read_time(summary, "e2el_s", 1, &server->e2el_s);
    read_time(summary, "tpot_s", 1, &server->tpot_s);
    read_finish(baton_json_get(summary, "finish_reason"), record);
    read_timeline(baton_json_get(summary, "timeline"), server);
}

static enum baton_err read_native(const struct ld_event *event, int64_t now_ns,
                                  struct ld_record *record, bool *ended)
{
    bool is_summary = !strcmp(event->name, "summary");
    struct baton_json *json = NULL;
    /* A token's JSON is not parsed: the client must cost as little as possible. */
    if (!strcmp(event->name, "token") || !strcmp(event->name, "token_json"))
        return add_text(record, now_ns);
    if (!strcmp(event->name, "error"))
        return fail_by_event(record, event);
    if (!is_summary && strcmp(event->name, "meta") != 0)
        return BATON_OK;
    if (baton_json_parse(event->data, event->n_data, &json, NULL))
        return fail(record, "an event is not JSON", event->name);
    if (is_summary)
        read_summary(json, now_ns, record);
    else
        read_meta(json, now_ns, record);
    *ended = is_summary;
    baton_json_free(json);
    return BATON_OK;
}

static bool has_text(const struct baton_json *value)
{
    size_t n = 0;
    return baton_json_string(value, &n) && n;
}

static enum baton_err read_choice(enum ld_api api, const struct baton_json *choice, int64_t now_ns,
                                  struct ld_record *record)
{
    const struct baton_json *delta = baton_json_get(choice, "delta");
    const struct baton_json *reason = baton_json_get(choice, "finish_reason");
    bool text = api == LD_API_CHAT ? has_text(baton_json_get(delta, "content")) ||
                                         has_text(baton_json_get(delta, "reasoning_content"))
                                   : has_text(baton_json_get(choice, "text"));
    if (baton_json_string(reason, NULL)) {
        record->finished_ns = now_ns;
        read_finish(reason, record);
    }
    return text ? add_text(record, now_ns) : BATON_OK;
}

static enum baton_err read_openai(enum ld_api api, const struct ld_event *event, int64_t now_ns,
                                  struct ld_record *record, bool *ended)
{
    struct baton_json *json = NULL;
    if (!strcmp(event->data, "[DONE]")) {
        *ended = true;
        return record->finished_ns ? BATON_OK : fail(record, "[DONE] without a finish_reason", "");
    }
    if (baton_json_parse(event->data, event->n_data, &json, NULL))
        return fail(record, "an event is not JSON", "");
    const struct baton_json *choice = baton_json_at(baton_json_get(json, "choices"), 0);
    enum baton_err err = BATON_OK;
    if (baton_json_get(json, "error"))
        err = fail_by_event(record, event);
    else if (choice)
        err = read_choice(api, choice, now_ns, record);
    read_usage(baton_json_get(json, "usage"), &record->server);
    read_timings(baton_json_get(json, "timings"), &record->server);
    baton_json_free(json);
    return err;
}

enum baton_err ld_api_take_event(enum ld_api api, const struct ld_event *event, int64_t now_ns,
                                 struct ld_record *record, bool *ended)
{
    if (api == LD_API_NATIVE)
        return read_native(event, now_ns, record, ended);
    return read_openai(api, event, now_ns, record, ended);
}

bool ld_api_error_text(const char *body, size_t n, char *text, size_t size)
{
    struct baton_json *json = NULL;
    if (baton_json_parse(body, n, &json, NULL))
        return false;
    const struct baton_json *error = baton_json_get(json, "error");
    const char *cause = baton_json_string(baton_json_get(error, "code"), NULL);
    if (!cause)
        cause = baton_json_string(baton_json_get(error, "message"), NULL);
    if (!cause)
        cause = baton_json_string(error, NULL);
    if (cause)
        (void)snprintf(text, size, "%s", cause);
    baton_json_free(json);
    return cause != NULL;
}
