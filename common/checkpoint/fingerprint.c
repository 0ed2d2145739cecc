#include "common/checkpoint/fingerprint.h"

#include "common/checkpoint/model_digest.h"

enum baton_err baton_fingerprint_take(const char *model_path, const struct baton_cache_dirs *cache,
                                      bool with_weights, struct baton_fingerprint *fingerprint,
                                      struct baton_why *why)
{
    struct baton_fingerprint taken = {0};
    enum baton_err err = baton_model_digest(model_path, BATON_PART_CONFIG, taken.config, why);
    if (!err)
        err = baton_model_digest(model_path, BATON_PART_TOKENIZER, taken.tokenizer, why);
    if (!err && with_weights)
        err = baton_model_digest_weights(model_path, cache, taken.weights, why);
    if (!err)
        *fingerprint = taken;
    return err;
}
