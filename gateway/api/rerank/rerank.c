#include "gateway/api/rerank/rerank.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/base/array.h"
#include "gateway/api/embeddings/embeddings.h"
#include "gateway/api/embeddings/pairs.h"
#include "gateway/api/tgi/writer.h"

enum { SEARCH_UNIT_DOCUMENTS = 100 }; /* Cohere's */

/* options.own of the writer. */
struct rerank_options {
    int64_t top_n; /* 0: all */
    bool returns_documents, is_raw, is_tei;
};

struct scored {
    double score; /* a choice's own state */
};

/* ---- the answer ---- */

static void keep_score(struct gw_choice *choice, const float *values, size_t n)
{
    const struct rerank_options *options = choice->completion->options.own;
    struct scored *scored = choice->own;
    scored->score = gw_pairs_score(values, n, options->is_raw);
}

static double score_of(const struct gw_choice *choice)
{
    return ((const struct scored *)choice->own)->score;
}

/* The best first; equal ones in the order of the request. */
static int compare(const void *a, const void *b)
{
    const struct gw_choice *left = *(const struct gw_choice *const *)a;
    const struct gw_choice *right = *(const struct gw_choice *const *)b;
    double difference = score_of(right) - score_of(left);
    return difference > 0 ? 1 : difference < 0 ? -1 : left->index - right->index;
}

static void put_result(struct baton_json_out *out, const struct gw_choice *choice,
                       const struct rerank_options *options)
{
    const struct baton_buf *text = &choice->prompt->text;
    baton_json_open(out, NULL, '{');
    baton_json_put_int(out, "index", choice->index);
    baton_json_put_exact(out, options->is_tei ? "score" : "relevance_score", score_of(choice));
    if (options->returns_documents && !options->is_tei)
        baton_json_open(out, "document", '{');
    if (options->returns_documents)
        baton_json_put_text(out, "text", baton_buf_text(text), text->len);
    if (options->returns_documents && !options->is_tei)
        baton_json_close(out, '}');
    baton_json_close(out, '}');
}

static void put_results(const struct gw_completion *completion, struct baton_json_out *out)
{
    const struct rerank_options *options = completion->options.own;
    size_t n = (size_t)completion->n_choices, most = options->top_n ? (size_t)options->top_n : n;
    const struct gw_choice **order = malloc(n * sizeof(struct gw_choice *));
    if (!order) {
        out->buf->err = BATON_NO_MEMORY;
        return;
    }
    for (size_t i = 0; i < n; i++)
        order[i] = &completion->choices[i];
    qsort(order, n, sizeof *order, compare);
    for (size_t i = 0; i < n && i < most; i++)
        put_result(out, order[i], options);
    free(order);
}

static void put_usage(struct baton_json_out *out, const char *key,
                      const struct gw_completion *completion)
{
    baton_json_open(out, key, '{');
    baton_json_put_uint(out, "prompt_tokens", completion->totals.prompt_tokens);
    baton_json_put_uint(out, "total_tokens", completion->totals.prompt_tokens);
    baton_json_close(out, '}');
}

static void put_meta(struct baton_json_out *out, const struct gw_completion *completion)
{
    baton_json_open(out, "meta", '{');
    baton_json_open(out, "api_version", '{');
    baton_json_put_string(out, "version", "2");
    baton_json_close(out, '}');
    baton_json_open(out, "billed_units", '{');
    baton_json_put_int(out, "search_units",
                       (completion->n_choices + SEARCH_UNIT_DOCUMENTS - 1) / SEARCH_UNIT_DOCUMENTS);
    baton_json_close(out, '}');
    baton_json_close(out, '}');
}

static bool is_array(const struct gw_completion *completion)
{
    return ((const struct rerank_options *)completion->options.own)->is_tei;
}

static void put_answer(struct gw_completion *completion, struct baton_json_out *out)
{
    char id[GW_ANSWER_ID_BYTES];
    if (is_array(completion)) {
        put_results(completion, out);
        return;
    }
    baton_json_put_string(out, "id", gw_choice_id(&completion->choices[0], "rerank", id));
    baton_json_put_string(out, "object", "list");
    baton_json_put_string(out, "model", gw_completion_model(completion));
    baton_json_open(out, "results", '[');
    put_results(completion, out);
    baton_json_close(out, ']');
    put_usage(out, "usage", completion);
    put_meta(out, completion);
}

static const struct gw_answer_writer writer = {
    .options_bytes = sizeof(struct rerank_options),
    .choice_bytes = sizeof(struct scored),
    .embedding = keep_score,
    .put_answer = put_answer,
    .is_array = is_array,
    .put_usage = put_usage,
};

/* ---- the routes ---- */

static const struct gw_alias aliases[] = {{"documents", "texts"},
                                          {"return_documents", "return_text"},
                                          {"instruction", "instruct"},
                                          {"top_n", "top_k"}};
static const struct gw_dialect dialect = {.aliases = aliases, .n_aliases = BATON_N_OF(aliases)};

/* Reads the pairs of the query and each document; NULL after a problem. */
static struct gw_pair *read_pairs(struct gw_fields *fields, const struct baton_json *query,
                                  const struct baton_json *documents, const char *name, size_t *n)
{
    struct gw_pair *pairs = NULL;
    *n = baton_json_size(documents);
    if (!query)
        gw_fields_fail(fields, "query", "missing_field", "query: required");
    if (*n < 1 || *n > GW_MAX_EMBEDDINGS)
        gw_fields_fail(fields, "documents", documents ? "out_of_range" : "missing_field",
                       "documents: must hold 1 to %d of them", GW_MAX_EMBEDDINGS);
    if (!fields->failed && !(pairs = calloc(*n, sizeof *pairs)))
        gw_fields_fail(fields, "documents", "out_of_memory", "documents: no memory for them");
    for (size_t i = 0; i < *n && pairs; i++) {
        (void)snprintf(pairs[i].name, sizeof pairs[i].name, "%s[%zu]", name, i);
        pairs[i].query = i ? pairs[0].query : gw_pairs_text(fields, "query", query);
        pairs[i].document = gw_pairs_text(fields, pairs[i].name, baton_json_at(documents, i));
    }
    return pairs;
}

static void rerank(struct gw_api *api, struct gw_exchange *exchange, const struct baton_json *body,
                   bool returns_documents)
{
    struct gw_completion_builder builder;
    struct gw_fields *fields = &builder.fields;
    struct gw_pair_options options = {0};
    struct rerank_options own = {.is_tei = baton_json_kind(baton_json_get(body, "texts")) ==
                                           BATON_JSON_ARRAY};
    bool activates = true;
    size_t n;
    if (own.is_tei && exchange)
        gw_tgi_errors.mark(exchange);
    own.returns_documents = returns_documents && !own.is_tei;
    gw_builder_init(&builder, api, exchange, body, &dialect);
    builder.options.own = &own;
    const struct baton_json *query = gw_field_of(fields, "query", GW_IS_STRING | GW_IS_OBJECT,
                                                 "a string or an object with a text");
    const struct baton_json *documents =
        gw_field_of(fields, "documents", GW_IS_ARRAY, "an array of strings or of objects");
    gw_field_int(fields, "top_n", 0, INT32_MAX, &own.top_n);
    gw_field_bool(fields, "return_documents", &own.returns_documents);
    gw_field_bool(fields, "raw_scores", &own.is_raw);
    gw_field_bool(fields, "use_activation", &activates);
    own.is_raw |= !activates;
    gw_pairs_read_options(&builder, &options);
    gw_builder_end_fields(&builder);
    struct gw_pair *pairs =
        read_pairs(fields, query, documents, own.is_tei ? "texts" : "documents", &n);
    gw_pairs_start(&builder, pairs, n, &options, &writer);
    free(pairs);
}

void gw_rerank(struct gw_api *api, struct gw_exchange *exchange, const struct baton_json *body)
{
    rerank(api, exchange, body, true);
}

void gw_rerank_bare(struct gw_api *api, struct gw_exchange *exchange, const struct baton_json *body)
{
    rerank(api, exchange, body, false);
}
