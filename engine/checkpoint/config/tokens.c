/* The ids that begin and end a text, and the sampling that a model's authors recommend. */
#include "common/base/array.h"
#include "engine/checkpoint/config/internal.h"
#include "engine/checkpoint/config/table.h"

int64_t baton_model_config_id(const struct baton_model_config *config,
                              const struct baton_json *value)
{
    bool known = baton_json_kind(value) == BATON_JSON_INT && baton_json_int(value) >= 0 &&
                 baton_json_int(value) < config->n_vocab;
    return known ? baton_json_int(value) : -1;
}

static enum baton_err add_eos(struct baton_model_config *config, int64_t id, struct baton_why *why)
{
    for (int i = 0; i < config->n_eos; i++)
        if (config->eos_ids[i] == id)
            return BATON_OK;
    if (config->n_eos == BATON_MODEL_MAX_EOS)
        return baton_fail(why, BATON_LIMIT, "eos_token_id: more than %d ids", BATON_MODEL_MAX_EOS);
    config->eos_ids[config->n_eos++] = id;
    return BATON_OK;
}

enum baton_err baton_model_config_add_eos(struct baton_model_config *config,
                                          const struct baton_json *value, struct baton_why *why)
{
    int64_t id = baton_model_config_id(config, value);
    enum baton_err err = id < 0 ? BATON_OK : add_eos(config, id, why);
    if (baton_json_kind(value) == BATON_JSON_ARRAY)
        for (size_t i = 0; i < baton_json_size(value) && !err; i++)
            err = baton_model_config_add_eos(config, baton_json_at(value, i), why);
    return err;
}

enum baton_err baton_model_config_read_sampling(const struct baton_json *object,
                                                struct baton_sampling_defaults *sampling,
                                                struct baton_why *why)
{
#define AT(field) offsetof(struct baton_sampling_defaults, field)
    static const struct baton_config_row rows[] = {
        {{"temperature"}, BATON_CONFIG_REAL, AT(temperature), 0, 1e6, 0},
        {{"top_k"}, BATON_CONFIG_SIZE, AT(top_k), -1, BATON_MAX_VOCAB, 0},
        {{"top_p"}, BATON_CONFIG_REAL, AT(top_p), 0, 1, 0},
        {{"repetition_penalty"}, BATON_CONFIG_REAL, AT(repetition_penalty), 0, 1e6, 0},
    };
#undef AT
    const struct baton_config_table table = {rows, BATON_N_OF(rows),
                                             &baton_model_config_unsaid.sampling};
    const struct baton_json *do_sample = baton_json_get(object, "do_sample");
    enum baton_json_kind kind = baton_json_kind(do_sample);
    uint64_t features = 0;
    if (kind != BATON_JSON_BOOL && kind != BATON_JSON_NULL)
        return baton_config_refuse("", "do_sample", do_sample, "true or false", why);
    if (kind == BATON_JSON_BOOL)
        sampling->do_sample = baton_json_bool(do_sample);
    return baton_config_read_table(&table, object, "", sampling, &features, why);
}
