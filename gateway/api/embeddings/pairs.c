#include "gateway/api/embeddings/pairs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/base/clock.h"
#include "gateway/api/embeddings/embeddings.h"
#include "gateway/api/params/adapters.h"
#include "gateway/api/params/overflow.h"

/* https://huggingface.co/Qwen/Qwen3-Reranker-0.6B, the card's question. */
#define BEFORE                                                                                     \
    "<|im_start|>system\nJudge whether the Document meets the requirements based on the Query "    \
    "and the Instruct provided. Note that the answer can only be \"yes\" or \"no\"."               \
    "<|im_end|>\n<|im_start|>user\n"
#define BEHIND      "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"
#define INSTRUCTION "Given a web search query, retrieve relevant passages that answer the query"

enum { QUESTION_MAX_BYTES = 256 << 20 };

static const char *const answers[GW_N_ANSWERS] = {[GW_YES] = "yes", [GW_NO] = "no"};

/* ---- what the model does ---- */

static bool is_reranker(const char *name)
{
    static const char word[] = "rerank";
    for (; *name; name++)
        if (!strncasecmp(name, word, sizeof word - 1))
            return true;
    return false;
}

static bool any_name_is(const struct gw_api *api)
{
    bool is = is_reranker(api->facts->name);
    for (int i = 0; i < api->names->n; i++)
        is = is || is_reranker(api->names->list[i]);
    return is;
}

/* Finds the tokens of the answers; false where one of them is no single token. */
static bool find_answers(const struct gw_api *api, uint32_t ids[GW_N_ANSWERS])
{
    bool found = true;
    for (int i = 0; i < GW_N_ANSWERS && found; i++) {
        struct baton_tokens tokens = {0};
        struct baton_why why;
        found = !baton_tokenizer_encode(api->tokenizer, answers[i], strlen(answers[i]), false, 1,
                                        &tokens, &why) &&
                tokens.n == 1;
        if (found)
            ids[i] = tokens.ids[0];
        baton_tokens_fini(&tokens);
    }
    return found;
}

enum gw_scoring gw_scoring_of(const struct gw_api *api)
{
    static const char begin[] = "<|im_start|>";
    uint32_t id, ids[GW_N_ANSWERS];
    if (api->facts->is_encoder)
        return api->facts->scores_pairs ? GW_SCORES_PAIRS : GW_SCORES_NOTHING;
    return any_name_is(api) &&
                   baton_tokenizer_special_id(api->tokenizer, begin, sizeof begin - 1, &id) &&
                   find_answers(api, ids)
               ? GW_SCORES_YES_NO
               : GW_SCORES_NOTHING;
}

/* ---- fields ---- */

struct gw_text gw_pairs_text(struct gw_fields *fields, const char *name,
                             const struct baton_json *json)
{
    struct gw_text text = {0};
    if (baton_json_kind(json) == BATON_JSON_OBJECT)
        json = baton_json_get(json, "text");
    text.bytes = baton_json_string(json, &text.n);
    if (!text.bytes)
        gw_fields_fail(fields, name, "invalid_type",
                       "%s: must be a string or an object with a text", name);
    return text;
}

static void read_cuts(struct gw_completion_builder *builder, struct gw_pair_options *options)
{
    static const char *const directions[] = {"right", "left", "Right", "Left"};
    struct gw_fields *fields = &builder->fields;
    int64_t most = (int64_t)gw_prompts_most_tokens(builder->api), max_document = 0;
    struct gw_prompts wanted = {0};
    gw_field_bool(fields, "truncate", &options->are_cut);
    options->are_cut_at_start =
        gw_field_word(fields, "truncation_direction", directions, 4) % 2 == 1;
    gw_field_int(fields, "max_tokens_per_doc", 1, INT32_MAX, &max_document);
    gw_prompts_read_truncation(builder->api, fields, 0, &wanted);
    options->max_document = (size_t)max_document;
    options->max_tokens = wanted.n_last ? wanted.n_last : (size_t)most;
    options->are_cut |= wanted.n_last > 0;
}

static void read_instruction(struct gw_completion_builder *builder, enum gw_scoring scoring,
                             struct gw_pair_options *options)
{
    struct gw_text *text = &options->instruction;
    text->bytes = baton_json_string(
        gw_field_of(&builder->fields, "instruction", GW_IS_STRING, "a string"), &text->n);
    if (text->bytes && text->n && scoring == GW_SCORES_PAIRS)
        gw_fields_fail(&builder->fields, "instruction", "unsupported_field",
                       "instruction: this model reads none");
    if (options->are_cut_at_start && scoring == GW_SCORES_YES_NO)
        gw_fields_fail(&builder->fields, "truncation_direction", "unsupported_field",
                       "truncation_direction: only right is supported by this model");
}

static void set_params(struct gw_completion_builder *builder, enum gw_scoring scoring)
{
    struct gw_params *shared = &builder->params.shared;
    shared->sampling = (struct baton_sampling_params){BATON_SAMPLING_DEFAULTS};
    shared->kv_cache = true;
    shared->scores = true;
    shared->pooling = gw_embeddings_pooling(builder->api);
    if (scoring != GW_SCORES_YES_NO)
        return;
    shared->asks = true;
    shared->pooling = BATON_POOLING_LAST;
    (void)find_answers(builder->api, shared->logit_ids);
}

void gw_pairs_read_options(struct gw_completion_builder *builder, struct gw_pair_options *options)
{
    const struct gw_api *api = builder->api;
    struct gw_params *shared = &builder->params.shared;
    enum gw_scoring scoring = gw_scoring_of(api);
    set_params(builder, scoring);
    gw_params_read_model(api, &builder->fields, &shared->adapters);
    read_cuts(builder, options);
    read_instruction(builder, scoring, options);
    gw_params_read_cache(api, &builder->fields, shared);
    gw_adapters_read(api, &builder->fields, &shared->adapters);
    gw_params_read_priority(&builder->fields, &shared->priority);
    gw_field_real(&builder->fields, "timeout_s", 0, true, GW_MAX_TIMEOUT_S,
                  &builder->params.timeout_s);
    (void)gw_field(&builder->fields, "user");
    if (scoring == GW_SCORES_NOTHING && !api->facts->is_encoder)
        gw_fields_fail(&builder->fields, "model", "model_not_supported",
                       "model: it is no reranker: neither a cross-encoder of one label nor a "
                       "Qwen3-Reranker by its name");
}

/* ---- prompts ---- */

/* What all pairs of a request share while their prompts are made. */
struct making {
    struct gw_completion_builder *builder;
    const struct gw_pair_options *options;
    struct gw_text query;       /* of the pair before */
    struct baton_tokens tokens; /* of that query; or of the question's end */
    struct baton_buf text;
    struct baton_why why;
};

static void fail(struct making *making, const char *name, enum baton_err err)
{
    if (err == BATON_NO_MEMORY)
        gw_fields_fail(&making->builder->fields, name, "out_of_memory", "%s: no memory for it",
                       name);
    else if (err)
        gw_fields_fail(&making->builder->fields, name, "invalid_value", "%s: %s", name,
                       making->why.text);
}

/* Appends ids to the tokens. */
static enum baton_err add(struct baton_tokens *tokens, const uint32_t *ids, size_t n)
{
    if (tokens->n + n > tokens->cap) {
        uint32_t *grown = realloc(tokens->ids, (tokens->n + n) * sizeof *grown);
        if (!grown)
            return BATON_NO_MEMORY;
        tokens->ids = grown;
        tokens->cap = tokens->n + n;
    }
    if (n)
        memcpy(tokens->ids + tokens->n, ids, n * sizeof *ids);
    tokens->n += n;
    return BATON_OK;
}

/* Leaves at most n_kept of the tokens from start on. */
static void cut(struct making *making, struct baton_tokens *tokens, size_t start, size_t n_kept)
{
    size_t n = tokens->n - start, n_over = n > n_kept ? n - n_kept : 0;
    if (making->options->are_cut_at_start && n_over)
        memmove(tokens->ids + start, tokens->ids + start + n_over, n_kept * sizeof *tokens->ids);
    tokens->n -= n_over;
    making->builder->prompts.shortening.n_tokens += n_over;
}

/* Cuts the document, which begins at start, or records the problem of a pair that is too long;
 * n_more tokens follow. */
static void fit(struct making *making, const char *name, struct baton_tokens *tokens, size_t start,
                size_t n_more)
{
    const struct gw_pair_options *options = making->options;
    size_t most = options->max_tokens, n = tokens->n + n_more;
    if (options->max_document)
        cut(making, tokens, start, options->max_document);
    if (options->are_cut && start + n_more < most)
        cut(making, tokens, start, most - start - n_more);
    if (tokens->n + n_more > most)
        gw_overflow_prompt(making->builder->api, &making->builder->fields,
                           start + n_more < most ? name : "query", n, (int64_t)most);
}

static enum baton_err encode(struct making *making, struct gw_text text, struct baton_tokens *out)
{
    return baton_tokenizer_encode(making->builder->api->tokenizer, text.bytes, text.n, false,
                                  SIZE_MAX, out, &making->why);
}

/* A cross-encoder's prompt. Its query is tokenized once for all documents. */
static void make_pair(struct making *making, const struct gw_pair *pair, struct gw_prompt *prompt)
{
    const struct baton_pair_ends ends = baton_tokenizer_pair_ends(making->builder->api->tokenizer);
    struct baton_tokens *tokens = &prompt->tokens;
    enum baton_err err = BATON_OK;
    if (making->query.bytes != pair->query.bytes) {
        making->query = pair->query;
        making->tokens.n = 0;
        err = encode(making, pair->query, &making->tokens);
    }
    if (!err)
        err = add(tokens, ends.first, (size_t)ends.n_first);
    if (!err)
        err = add(tokens, making->tokens.ids, making->tokens.n);
    if (!err)
        err = add(tokens, ends.between, (size_t)ends.n_between);
    prompt->n_first_part = (uint32_t)tokens->n;
    if (!err)
        err = encode(making, pair->document, tokens);
    if (!err)
        fit(making, pair->name, tokens, prompt->n_first_part, (size_t)ends.n_last);
    if (!err)
        err = add(tokens, ends.last, (size_t)ends.n_last);
    fail(making, pair->name, err);
}

static void put(struct baton_buf *text, const char *label, struct gw_text part)
{
    baton_buf_puts(text, label);
    baton_buf_append(text, part.bytes, part.n);
}

/* Writes the question up to the document, and returns its number of tokens. */
static enum baton_err encode_head(struct making *making, const struct gw_pair *pair,
                                  struct baton_tokens *out)
{
    static const struct baton_span special = {0, sizeof BEFORE - 1};
    static const struct gw_text own = {INSTRUCTION, sizeof INSTRUCTION - 1};
    const struct gw_text *wanted = &making->options->instruction;
    baton_buf_reset(&making->text);
    put(&making->text, BEFORE "<Instruct>: ", wanted->n ? *wanted : own);
    put(&making->text, "\n<Query>: ", pair->query);
    put(&making->text, "\n<Document>: ", pair->document);
    if (baton_buf_err(&making->text))
        return BATON_NO_MEMORY;
    return baton_tokenizer_encode_spans(making->builder->api->tokenizer, making->text.data,
                                        making->text.len, &special, 1, SIZE_MAX, out, &making->why);
}

/* The number of the question's tokens before the document. */
static enum baton_err count_head(struct making *making, const struct gw_pair *pair, size_t *n)
{
    const struct gw_pair empty = {.query = pair->query, .document = {"", 0}};
    struct baton_tokens tokens = {0};
    enum baton_err err = encode_head(making, &empty, &tokens);
    *n = tokens.n;
    baton_tokens_fini(&tokens);
    return err;
}

/* The prompt of a model that answers yes or no. The text behind the document is never cut. */
static void make_question(struct making *making, const struct gw_pair *pair,
                          struct gw_prompt *prompt)
{
    static const struct baton_span all = {0, sizeof BEHIND - 1};
    struct baton_tokens *tokens = &prompt->tokens, *behind = &making->tokens;
    size_t start = 0;
    enum baton_err err = BATON_OK;
    if (!behind->n)
        err = baton_tokenizer_encode_spans(making->builder->api->tokenizer, BEHIND, all.end, &all,
                                           1, SIZE_MAX, behind, &making->why);
    if (!err)
        err = count_head(making, pair, &start);
    if (!err)
        err = encode_head(making, pair, tokens);
    if (!err)
        fit(making, pair->name, tokens, start < tokens->n ? start : tokens->n, behind->n);
    if (!err)
        err = add(tokens, behind->ids, behind->n);
    fail(making, pair->name, err);
}

static void make_all(struct making *making, const struct gw_pair *pairs, size_t n)
{
    struct gw_prompts *prompts = &making->builder->prompts;
    bool asks = making->builder->params.shared.asks;
    prompts->items = calloc(n, sizeof *prompts->items);
    if (!prompts->items) {
        fail(making, prompts->field, BATON_NO_MEMORY);
        return;
    }
    prompts->n = n;
    prompts->is_batch = true;
    for (size_t i = 0; i < n && !making->builder->fields.failed; i++) {
        struct gw_prompt *prompt = &prompts->items[i];
        memcpy(prompt->name, pairs[i].name, sizeof prompt->name);
        baton_buf_init(&prompt->text, pairs[i].document.n + 1);
        baton_buf_append(&prompt->text, pairs[i].document.bytes, pairs[i].document.n);
        if (asks)
            make_question(making, &pairs[i], prompt);
        else
            make_pair(making, &pairs[i], prompt);
    }
}

static void make_prompts(struct gw_completion_builder *builder, const struct gw_pair *pairs,
                         size_t n, const struct gw_pair_options *options)
{
    struct making making = {.builder = builder, .options = options};
    if (builder->fields.failed)
        return;
    baton_buf_init(&making.text, QUESTION_MAX_BYTES);
    make_all(&making, pairs, n);
    baton_buf_fini(&making.text);
    baton_tokens_fini(&making.tokens);
}

void gw_pairs_start(struct gw_completion_builder *builder, const struct gw_pair *pairs, size_t n,
                    const struct gw_pair_options *options, const struct gw_answer_writer *writer)
{
    builder->options.batch = true;
    make_prompts(builder, pairs, n, options);
    gw_embeddings_start(builder, writer);
}

/* ---- scores ---- */

double gw_pairs_score(const float *values, size_t n, bool is_raw)
{
    double raw = n == GW_N_ANSWERS ? (double)values[GW_YES] - (double)values[GW_NO] : values[0];
    return is_raw ? raw : 1 / (1 + exp(-raw));
}
