#include "gateway/api/embeddings/embeddings.h"

#include <endian.h>
#include <math.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "gateway/api/params/adapters.h"

/* ---- fields ---- */

enum baton_pooling gw_embeddings_pooling(const struct gw_api *api)
{
    return api->facts->pooling ? api->facts->pooling : BATON_POOLING_LAST;
}

/* A decoder's first position sees no other, so cls is for encoders alone. */
static void read_pooling(const struct gw_api *api, struct gw_fields *fields,
                         enum baton_pooling *pooling)
{
    static const char *const words[] = {"last", "mean", "cls"};
    static const enum baton_pooling poolings[] = {BATON_POOLING_LAST, BATON_POOLING_MEAN,
                                                  BATON_POOLING_CLS};
    int i = gw_field_word(fields, "pooling", words, api->facts->is_encoder ? 3 : 2);
    if (i >= 0)
        *pooling = poolings[i];
}

void gw_embeddings_read(struct gw_completion_builder *builder,
                        struct gw_embeddings_options *options)
{
    struct gw_params *shared = &builder->params.shared;
    const struct gw_api *api = builder->api;
    int64_t dimensions = 0;
    int64_t width = api->facts->n_pooled ? api->facts->n_pooled : BATON_MAX_EMBEDDING;
    shared->sampling = (struct baton_sampling_params){BATON_SAMPLING_DEFAULTS};
    shared->pooling = gw_embeddings_pooling(api);
    shared->kv_cache = true;
    read_pooling(api, &builder->fields, &shared->pooling);
    gw_field_int(&builder->fields, "dimensions", 1, width, &dimensions);
    options->n_dimensions = (int)dimensions;
    builder->options.own = options;
    gw_params_read_cache(api, &builder->fields, shared);
    gw_adapters_read(api, &builder->fields, &shared->adapters);
    gw_params_read_priority(&builder->fields, &shared->priority);
    gw_field_real(&builder->fields, "timeout_s", 0, true, GW_MAX_TIMEOUT_S,
                  &builder->params.timeout_s);
}

void gw_embeddings_read_input(struct gw_completion_builder *builder, const char *field,
                              enum gw_prompt_list batch, bool are_cut)
{
    builder->prompts.field = field;
    builder->prompts.are_cut = are_cut;
    gw_prompts_read(builder->api, &builder->fields, batch, GW_MAX_EMBEDDINGS, &builder->prompts);
}

/* ---- start ---- */

/* Each text takes one step and no KV position for an output, as with max_new_tokens 1. */
static int64_t *lengths_of(struct gw_completion_builder *builder)
{
    int64_t *lengths = malloc(builder->prompts.n * sizeof *lengths);
    for (size_t i = 0; lengths && i < builder->prompts.n; i++)
        lengths[i] = 1;
    if (!lengths)
        gw_fields_fail(&builder->fields, builder->prompts.field, "out_of_memory",
                       "%s: no memory for it", builder->prompts.field);
    return lengths;
}

static void start(struct gw_completion_builder *builder, const struct gw_answer_writer *writer,
                  const int64_t *lengths)
{
    gw_builder_tell_dropped(builder);
    gw_completion_start(builder->api, builder->exchange, writer, &builder->options,
                        &builder->params, &builder->prompts, lengths);
}

void gw_embeddings_start(struct gw_completion_builder *builder,
                         const struct gw_answer_writer *writer)
{
    int64_t *lengths = builder->fields.failed ? NULL : lengths_of(builder);
    builder->params.tokenized_ns = baton_now_ns();
    builder->options.n_at_once = GW_EMBEDDINGS_AT_ONCE; /* a long list must not fill the queue */
    if (builder->fields.failed)
        gw_completion_refuse(builder->api, builder->exchange, &builder->fields.problem);
    else
        start(builder, writer, lengths);
    free(lengths);
    gw_builder_fini(builder);
}

/* ---- one embedding ---- */

/* The factor that scales the values to a vector of length 1; 1 for zeros, which have no
 * direction. */
static double scale_of(const float *values, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (double)values[i] * values[i];
    return sum > 0 ? 1 / sqrt(sum) : 1;
}

static void put_numbers(struct baton_buf *out, const float *values, size_t n, double scale)
{
    struct baton_json_out json = baton_json_out(out);
    baton_json_open(&json, NULL, '[');
    for (size_t i = 0; i < n; i++)
        baton_json_put_float(&json, NULL, (float)(values[i] * scale));
    baton_json_close(&json, ']');
}

enum {
    BASE64_FLOATS = 96
}; /* written at a time: a multiple of 3 bytes, so that only the end pads */

static void put_base64(struct baton_buf *out, const float *values, size_t n, double scale)
{
    unsigned char text[BASE64_FLOATS * 4 / 3 * sizeof(float) + 1];
    uint32_t words[BASE64_FLOATS];
    baton_buf_putc(out, '"');
    for (size_t done = 0; done < n; done += BASE64_FLOATS) {
        size_t n_now = n - done < BASE64_FLOATS ? n - done : BASE64_FLOATS;
        for (size_t i = 0; i < n_now; i++) {
            float value = (float)(values[done + i] * scale);
            memcpy(&words[i], &value, sizeof value);
            words[i] = htole32(words[i]);
        }
        int len = EVP_EncodeBlock(text, (const unsigned char *)words, (int)(n_now * sizeof *words));
        baton_buf_append(out, text, (size_t)len);
    }
    baton_buf_putc(out, '"');
}

void gw_embedding_keep(struct gw_choice *choice, const float *values, size_t n)
{
    const struct gw_embeddings_options *options = choice->completion->options.own;
    size_t n_wanted = (size_t)options->n_dimensions;
    size_t n_kept = n_wanted && n_wanted < n ? n_wanted : n;
    double scale = options->is_raw ? 1 : scale_of(values, n_kept);
    if (options->base64)
        put_base64(&choice->result, values, n_kept, scale);
    else
        put_numbers(&choice->result, values, n_kept, scale);
}
