#include "gateway/api/ask.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/random.h"

enum { DEFAULT_NEW_TOKENS = 20 };

/* Seeds we choose are echoed as JSON numbers that every client reads exactly. */
#define OWN_SEED_MASK (((uint64_t)1 << 53) - 1)

static void read_sampling(struct gw_fields *fields, struct gw_ask *ask)
{
    int64_t top_k = 0, seed = -1;
    ask->temperature = 1;
    ask->top_p = 1;
    gw_field_real(fields, "temperature", 0, false, 100, &ask->temperature);
    gw_field_int(fields, "top_k", 0, UINT32_MAX, &top_k);
    gw_field_real(fields, "top_p", 0, true, 1, &ask->top_p);
    gw_field_int(fields, "seed", 0, INT64_MAX, &seed);
    ask->top_k = (uint32_t)top_k;
    ask->seed = seed < 0 ? baton_random_id() & OWN_SEED_MASK : (uint64_t)seed;
}

static void read_stop_ids(const struct gw_api *api, struct gw_fields *fields, struct gw_ask *ask)
{
    bool ignore_eos = false;
    size_t room = BATON_MAX_STOP_IDS - BATON_MODEL_MAX_EOS;
    size_t n = gw_field_ids(fields, "stop_token_ids", gw_field(fields, "stop_token_ids"),
                            api->facts->n_vocab, room, ask->stop_ids);
    gw_field_bool(fields, "ignore_eos", &ignore_eos);
    for (int i = 0; i < api->facts->n_eos && !ignore_eos; i++)
        ask->stop_ids[n++] = (uint32_t)api->facts->eos_ids[i];
    ask->n_stop_ids = (int)n;
}

static void read_stops(struct gw_fields *fields, struct gw_request *request)
{
    const struct baton_json *stop = gw_field(fields, "stop");
    const char *texts[BATON_STOP_MAX];
    size_t bytes[BATON_STOP_MAX];
    bool one = baton_json_kind(stop) == BATON_JSON_STRING;
    size_t n = one ? 1 : baton_json_size(stop);
    if (fields->failed)
        return;
    if (stop && !one && baton_json_kind(stop) != BATON_JSON_ARRAY)
        gw_fields_fail(fields, "stop", "invalid_type",
                       "stop: must be a string or an array of strings");
    if (n > BATON_STOP_MAX)
        gw_fields_fail(fields, "stop", "out_of_range",
                       "stop: must hold at most %d strings, not %zu", BATON_STOP_MAX, n);
    for (size_t i = 0; i < n && !fields->failed; i++) {
        const struct baton_json *element = one ? stop : baton_json_at(stop, i);
        texts[i] = baton_json_string(element, &bytes[i]);
        if (baton_json_kind(element) != BATON_JSON_STRING || !bytes[i] ||
            bytes[i] > BATON_STOP_MAX_BYTES)
            gw_fields_fail(fields, "stop", "out_of_range",
                           "stop: each must be a string of 1 to %d bytes", BATON_STOP_MAX_BYTES);
    }
    if (!fields->failed && baton_text_stream_init(&request->text, texts, bytes, (int)n))
        gw_fields_fail(fields, "stop", "out_of_range", "stop: could not be taken");
}

/* The beginning of a text is what an empty one continues. */
static void take_bos(const struct gw_api *api, struct gw_request *request)
{
    struct baton_tokens *tokens = &request->ask.prompt;
    if (tokens->n || api->facts->bos_id < 0)
        return;
    uint32_t *ids = realloc(tokens->ids, sizeof *ids);
    if (!ids)
        return;
    ids[0] = (uint32_t)api->facts->bos_id;
    *tokens = (struct baton_tokens){.ids = ids, .n = 1, .cap = 1};
}

static void encode(struct gw_api *api, struct gw_fields *fields, struct gw_request *request,
                   const struct gw_ask_options *options)
{
    struct baton_why why = {""};
    size_t context = (size_t)api->facts->n_context_tokens;
    enum baton_err err =
        options->prompt_bytes / api->longest_token_bytes > context
            ? BATON_LIMIT
            : baton_tokenizer_encode(api->tokenizer, options->prompt_text, options->prompt_bytes,
                                     true, context, &request->ask.prompt, &why);
    if (err == BATON_LIMIT)
        gw_fields_fail(fields, "prompt", "context_length_exceeded",
                       "prompt: longer than the model's context of %zu tokens", context);
    else if (err)
        gw_fields_fail(fields, "prompt", "invalid_value", "prompt: %s", why.text);
    else
        take_bos(api, request);
}

static void take_ids(struct gw_api *api, struct gw_fields *fields, struct gw_request *request,
                     const struct baton_json *prompt)
{
    size_t n = baton_json_size(prompt), context = (size_t)api->facts->n_context_tokens;
    if (n > context) {
        gw_fields_fail(fields, "prompt", "context_length_exceeded",
                       "prompt: %zu tokens are longer than the model's context of %zu", n, context);
        return;
    }
    struct baton_tokens *tokens = &request->ask.prompt;
    tokens->ids = malloc((n ? n : 1) * sizeof *tokens->ids);
    if (!tokens->ids) {
        gw_fields_fail(fields, "prompt", "out_of_memory", "prompt: no memory for it");
        return;
    }
    tokens->cap = n;
    tokens->n = gw_field_ids(fields, "prompt", prompt, api->facts->n_vocab, n, tokens->ids);
}

static void tokenize(struct gw_api *api, struct gw_fields *fields, struct gw_request *request,
                     const struct baton_json *prompt, const struct gw_ask_options *options)
{
    if (fields->failed)
        return;
    if (options->prompt_text)
        encode(api, fields, request, options);
    else
        take_ids(api, fields, request, prompt);
    if (!request->ask.prompt.n)
        gw_fields_fail(fields, "prompt", "invalid_value", "prompt: must hold at least one token");
    request->times.tokenized_ns = baton_now_ns();
}

/* Without a wish, as many as fit up to the default; a wish that does not fit is refused. */
static void settle_length(const struct gw_api *api, struct gw_fields *fields, struct gw_ask *ask,
                          int64_t wanted)
{
    int64_t room = api->facts->n_context_tokens - (int64_t)ask->prompt.n;
    if (fields->failed)
        return;
    if (room < 1 || wanted > room) {
        gw_fields_fail(fields, room < 1 ? "prompt" : "max_new_tokens", "context_length_exceeded",
                       "prompt and max_new_tokens: %zu + %" PRId64
                       " tokens are more than the model's context of %" PRId64,
                       ask->prompt.n, wanted ? wanted : 1, api->facts->n_context_tokens);
        return;
    }
    ask->max_new_tokens = wanted ? wanted : room < DEFAULT_NEW_TOKENS ? room : DEFAULT_NEW_TOKENS;
}

bool gw_ask_read(struct gw_api *api, struct gw_fields *fields, struct gw_request *request,
                 struct gw_ask_options *options)
{
    struct gw_ask *ask = &request->ask;
    int64_t max_new_tokens = 0;
    ask->kv_cache = true;
    const struct baton_json *prompt = gw_field(fields, "prompt");
    enum baton_json_kind kind = baton_json_kind(prompt);
    options->prompt_text =
        kind == BATON_JSON_STRING ? baton_json_string(prompt, &options->prompt_bytes) : NULL;
    gw_field_int(fields, "max_new_tokens", 1, api->facts->n_context_tokens, &max_new_tokens);
    read_sampling(fields, ask);
    read_stop_ids(api, fields, ask);
    read_stops(fields, request);
    gw_field_bool(fields, "kv_cache", &ask->kv_cache);
    gw_field_bool(fields, "timeline", &options->timeline);
    gw_fields_refuse_unknown(fields);
    if (!prompt)
        gw_fields_fail(fields, "prompt", "missing_field", "prompt: required");
    if (kind != BATON_JSON_STRING && kind != BATON_JSON_ARRAY)
        gw_fields_fail(fields, "prompt", "invalid_type",
                       "prompt: must be a string or an array of token ids, not %s",
                       baton_json_kind_name(kind));
    request->times.parsed_ns = baton_now_ns();
    gw_request_set_state(api->requests, request, GW_TOKENIZING, "");
    tokenize(api, fields, request, prompt, options);
    settle_length(api, fields, ask, max_new_tokens);
    return !fields->failed;
}
