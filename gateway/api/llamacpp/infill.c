#include "gateway/api/llamacpp/infill.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"

/* llama.cpp's --batch-size, to which it shortens prefix and suffix; and the output for which room
 * is left whatever the length, so that requests of different lengths have the same files. */
enum { BATCH_TOKENS = 2048, MIN_ROOM_TOKENS = 128 };

/* ---- the parts of the prompt ---- */

static struct baton_fim_text read_text(struct gw_fields *fields, const char *name, bool is_needed)
{
    struct baton_fim_text text;
    const struct baton_json *value = gw_field_of(fields, name, GW_IS_STRING, "a string");
    if (!value && is_needed)
        gw_fields_fail(fields, name, "missing_field", "%s: required", name);
    text.bytes = baton_json_string(value, &text.n);
    return text;
}

static const struct baton_json *read_files(struct gw_fields *fields)
{
    static const char wanted[] = "an array of {\"filename\": string, \"text\": string}";
    const struct baton_json *files = gw_field_of(fields, "input_extra", GW_IS_ARRAY, wanted);
    for (size_t i = 0; i < baton_json_size(files); i++) {
        const struct baton_json *file = baton_json_at(files, i);
        enum baton_json_kind name = baton_json_kind(baton_json_get(file, "filename"));
        if (baton_json_kind(baton_json_get(file, "text")) != BATON_JSON_STRING ||
            (name != BATON_JSON_STRING && name != BATON_JSON_NULL))
            gw_fields_fail(fields, "input_extra", "invalid_type",
                           "input_extra[%zu]: must be {\"filename\": string, \"text\": string}, "
                           "of which filename may be absent",
                           i);
    }
    return files;
}

void gw_infill_read(struct gw_completion_builder *builder, struct gw_infill *infill)
{
    struct gw_fields *fields = &builder->fields;
    infill->prefix = read_text(fields, "input_prefix", true);
    infill->suffix = read_text(fields, "input_suffix", true);
    infill->prompt = read_text(fields, "prompt", false);
    infill->files = read_files(fields);
}

static struct baton_fim_file *make_files(const struct baton_json *array)
{
    struct baton_fim_file *files = calloc(baton_json_size(array) + 1, sizeof *files);
    for (size_t i = 0; files && i < baton_json_size(array); i++) {
        const struct baton_json *name = baton_json_get(baton_json_at(array, i), "filename");
        const struct baton_json *text = baton_json_get(baton_json_at(array, i), "text");
        files[i].name = (struct baton_fim_text){"tmp", strlen("tmp")};
        if (baton_json_kind(name) == BATON_JSON_STRING)
            files[i].name.bytes = baton_json_string(name, &files[i].name.n);
        files[i].text.bytes = baton_json_string(text, &files[i].text.n);
    }
    return files;
}

/* Divides the context: the output, then prefix and suffix, then files. llama.cpp leaves small
 * contexts without files. */
static struct baton_fim_limits limits_of(const struct gw_api *api, int64_t n_predict)
{
    size_t context = (size_t)gw_fleet_context_tokens(api->fleet);
    size_t room = (size_t)(n_predict > MIN_ROOM_TOKENS ? n_predict : MIN_ROOM_TOKENS);
    room = room < context / 4 ? room : context / 4;
    size_t most = gw_prompts_most_tokens(api);
    most = most < context - room ? most : context - room;
    size_t for_file = most > BATON_N_FIM_TOKENS ? most - BATON_N_FIM_TOKENS : 0;
    size_t batch = for_file / 2 < BATCH_TOKENS ? for_file / 2 : BATCH_TOKENS;
    return (struct baton_fim_limits){.max_tokens = most, .batch = batch, .files = for_file - batch};
}

void gw_infill_set_prompt(struct gw_completion_builder *builder, const struct gw_infill *infill,
                          int64_t n_predict, bool *was_cut)
{
    struct gw_fields *fields = &builder->fields;
    struct baton_why why = {""};
    struct baton_fim_limits limits = limits_of(builder->api, n_predict);
    struct baton_fim_file *files = make_files(infill->files);
    struct baton_buf prefix;
    if (!fields->failed && baton_fim_lacks(builder->api->fim, &why)) {
        gw_fields_fail(fields, "model", "not_supported", "%s", why.text);
        fields->problem.status = 501;
    }
    if (fields->failed) {
        free(files);
        return;
    }
    /* One text: a word that the cursor divides has the tokens that it has in a file. */
    baton_buf_init(&prefix, infill->prefix.n + infill->prompt.n + 1);
    baton_buf_append(&prefix, infill->prefix.bytes, infill->prefix.n);
    baton_buf_append(&prefix, infill->prompt.bytes, infill->prompt.n);
    if (!files || baton_buf_err(&prefix))
        gw_fields_fail(fields, "input_extra", "out_of_memory", "input_extra: no memory for it");
    const struct baton_fim_parts parts = {.prefix = {baton_buf_text(&prefix), prefix.len},
                                          .suffix = infill->suffix,
                                          .files = files,
                                          .n_files = baton_json_size(infill->files),
                                          .has_repo = true};
    gw_prompts_read_fim(builder->api, fields, &parts, &limits, &builder->prompts, was_cut);
    gw_builder_add_fim_stops(builder);
    baton_buf_fini(&prefix);
    free(files);
}

/* ---- bounds of the output ---- */

/* llama.cpp's samplers. Those without a parameter of Baton's are off by their own fields, but for
 * infill, which Baton does not have. */
static const char *const samplers[] = {
    "temperature", "penalties", "top_n_sigma", "top_k", "typ_p",  "typical_p",
    "top_p",       "min_p",     "dry",         "xtc",   "infill", "adaptive_p",
};
enum {
    TEMPERATURE,
    PENALTIES,
    TOP_N_SIGMA,
    TOP_K,
    TYP_P,
    TYPICAL_P,
    TOP_P,
    MIN_P,
    DRY,
    XTC,
    INFILL
};

static void switch_off(uint32_t named, struct baton_sampling_params *params)
{
    const struct baton_sampling_params off = {BATON_SAMPLING_DEFAULTS};
    if (!(named & 1U << TEMPERATURE))
        params->temperature = off.temperature;
    if (!(named & 1U << PENALTIES)) {
        params->repetition_penalty = off.repetition_penalty;
        params->presence_penalty = params->frequency_penalty = 0;
    }
    if (!(named & 1U << TOP_N_SIGMA))
        params->top_n_sigma = 0;
    if (!(named & 1U << TOP_K))
        params->top_k = 0;
    if (!(named & (1U << TYP_P | 1U << TYPICAL_P)))
        params->typical_p = off.typical_p;
    if (!(named & 1U << TOP_P))
        params->top_p = off.top_p;
    if (!(named & 1U << MIN_P))
        params->min_p = 0;
}

static int index_of(const struct baton_json *name)
{
    int i = 0;
    while (i < (int)BATON_N_OF(samplers) && !baton_json_is(name, samplers[i]))
        i++;
    return i;
}

void gw_infill_read_samplers(struct gw_fields *fields, struct baton_sampling_params *params)
{
    const struct baton_json *names =
        gw_field_of(fields, "samplers", GW_IS_ARRAY, "an array of samplers' names");
    uint32_t named = 0;
    if (!names)
        return;
    for (size_t i = 0; i < baton_json_size(names); i++) {
        int sampler = index_of(baton_json_at(names, i));
        named |= 1U << sampler;
        if (sampler == INFILL)
            gw_fields_leave_out(fields, "samplers[%zu]", i);
        if (sampler == (int)BATON_N_OF(samplers))
            gw_fields_fail(fields, "samplers", "invalid_value",
                           "samplers[%zu]: must be temperature, penalties, top_n_sigma, top_k, "
                           "typ_p, top_p, min_p, dry, xtc, infill or adaptive_p",
                           i);
    }
    switch_off(named, params);
}

void gw_infill_read_bounds(struct gw_fields *fields, struct gw_params *params)
{
    int64_t indent = 0, ms = 0;
    gw_field_int(fields, "n_indent", 0, INT32_MAX, &indent);
    gw_field_int(fields, "t_max_predict_ms", -1, INT32_MAX, &ms);
    params->min_indent = (uint32_t)indent;
    params->max_output_ms = ms > 0 ? ms : 0;
}
