#include "engine/checkpoint/digest/fingerprint.h"

#include "engine/checkpoint/digest/model.h"
#include "engine/checkpoint/gguf/digest.h"

static enum baton_err digest_files(const char *model_path, struct baton_fingerprint *taken,
                                   struct baton_why *why)
{
    enum baton_err err = baton_model_digest(model_path, BATON_PART_CONFIG, taken->config, why);
    return err ? err : baton_model_digest(model_path, BATON_PART_TOKENIZER, taken->tokenizer, why);
}

static enum baton_err digest_gguf(const char *model_path, struct baton_fingerprint *taken,
                                  struct baton_why *why)
{
    struct baton_gguf_model *model;
    enum baton_err err = baton_gguf_model_open(model_path, &model, why);
    if (err)
        return err;
    err = baton_gguf_digest(model, BATON_PART_CONFIG, taken->config, why);
    if (!err)
        err = baton_gguf_digest(model, BATON_PART_TOKENIZER, taken->tokenizer, why);
    baton_gguf_model_close(model);
    return err;
}

enum baton_err baton_fingerprint_take(const char *model_path, const struct baton_cache_dirs *cache,
                                      bool with_weights, struct baton_fingerprint *fingerprint,
                                      struct baton_why *why)
{
    struct baton_fingerprint taken = {0};
    enum baton_err err = baton_gguf_model_is_at(model_path) ? digest_gguf(model_path, &taken, why)
                                                            : digest_files(model_path, &taken, why);
    if (!err && with_weights)
        err = baton_model_digest_weights(model_path, cache, taken.weights, why);
    if (!err)
        *fingerprint = taken;
    return err;
}
