#include "common/checkpoint/model_config.h"

#include <stdio.h>
#include <string.h>

#include "common/base/file.h"
#include "common/base/json.h"
#include "common/checkpoint/model_files.h"

enum { FILE_MAX_BYTES = 16 << 20, MAX_NAMES = 3 };

enum kind { SIZE, FRACTION, FLAG, TEXT };

/* A field of the struct and its key in config.json. */
struct row {
    const char *names[MAX_NAMES]; /* the first that is present counts; errors use the first */
    enum kind kind;
    size_t at;  /* of the field in the struct */
    size_t max; /* SIZE: the largest value; TEXT: the bytes of the field */
};

#define CONFIG       struct baton_model_config
#define AT(field)    offsetof(CONFIG, field)
#define BYTES(field) sizeof(((CONFIG *)0)->field)

static const struct row rows[] = {
    {{"model_type"}, TEXT, AT(model_type), BYTES(model_type)},
    {{"activation_function"}, TEXT, AT(activation), BYTES(activation)},
    {{"tie_word_embeddings"}, FLAG, AT(tied_head), 0},
    {{"scale_attn_weights"}, FLAG, AT(scales_scores), 0},
    {{"scale_attn_by_inverse_layer_idx"}, FLAG, AT(scales_by_layer), 0},
    {{"reorder_and_upcast_attn"}, FLAG, AT(upcasts_scores), 0},
    {{"add_cross_attention"}, FLAG, AT(cross_attends), 0},
    {{"layer_norm_epsilon"}, FRACTION, AT(norm_epsilon), 0},
    {{"n_layer"}, SIZE, AT(n_layers), BATON_MAX_LAYERS},
    {{"n_embd"}, SIZE, AT(n_embd), BATON_MAX_WIDTH / 4}, /* F is 4 C where it is not given */
    {{"n_head"}, SIZE, AT(n_heads), BATON_MAX_WIDTH},
    {{"n_inner"}, SIZE, AT(n_ff), BATON_MAX_WIDTH},
    {{"vocab_size"}, SIZE, AT(n_vocab), BATON_MAX_VOCAB},
    {{"n_positions", "n_ctx", "max_position_embeddings"}, SIZE, AT(n_context), BATON_MAX_CONTEXT},
};

static const CONFIG unsaid = {.tied_head = true, .scales_scores = true, .bos_id = -1};

/* ---- one key ---- */

static enum baton_err bad_size(const struct row *row, const char *name, struct baton_why *why)
{
    return baton_fail(why, BATON_INVALID, "%s: must be a whole number in 1..%zu", name, row->max);
}

static enum baton_err read_size(const struct row *row, const char *name,
                                const struct baton_json *value, int *size, struct baton_why *why)
{
    int64_t number = baton_json_int(value);
    if (baton_json_kind(value) != BATON_JSON_INT || number < 1 || number > (int64_t)row->max)
        return bad_size(row, name, why);
    *size = (int)number;
    return BATON_OK;
}

static enum baton_err read_fraction(const char *name, const struct baton_json *value,
                                    double *fraction, struct baton_why *why)
{
    enum baton_json_kind kind = baton_json_kind(value);
    double number = baton_json_number(value);
    if ((kind != BATON_JSON_REAL && kind != BATON_JSON_INT) || !(number > 0 && number < 1))
        return baton_fail(why, BATON_INVALID, "%s: must be between 0 and 1", name);
    *fraction = number;
    return BATON_OK;
}

static enum baton_err read_flag(const char *name, const struct baton_json *value, bool *flag,
                                struct baton_why *why)
{
    if (baton_json_kind(value) != BATON_JSON_BOOL)
        return baton_fail(why, BATON_INVALID, "%s: must be true or false", name);
    *flag = baton_json_bool(value);
    return BATON_OK;
}

/* A text that the field has no room for is cut: it is longer than any that the engine knows. */
static enum baton_err read_text(const struct row *row, const char *name,
                                const struct baton_json *value, char *text, struct baton_why *why)
{
    const char *given = baton_json_string(value, NULL);
    if (!given)
        return baton_fail(why, BATON_INVALID, "%s: must be given as text", name);
    (void)snprintf(text, row->max, "%s", given);
    return BATON_OK;
}

static enum baton_err read_row(const struct row *row, const struct baton_json *root, CONFIG *config,
                               struct baton_why *why)
{
    void *field = (char *)config + row->at;
    for (int i = 0; i < MAX_NAMES && row->names[i]; i++) {
        const char *name = row->names[i];
        const struct baton_json *value = baton_json_get(root, name);
        if (baton_json_kind(value) == BATON_JSON_NULL)
            continue;
        switch (row->kind) {
        case SIZE:
            return read_size(row, name, value, field, why);
        case FRACTION:
            return read_fraction(name, value, field, why);
        case FLAG:
            return read_flag(name, value, field, why);
        case TEXT:
            return read_text(row, name, value, field, why);
        }
    }
    return BATON_OK;
}

enum baton_err baton_model_config_require(const struct baton_model_config *config, const int *size,
                                          struct baton_why *why)
{
    size_t at = (size_t)((const char *)size - (const char *)config);
    if (*size)
        return BATON_OK;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].at == at)
            return bad_size(&rows[i], rows[i].names[0], why);
    return baton_fail(why, BATON_INTERNAL, "a size of no config");
}

/* ---- the ids that begin and end a text ---- */

static bool is_id(const CONFIG *config, const struct baton_json *value)
{
    return baton_json_kind(value) == BATON_JSON_INT && baton_json_int(value) >= 0 &&
           baton_json_int(value) < config->n_vocab;
}

/* A number or an array of numbers. Ids outside the vocabulary can never come up. */
static void add_eos(CONFIG *config, const struct baton_json *value)
{
    for (size_t i = 0; i < baton_json_size(value); i++)
        add_eos(config, baton_json_at(value, i));
    if (!is_id(config, value) || config->n_eos == BATON_MODEL_MAX_EOS)
        return;
    for (int i = 0; i < config->n_eos; i++)
        if (config->eos_ids[i] == baton_json_int(value))
            return;
    config->eos_ids[config->n_eos++] = baton_json_int(value);
}

/* ---- texts and files ---- */

static enum baton_err parse_object(const void *text, size_t n, struct baton_json **root,
                                   struct baton_why *why)
{
    struct baton_json *parsed = NULL;
    enum baton_err err = baton_json_parse(text, n, &parsed, why);
    if (err)
        return err;
    if (baton_json_kind(parsed) == BATON_JSON_OBJECT) {
        *root = parsed;
        return BATON_OK;
    }
    baton_json_free(parsed);
    return baton_fail(why, BATON_INVALID, "must hold one JSON object");
}

enum baton_err baton_model_config_parse(const void *text, size_t n,
                                        struct baton_model_config *config, struct baton_why *why)
{
    struct baton_json *root = NULL;
    CONFIG read = unsaid;
    enum baton_err err = parse_object(text, n, &root, why);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0] && !err; i++)
        err = read_row(&rows[i], root, &read, why);
    if (!err) {
        const struct baton_json *bos = baton_json_get(root, "bos_token_id");
        read.bos_id = is_id(&read, bos) ? baton_json_int(bos) : -1;
        add_eos(&read, baton_json_get(root, "eos_token_id"));
        *config = read;
    }
    baton_json_free(root);
    return err;
}

enum baton_err baton_model_config_parse_generation(const void *text, size_t n,
                                                   struct baton_model_config *config,
                                                   struct baton_why *why)
{
    struct baton_json *root = NULL;
    enum baton_err err = parse_object(text, n, &root, why);
    if (!err)
        add_eos(config, baton_json_get(root, "eos_token_id"));
    baton_json_free(root);
    return err;
}

static enum baton_err parse_file(const char *path,
                                 enum baton_err (*parse)(const void *text, size_t n, CONFIG *config,
                                                         struct baton_why *why),
                                 CONFIG *config, struct baton_why *why)
{
    struct baton_buf text;
    struct baton_why reason;
    baton_buf_init(&text, FILE_MAX_BYTES);
    enum baton_err err = baton_file_read(path, &text, why);
    if (!err) {
        err = parse(baton_buf_text(&text), text.len, config, &reason);
        if (err)
            (void)baton_fail(why, err, "%s: %s", path, reason.text);
    }
    baton_buf_fini(&text);
    return err;
}

enum baton_err baton_model_config_read(const char *model_path, struct baton_model_config *config,
                                       char source[PATH_MAX], struct baton_why *why)
{
    static const char generation[] = "generation_config.json";
    char path[PATH_MAX], generation_path[PATH_MAX];
    CONFIG read;
    enum baton_err err = baton_file_path(path, model_path, "config.json", why);
    if (!err)
        err = baton_file_path(generation_path, model_path, generation, why);
    if (!err)
        err = parse_file(path, baton_model_config_parse, &read, why);
    if (!err && baton_model_files_has(model_path, generation))
        err = parse_file(generation_path, baton_model_config_parse_generation, &read, why);
    if (err)
        return err;
    *config = read;
    memcpy(source, path, sizeof path);
    return BATON_OK;
}
