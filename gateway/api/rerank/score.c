/* vLLM's route of scores. */
#include <stdio.h>
#include <stdlib.h>

#include "common/base/array.h"
#include "gateway/api/embeddings/embeddings.h"
#include "gateway/api/embeddings/pairs.h"
#include "gateway/api/rerank/rerank.h"

/* options.own of the writer. */
struct score_options {
    bool is_raw;
};

/* ---- the answer ---- */

static void keep_score(struct gw_choice *choice, const float *values, size_t n)
{
    const struct score_options *options = choice->completion->options.own;
    struct baton_json_out out = baton_json_out(&choice->result);
    baton_json_open(&out, NULL, '{');
    baton_json_put_int(&out, "index", choice->index);
    baton_json_put_string(&out, "object", "score");
    baton_json_put_exact(&out, "score", gw_pairs_score(values, n, options->is_raw));
    baton_json_close(&out, '}');
}

static void put_usage(struct baton_json_out *out, const char *key,
                      const struct gw_completion *completion)
{
    baton_json_open(out, key, '{');
    baton_json_put_uint(out, "prompt_tokens", completion->totals.prompt_tokens);
    baton_json_put_uint(out, "total_tokens", completion->totals.prompt_tokens);
    baton_json_put_int(out, "completion_tokens", 0);
    baton_json_close(out, '}');
}

static void put_answer(struct gw_completion *completion, struct baton_json_out *out)
{
    char id[GW_ANSWER_ID_BYTES];
    baton_json_put_string(out, "id", gw_choice_id(&completion->choices[0], "score", id));
    baton_json_put_string(out, "object", "list");
    baton_json_put_int(out, "created", completion->created_s);
    baton_json_put_string(out, "model", gw_completion_model(completion));
    gw_completion_put_results(completion, "data", out);
    put_usage(out, "usage", completion);
}

static const struct gw_answer_writer writer = {
    .options_bytes = sizeof(struct score_options),
    .embedding = keep_score,
    .put_answer = put_answer,
    .put_usage = put_usage,
};

/* ---- the route ---- */

/* One side of the pairs: a text, or a list of texts. */
struct side {
    const char *name;
    const struct baton_json *json;
    size_t n;
};

static struct side read_side(struct gw_fields *fields, const char *name)
{
    const struct baton_json *json =
        gw_field_of(fields, name, GW_IS_STRING | GW_IS_ARRAY, "a string or an array of strings");
    struct side side = {name, json, 1};
    if (baton_json_kind(json) == BATON_JSON_ARRAY)
        side.n = baton_json_size(json);
    if (!json)
        gw_fields_fail(fields, name, "missing_field", "%s: required", name);
    if (side.n < 1 || side.n > GW_MAX_EMBEDDINGS)
        gw_fields_fail(fields, name, "out_of_range", "%s: must hold 1 to %d texts", name,
                       GW_MAX_EMBEDDINGS);
    return side;
}

/* The side's text of pair i; the only one is that of all pairs. */
static struct gw_text text_of(struct gw_fields *fields, const struct side *side, size_t i)
{
    bool is_list = baton_json_kind(side->json) == BATON_JSON_ARRAY;
    char name[32];
    (void)snprintf(name, sizeof name, is_list ? "%s[%zu]" : "%s", side->name, i);
    return gw_pairs_text(fields, name,
                         is_list ? baton_json_at(side->json, side->n > 1 ? i : 0) : side->json);
}

static struct gw_pair *make_pairs(struct gw_fields *fields, const struct side *first,
                                  const struct side *second)
{
    struct gw_pair *pairs = NULL;
    if (first->n != 1 && first->n != second->n)
        gw_fields_fail(fields, "text_1", "invalid_value",
                       "text_1: must be one text or as many as text_2 has, %zu, not %zu", second->n,
                       first->n);
    if (!fields->failed && !(pairs = calloc(second->n, sizeof *pairs)))
        gw_fields_fail(fields, "text_2", "out_of_memory", "text_2: no memory for it");
    for (size_t i = 0; i < second->n && pairs; i++) {
        (void)snprintf(pairs[i].name, sizeof pairs[i].name, "text_2[%zu]", i);
        pairs[i].query = text_of(fields, first, i);
        pairs[i].document = text_of(fields, second, i);
    }
    return pairs;
}

void gw_score(struct gw_api *api, struct gw_exchange *exchange, const struct baton_json *body)
{
    static const struct gw_alias aliases[] = {
        {"text_1", "data_1"},       {"text_1", "queries"}, {"text_2", "data_2"},
        {"text_2", "documents"},    {"text_2", "items"},   {"use_activation", "activation"},
        {"instruction", "instruct"}};
    static const struct gw_dialect dialect = {.aliases = aliases, .n_aliases = BATON_N_OF(aliases)};
    struct gw_completion_builder builder;
    struct gw_pair_options options = {0};
    struct score_options own = {0};
    bool activates = true;
    gw_builder_init(&builder, api, exchange, body, &dialect);
    builder.options.own = &own;
    const struct side first = read_side(&builder.fields, "text_1");
    const struct side second = read_side(&builder.fields, "text_2");
    gw_field_bool(&builder.fields, "raw_scores", &own.is_raw);
    gw_field_bool(&builder.fields, "use_activation", &activates);
    own.is_raw |= !activates;
    gw_pairs_read_options(&builder, &options);
    gw_builder_end_fields(&builder);
    struct gw_pair *pairs = make_pairs(&builder.fields, &first, &second);
    gw_pairs_start(&builder, pairs, pairs ? second.n : 0, &options, &writer);
    free(pairs);
}
