#include "gateway/api/params/prompts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/tokenizer/detokenizer.h"
#include "gateway/api/json_util.h"
#include "gateway/api/params/mixed_prompt.h"
#include "gateway/api/params/overflow.h"

enum { TEXT_MAX_BYTES = 64 << 20 };

void gw_prompts_fini(struct gw_prompts *prompts)
{
    for (size_t i = 0; i < prompts->n; i++) {
        baton_tokens_fini(&prompts->items[i].tokens);
        baton_buf_fini(&prompts->items[i].text);
    }
    free(prompts->items);
    *prompts = (struct gw_prompts){0};
}

static const char *field_of(const struct gw_prompts *prompts)
{
    return prompts->field ? prompts->field : "prompt";
}

static void no_memory(struct gw_fields *fields, const char *name)
{
    gw_fields_fail(fields, name, "out_of_memory", "%s: no memory for it", name);
}

static bool reserve(struct gw_fields *fields, struct gw_prompts *prompts, size_t n)
{
    const char *field = field_of(prompts);
    prompts->items = calloc(n, sizeof *prompts->items);
    if (!prompts->items) {
        no_memory(fields, field);
        return false;
    }
    prompts->n = n;
    for (size_t i = 0; i < n; i++) {
        baton_buf_init(&prompts->items[i].text, TEXT_MAX_BYTES);
        (void)snprintf(prompts->items[i].name, sizeof prompts->items[i].name, "%s", field);
    }
    return true;
}

size_t gw_prompts_most_tokens(const struct gw_api *api)
{
    int64_t held = gw_fleet_prompt_tokens(api->fleet);
    return (size_t)(held < api->max_prompt_tokens ? held : api->max_prompt_tokens);
}

static void too_long(const struct gw_api *api, struct gw_fields *fields,
                     const struct gw_prompt *prompt, size_t n_tokens)
{
    gw_overflow_prompt(api, fields, prompt->name, n_tokens, (int64_t)gw_prompts_most_tokens(api));
}

/* Gives an empty prompt the token that begins a text, because a model needs at least one token. */
static void take_bos(const struct gw_api *api, struct baton_tokens *tokens)
{
    if (!tokens->n && api->facts->bos_id >= 0)
        (void)!baton_tokens_push(tokens, (uint32_t)api->facts->bos_id);
}

/* Removes the token that begins a text where the prompt began with its text already, as the answer
 * of /apply-template does. */
static void drop_second_bos(const struct gw_api *api, struct baton_tokens *tokens)
{
    int64_t bos = api->facts->bos_id;
    if (bos < 0 || tokens->n < 2 || tokens->ids[0] != bos || tokens->ids[1] != bos)
        return;
    tokens->n--;
    memmove(tokens->ids, tokens->ids + 1, tokens->n * sizeof *tokens->ids);
}

/* The same for these prompts: those that are shortened leave room for an answer. */
static size_t limit_of(const struct gw_api *api, const struct gw_prompts *prompts)
{
    size_t n_context = (size_t)gw_fleet_context_tokens(api->fleet), n = gw_prompts_most_tokens(api);
    return prompts->shortening.wanted && n_context <= n ? n_context - 1 : n;
}

void gw_prompts_read_truncation(const struct gw_api *api, struct gw_fields *fields,
                                int64_t n_answer, struct gw_prompts *prompts)
{
    int64_t most = (int64_t)gw_prompts_most_tokens(api), n = most + 1;
    int64_t rest = gw_fleet_context_tokens(api->fleet) - n_answer;
    gw_field_int(fields, "truncate_prompt_tokens", -1, most, &n);
    if (!n)
        gw_fields_fail(fields, "truncate_prompt_tokens", "out_of_range",
                       "truncate_prompt_tokens: must be -1 or an integer from 1 to %" PRId64, most);
    if (n < 0)
        n = rest < 1 ? 1 : rest < most ? rest : most;
    prompts->n_last = n <= most ? (size_t)n : 0;
}

/* Whether prompts that are too long are cut. They are tokenized as a whole, because a cut text
 * would end in other tokens. */
static bool may_cut(const struct gw_prompts *prompts)
{
    return prompts->are_cut || prompts->n_last || prompts->shortening.wanted;
}

static bool begins_with(const uint32_t *ids, const uint32_t *first, int n)
{
    return !n || !memcmp(ids, first, (size_t)n * sizeof *ids);
}

/* Drops tokens of the text, but not the special ones around it: a pooled state may be that of one
 * of them. */
static void cut_text(const struct gw_api *api, const struct gw_prompts *prompts, size_t max_tokens,
                     struct baton_tokens *tokens)
{
    const struct baton_pair_ends ends = baton_tokenizer_pair_ends(api->tokenizer);
    size_t n_first = (size_t)ends.n_first, n_last = (size_t)ends.n_last;
    size_t n = tokens->n, n_over = n - max_tokens, at;
    uint32_t *ids = tokens->ids;
    if (n_first + n_last > max_tokens)
        n_first = n_last = 0;
    if (!begins_with(ids, ends.first, (int)n_first))
        n_first = 0;
    if (!begins_with(ids + n - n_last, ends.last, (int)n_last))
        n_last = 0;
    at = prompts->are_cut_at_start ? n_first : max_tokens - n_last;
    memmove(ids + at, ids + at + n_over, (n - n_over - at) * sizeof *ids);
    tokens->n = max_tokens;
}

static void cut(const struct gw_api *api, struct gw_prompts *prompts, size_t max_tokens,
                struct baton_tokens *tokens)
{
    struct gw_shortening *shortening = &prompts->shortening;
    struct gw_shortening to_last = {0};
    if (shortening->wanted && tokens->n > max_tokens)
        gw_shorten_tokens(shortening, tokens, gw_shortening_target(shortening, max_tokens));
    if (prompts->are_cut && tokens->n > max_tokens) {
        shortening->n_tokens += tokens->n - max_tokens;
        cut_text(api, prompts, max_tokens, tokens);
    }
    if (prompts->n_last)
        gw_shorten_tokens(&to_last, tokens, prompts->n_last);
    shortening->n_tokens += to_last.n_tokens;
}

static enum baton_err encode_around(struct gw_api *api, const struct gw_prompts *prompts,
                                    const char *text, size_t n, size_t max_tokens,
                                    struct baton_tokens *tokens, struct baton_why *why)
{
    bool was_cut;
    const struct baton_fim_parts parts = {.prefix = {text, n},
                                          .suffix = {prompts->suffix, prompts->n_suffix}};
    const struct baton_fim_limits limits = {.max_tokens = max_tokens};
    return baton_fim_encode(api->tokenizer, api->fim, &parts, &limits, tokens, &was_cut, why);
}

/* The number of tokens of a text that has more than max_tokens, as far as they are counted. */
static size_t count_text(const struct gw_api *api, const char *text, size_t n, size_t max_tokens)
{
    struct baton_tokens tokens = {0};
    struct baton_why why = {""};
    size_t most = gw_overflow_most_counted(max_tokens);
    bool is_counted = !baton_tokenizer_encode_prompt(api->tokenizer, text, n, most, &tokens, &why);
    size_t n_tokens = is_counted ? tokens.n : most + 1;
    baton_tokens_fini(&tokens);
    return n_tokens;
}

static void read_text(struct gw_api *api, struct gw_fields *fields, const struct baton_json *json,
                      struct gw_prompts *prompts, struct gw_prompt *prompt)
{
    struct baton_why why = {""};
    size_t n, max_tokens = limit_of(api, prompts);
    bool any = may_cut(prompts);
    const char *text = baton_json_string(json, &n);
    baton_buf_append(&prompt->text, prompts->before, prompts->n_before);
    baton_buf_append(&prompt->text, text, n);
    if (prompts->n_before) {
        text = baton_buf_text(&prompt->text);
        n = prompt->text.len;
    }
    enum baton_err err =
        prompts->suffix
            ? encode_around(api, prompts, text, n, max_tokens, &prompt->tokens, &why)
            : baton_tokenizer_encode_prompt(api->tokenizer, text, n, any ? SIZE_MAX : max_tokens,
                                            &prompt->tokens, &why);
    drop_second_bos(api, &prompt->tokens);
    cut(api, prompts, max_tokens, &prompt->tokens);
    if (err == BATON_LIMIT)
        too_long(api, fields, prompt, count_text(api, text, n, max_tokens));
    else if (prompt->tokens.n > max_tokens)
        too_long(api, fields, prompt, prompt->tokens.n);
    else if (err)
        gw_fields_fail(fields, prompt->name, "invalid_value", "%s: %s", prompt->name, why.text);
    else
        take_bos(api, &prompt->tokens);
}

static void put_text(const struct gw_api *api, struct gw_prompt *prompt)
{
    struct baton_detokenizer detokenizer;
    baton_detokenizer_init(&detokenizer, api->tokenizer, true);
    for (size_t i = 0; i < prompt->tokens.n; i++) {
        size_t n;
        const char *bytes = baton_detokenizer_next(&detokenizer, prompt->tokens.ids[i], &n);
        if (bytes)
            baton_buf_append(&prompt->text, bytes, n);
    }
}

static void read_only_ids(struct gw_api *api, struct gw_fields *fields,
                          const struct baton_json *array, struct gw_prompt *prompt)
{
    struct baton_tokens *tokens = &prompt->tokens;
    size_t n = baton_json_size(array);
    tokens->ids = malloc((n ? n : 1) * sizeof *tokens->ids);
    if (!tokens->ids) {
        no_memory(fields, prompt->name);
        return;
    }
    tokens->cap = n;
    tokens->n = gw_field_ids(fields, prompt->name, array, api->facts->n_vocab, n, tokens->ids);
}

static void read_ids(struct gw_api *api, struct gw_fields *fields, const struct baton_json *array,
                     struct gw_prompts *prompts, struct gw_prompt *prompt)
{
    struct baton_tokens *tokens = &prompt->tokens;
    size_t n = baton_json_size(array), max_tokens = limit_of(api, prompts);
    if (gw_mixed_prompt_is(array))
        gw_mixed_prompt_read(api, fields, prompt->name, array,
                             may_cut(prompts) ? SIZE_MAX - 1 : gw_overflow_most_counted(max_tokens),
                             tokens);
    else if (!may_cut(prompts) && n > max_tokens)
        too_long(api, fields, prompt, n);
    else
        read_only_ids(api, fields, array, prompt);
    if (fields->failed)
        return;
    put_text(api, prompt);
    cut(api, prompts, max_tokens, tokens);
    if (tokens->n > max_tokens)
        too_long(api, fields, prompt, tokens->n);
}

/* The allowed forms of a prompt, by the kind of batch that the route accepts. */
static const char *const forms[] = {"a string or an array of token ids",
                                    "a string, an array of token ids or an array of either"};

/* Returns the text of llama.cpp's form of a prompt that may come with pictures; other forms as they
 * are. */
static const struct baton_json *text_of(struct gw_fields *fields, const struct baton_json *json,
                                        const struct gw_prompts *prompts,
                                        const struct gw_prompt *prompt)
{
    const struct baton_json *text = baton_json_get(json, "prompt_string");
    const struct baton_json *data = baton_json_get(json, "multimodal_data");
    if (!prompts->takes_objects || baton_json_kind(json) != BATON_JSON_OBJECT)
        return json;
    if (gw_json_is_string(data) || baton_json_size(data))
        gw_fields_fail(fields, prompt->name, "unsupported_field",
                       "%s.multimodal_data: the model reads text only", prompt->name);
    return text ? text : json;
}

static void read_prompt(struct gw_api *api, struct gw_fields *fields, const struct baton_json *json,
                        struct gw_prompts *prompts, struct gw_prompt *prompt)
{
    json = text_of(fields, json, prompts, prompt);
    if (baton_json_kind(json) == BATON_JSON_STRING)
        read_text(api, fields, json, prompts, prompt);
    else if (prompts->suffix || prompts->before)
        gw_fields_fail(fields, prompt->name, "invalid_type",
                       "%s: must be a string together with %s", prompt->name,
                       prompts->suffix ? "suffix" : "a prompt of the model");
    else if (baton_json_kind(json) != BATON_JSON_ARRAY)
        gw_fields_fail(fields, prompt->name, "invalid_type", "%s: must be %s", prompt->name,
                       forms[GW_BATCH_NONE]);
    else
        read_ids(api, fields, json, prompts, prompt);
    if (!prompt->tokens.n)
        gw_fields_fail(fields, prompt->name, "invalid_value", "%s: must hold at least one token",
                       prompt->name);
}

/* Whether the value is a batch. An array with a number is one prompt. */
static bool is_batch(const struct baton_json *json)
{
    enum baton_json_kind first = baton_json_kind(baton_json_at(json, 0));
    return baton_json_kind(json) == BATON_JSON_ARRAY && baton_json_size(json) &&
           !gw_mixed_prompt_is(json) &&
           (first == BATON_JSON_ARRAY || first == BATON_JSON_STRING || first == BATON_JSON_OBJECT);
}

static void read_batch(struct gw_api *api, struct gw_fields *fields, enum gw_prompt_list batch,
                       size_t max, const struct baton_json *json, struct gw_prompts *prompts)
{
    const char *field = field_of(prompts);
    size_t n = baton_json_size(json);
    enum baton_json_kind first = baton_json_kind(baton_json_at(json, 0));
    if (batch == GW_BATCH_NONE) {
        gw_fields_fail(fields, field, "invalid_type", "%s: must be %s, not an array of %s", field,
                       forms[batch], first == BATON_JSON_ARRAY ? "arrays" : "strings");
        return;
    }
    if (n > max) {
        gw_fields_fail(fields, field, "out_of_range", "%s: must hold at most %zu prompts, not %zu",
                       field, max, n);
        return;
    }
    if (!reserve(fields, prompts, n))
        return;
    prompts->is_batch = true;
    for (size_t i = 0; i < n && !fields->failed; i++) {
        const struct baton_json *element = baton_json_at(json, i);
        struct gw_prompt *prompt = &prompts->items[i];
        (void)snprintf(prompt->name, sizeof prompt->name, "%s[%zu]", field, i);
        read_prompt(api, fields, element, prompts, prompt);
    }
}

void gw_prompts_read(struct gw_api *api, struct gw_fields *fields, enum gw_prompt_list batch,
                     size_t max, struct gw_prompts *prompts)
{
    const char *field = field_of(prompts);
    const struct baton_json *given = baton_json_get(fields->body, field);
    bool has_text = baton_json_get(given, "prompt_string") || api->schema;
    bool may_be_object = prompts->takes_objects && has_text;
    unsigned kinds = GW_IS_STRING | GW_IS_ARRAY | (may_be_object ? GW_IS_OBJECT : 0);
    const struct baton_json *json = gw_field_of(fields, field, kinds, forms[batch]);
    if (!json)
        gw_fields_fail(fields, field, "missing_field", "%s: required", field);
    if (fields->failed)
        return;
    if (is_batch(json))
        read_batch(api, fields, batch, max, json, prompts);
    else if (reserve(fields, prompts, 1))
        read_prompt(api, fields, json, prompts, &prompts->items[0]);
}

/* Makes one prompt from ids and takes ownership of them. */
static void take_ids(struct gw_api *api, struct gw_fields *fields, struct baton_tokens *tokens,
                     struct gw_prompts *prompts)
{
    if (!reserve(fields, prompts, 1))
        return;
    prompts->items[0].tokens = *tokens;
    *tokens = (struct baton_tokens){0};
    put_text(api, &prompts->items[0]);
}

/* ---- fill in the middle ---- */

void gw_prompts_read_suffix(const struct gw_api *api, struct gw_fields *fields,
                            struct gw_prompts *prompts)
{
    struct baton_why why = {""};
    size_t n = 0;
    const char *suffix =
        baton_json_string(gw_field_of(fields, "suffix", GW_IS_STRING, "a string"), &n);
    if (!suffix || !n)
        return;
    if (baton_fim_lacks(api->fim, &why))
        gw_fields_fail(fields, "suffix", "unsupported_field", "suffix: %s", why.text);
    prompts->suffix = suffix;
    prompts->n_suffix = n;
}

void gw_prompts_read_fim(struct gw_api *api, struct gw_fields *fields,
                         const struct baton_fim_parts *parts, const struct baton_fim_limits *limits,
                         struct gw_prompts *prompts, bool *was_cut)
{
    struct baton_tokens tokens = {0};
    struct baton_why why = {""};
    if (fields->failed)
        return;
    enum baton_err err =
        baton_fim_encode(api->tokenizer, api->fim, parts, limits, &tokens, was_cut, &why);
    if (!err)
        take_ids(api, fields, &tokens, prompts);
    else if (err == BATON_LIMIT && reserve(fields, prompts, 1))
        too_long(api, fields, &prompts->items[0], limits->max_tokens + 1);
    else
        gw_fields_fail(fields, "prompt", "invalid_value", "prompt: %s", why.text);
    baton_tokens_fini(&tokens);
}

static void chat_too_long(struct gw_api *api, struct gw_fields *fields,
                          const struct baton_chat_input *input, size_t max_tokens)
{
    struct baton_tokens tokens = {0};
    struct baton_why why = {""};
    size_t most = gw_overflow_most_counted(max_tokens);
    bool is_counted =
        !baton_chat_encode(api->chat, api->tokenizer, input, most, &tokens, NULL, NULL, &why);
    gw_overflow_prompt(api, fields, "messages", is_counted ? tokens.n : most + 1,
                       (int64_t)max_tokens);
    baton_tokens_fini(&tokens);
}

/* shortening NULL: a conversation that is too long is a problem. */
static enum baton_err encode_chat(struct gw_api *api, struct gw_fields *fields,
                                  const struct baton_chat_input *input, size_t max_tokens,
                                  struct gw_shortening *shortening, struct baton_tokens *tokens,
                                  struct baton_answer_form *form,
                                  struct baton_chat_borders *borders)
{
    struct baton_why why = {""};
    struct baton_chat_input asked = *input;
    const char *problem = baton_chat_problem(api->chat);
    if (!asked.thinking)
        asked.thinking = api->thinking;
    input = &asked;
    if (!fields->failed && problem)
        gw_fields_fail(fields, "messages", "no_chat_template", "messages: %s", problem);
    if (fields->failed)
        return BATON_INVALID;
    enum baton_err err = shortening ? gw_shorten_chat(api, input, max_tokens, shortening, tokens,
                                                      form, borders, &why)
                                    : baton_chat_encode(api->chat, api->tokenizer, input,
                                                        max_tokens, tokens, form, borders, &why);
    if (err == BATON_LIMIT)
        chat_too_long(api, fields, input, max_tokens);
    else if (err)
        gw_fields_fail(fields, "messages", "invalid_value", "messages: %s", why.text);
    return err;
}

enum baton_err gw_prompts_encode_chat(struct gw_api *api, struct gw_fields *fields,
                                      const struct baton_chat_input *input, size_t max_tokens,
                                      struct baton_tokens *tokens, struct baton_answer_form *form)
{
    return encode_chat(api, fields, input, max_tokens, NULL, tokens, form, NULL);
}

void gw_prompts_read_chat(struct gw_api *api, struct gw_fields *fields,
                          const struct baton_chat_input *input, struct gw_prompts *prompts)
{
    struct baton_tokens tokens = {0};
    struct baton_answer_form form = {0};
    struct baton_chat_borders borders = {0};
    struct gw_shortening *shortening = prompts->shortening.wanted ? &prompts->shortening : NULL;
    size_t max_tokens = (size_t)api->max_prompt_tokens;
    if (shortening)
        max_tokens = limit_of(api, prompts);
    else if (prompts->n_last)
        max_tokens = SIZE_MAX;
    if (!encode_chat(api, fields, input, max_tokens, shortening, &tokens, &form,
                     api->facts->has_states ? &borders : NULL)) {
        size_t n = tokens.n;
        cut(api, prompts, SIZE_MAX, &tokens);
        if (tokens.n != n) /* the positions are others now */
            borders.n = 0;
        take_ids(api, fields, &tokens, prompts);
    }
    if (prompts->n) {
        prompts->items[0].form = form;
        prompts->items[0].borders = borders;
    }
    baton_tokens_fini(&tokens);
}

/* Puts n tokens before the prompt's, which lose the token that begins a text. */
static bool put_before(const struct gw_api *api, struct baton_tokens *tokens, const uint32_t *ids,
                       size_t n)
{
    size_t n_bos = n && tokens->n && tokens->ids[0] == (uint32_t)api->facts->bos_id;
    size_t n_own = tokens->n - n_bos;
    uint32_t *all = malloc((n + n_own) * sizeof *all);
    if (!all)
        return false;
    memcpy(all, ids, n * sizeof *all);
    memcpy(all + n, tokens->ids + n_bos, n_own * sizeof *all);
    baton_tokens_fini(tokens);
    *tokens = (struct baton_tokens){.ids = all, .n = n + n_own, .cap = n + n_own};
    return true;
}

void gw_prompts_put_before(struct gw_api *api, struct gw_fields *fields, const char *name,
                           struct gw_prompts *prompts)
{
    const struct baton_json *array =
        gw_field_of(fields, name, GW_IS_ARRAY, "an array of token ids");
    size_t n = baton_json_size(array), max_tokens = limit_of(api, prompts);
    uint32_t *ids = n && prompts->n ? malloc(n * sizeof *ids) : NULL;
    if (ids)
        n = gw_field_ids(fields, name, array, api->facts->n_vocab, n, ids);
    if (ids && !fields->failed && !put_before(api, &prompts->items[0].tokens, ids, n))
        no_memory(fields, name);
    if (ids)
        prompts->items[0].borders.n = 0;
    free(ids);
    if (!prompts->n || fields->failed)
        return;
    cut(api, prompts, max_tokens, &prompts->items[0].tokens);
    if (prompts->items[0].tokens.n > max_tokens)
        too_long(api, fields, &prompts->items[0], prompts->items[0].tokens.n);
}

static int64_t length_of(const struct gw_api *api, struct gw_fields *fields,
                         const struct gw_prompt *prompt, const char *name, int64_t wanted,
                         int64_t fallback)
{
    int64_t context = gw_fleet_context_tokens(api->fleet);
    int64_t n_left = context - (int64_t)prompt->tokens.n;
    if (n_left < 1)
        gw_overflow_prompt(api, fields, prompt->name, prompt->tokens.n, context - 1);
    else if (wanted > n_left)
        gw_overflow_output(api, fields, name, prompt->tokens.n, wanted);
    return wanted ? wanted : n_left < fallback ? n_left : fallback;
}

int64_t *gw_prompts_lengths(const struct gw_api *api, struct gw_fields *fields,
                            const struct gw_prompts *prompts, const char *name, int64_t wanted,
                            int64_t fallback)
{
    int64_t *lengths = calloc(prompts->n, sizeof *lengths);
    if (!lengths)
        no_memory(fields, "prompt");
    for (size_t i = 0; lengths && i < prompts->n; i++)
        lengths[i] = length_of(api, fields, &prompts->items[i], name, wanted, fallback);
    if (!fields->failed)
        return lengths;
    free(lengths);
    return NULL;
}
