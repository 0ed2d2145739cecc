#include "gateway/api/params/mixed_prompt.h"

#include <stdio.h>

#include "gateway/api/params/overflow.h"
#include "gateway/api/params/prompts.h"

static bool has(const struct baton_json *array, enum baton_json_kind kind)
{
    for (size_t i = 0; i < baton_json_size(array); i++)
        if (baton_json_kind(baton_json_at(array, i)) == kind)
            return true;
    return false;
}

bool gw_mixed_prompt_is(const struct baton_json *array)
{
    return has(array, BATON_JSON_STRING) && has(array, BATON_JSON_INT);
}

static enum baton_err add_text(const struct gw_api *api, const struct baton_json *text,
                               bool is_first, size_t most, struct baton_tokens *tokens,
                               struct baton_why *why)
{
    struct baton_tokens added = {0};
    size_t n, n_left = most - tokens->n;
    const char *bytes = baton_json_string(text, &n);
    enum baton_err err =
        is_first ? baton_tokenizer_encode_prompt(api->tokenizer, bytes, n, n_left, &added, why)
                 : baton_tokenizer_encode(api->tokenizer, bytes, n, true, n_left, &added, why);
    for (size_t i = 0; !err && i < added.n; i++)
        err = baton_tokens_push(tokens, added.ids[i]);
    baton_tokens_fini(&added);
    return err;
}

static enum baton_err add_id(const struct gw_api *api, const struct baton_json *id, size_t most,
                             struct baton_tokens *tokens, struct baton_why *why)
{
    int64_t value = baton_json_int(id);
    if (baton_json_kind(id) != BATON_JSON_INT || value < 0 || value >= api->facts->n_vocab) {
        (void)snprintf(why->text, sizeof why->text, "must be a token id from 0 to %lld or a string",
                       (long long)api->facts->n_vocab - 1);
        return BATON_INVALID;
    }
    return tokens->n < most ? baton_tokens_push(tokens, (uint32_t)value) : BATON_LIMIT;
}

void gw_mixed_prompt_read(const struct gw_api *api, struct gw_fields *fields, const char *name,
                          const struct baton_json *array, size_t most, struct baton_tokens *tokens)
{
    struct baton_why why = {""};
    for (size_t i = 0; i < baton_json_size(array) && !fields->failed; i++) {
        const struct baton_json *element = baton_json_at(array, i);
        bool is_text = baton_json_kind(element) == BATON_JSON_STRING;
        enum baton_err err = is_text ? add_text(api, element, !i, most, tokens, &why)
                                     : add_id(api, element, most, tokens, &why);
        if (err == BATON_LIMIT)
            gw_overflow_prompt(api, fields, name, most + 1, (int64_t)gw_prompts_most_tokens(api));
        else if (err)
            gw_fields_fail(fields, name, "invalid_value", "%s[%zu]: %s", name, i,
                           err == BATON_NO_MEMORY ? "no memory for it" : why.text);
    }
}
