#include "engine/checkpoint/adapter/peft_config.h"

#include <math.h>
#include <regex.h>
#include <stdio.h>
#include <string.h>

#include "common/base/array.h"

/* Each is compiled for each module. */
enum { MAX_PATTERNS = 1024 };

/* Other kinds of adapters, and parts of them beside A and B. They are off when absent, null, false,
 * or empty. */
static const struct {
    const char *key, *meaning;
} refused[] = {
    {"use_dora", "DoRA"},
    {"use_qalora", "QA-LoRA"},
    {"use_bdlora", "block-diagonal LoRA"},
    {"lora_bias", "a bias of B"},
    {"modules_to_save", "whole modules"},
    {"trainable_token_indices", "changed embeddings"},
    {"target_parameters", "changed parameters that are no modules"},
    {"layer_replication", "repeated layers"},
    {"alora_invocation_tokens", "activated LoRA"},
    {"arrow_config", "Arrow's routing"},
};

/* Initialisations that also change the model's own weights. */
static const char *const changed_base[] = {"pissa", "olora", "corda", "loftq"};

static bool is_off(const struct baton_json *value)
{
    switch (baton_json_kind(value)) {
    case BATON_JSON_NULL:
        return true;
    case BATON_JSON_BOOL:
        return !baton_json_bool(value);
    case BATON_JSON_ARRAY:
    case BATON_JSON_OBJECT:
        return !baton_json_size(value);
    case BATON_JSON_STRING:
        return !*baton_json_string(value, NULL);
    default:
        return false;
    }
}

static enum baton_err check_initialisation(const struct baton_json *config, struct baton_why *why)
{
    const struct baton_json *value = baton_json_get(config, "init_lora_weights");
    const char *text =
        baton_json_kind(value) == BATON_JSON_STRING ? baton_json_string(value, NULL) : "";
    for (size_t i = 0; i < BATON_N_OF(changed_base); i++)
        if (!strncmp(text, changed_base[i], strlen(changed_base[i])))
            return baton_fail(why, BATON_INVALID,
                              "init_lora_weights: \"%.40s\" changes the model's own weights; save "
                              "the adapter converted to plain LoRA",
                              text);
    return BATON_OK;
}

static enum baton_err check_forms(const struct baton_json *config, struct baton_why *why)
{
    const struct baton_json *type = baton_json_get(config, "peft_type"),
                            *bias = baton_json_get(config, "bias");
    if (!baton_json_is(type, "LORA"))
        return baton_fail(why, BATON_INVALID, "peft_type: must be \"LORA\"");
    if (!is_off(bias) && !baton_json_is(bias, "none"))
        return baton_fail(why, BATON_INVALID, "bias: must be \"none\"");
    for (size_t i = 0; i < BATON_N_OF(refused); i++)
        if (!is_off(baton_json_get(config, refused[i].key)))
            return baton_fail(why, BATON_INVALID, "%s: %s: not supported", refused[i].key,
                              refused[i].meaning);
    return check_initialisation(config, why);
}

/* A positive number, at most the bound. */
static bool is_positive(const struct baton_json *value, double *number)
{
    enum baton_json_kind kind = baton_json_kind(value);
    if (kind != BATON_JSON_INT && kind != BATON_JSON_REAL)
        return false;
    *number = baton_json_number(value);
    return *number > 0 && *number <= BATON_ADAPTER_MAX_ALPHA;
}

/* Changes Python's \d and \w, which POSIX lacks, and makes groups plain. False: too long. */
static bool translate(const char *pattern, char *out, size_t n_bytes)
{
    size_t n = (size_t)snprintf(out, n_bytes, "^(.*\\.)?(");
    if (*pattern == '^') {
        n = (size_t)snprintf(out, n_bytes, "^(");
        pattern++;
    }
    for (; *pattern && n + 16 < n_bytes; pattern++) {
        if (pattern[0] == '\\' && pattern[1] == 'd')
            n += (size_t)snprintf(out + n, n_bytes - n, "[0-9]"), pattern++;
        else if (pattern[0] == '\\' && pattern[1] == 'w')
            n += (size_t)snprintf(out + n, n_bytes - n, "[0-9A-Za-z_]"), pattern++;
        else if (pattern[0] == '(' && pattern[1] == '?' && pattern[2] == ':')
            out[n++] = '(', pattern += 2;
        else
            out[n++] = *pattern;
    }
    (void)snprintf(out + n, n_bytes - n, ")$");
    return !*pattern;
}

/* Whether regcomp compiles the pattern to a size in proportion to its own: it writes again what a
 * brace or a plus repeats, and nested groups multiply that. A reference to a group makes matching
 * slow. */
static bool is_small(const char *pattern)
{
    for (; *pattern; pattern++) {
        bool is_escape = pattern[0] == '\\' && pattern[1];
        bool repeats_group = strchr(")*+?", pattern[0]) && pattern[1] == '+';
        if (pattern[0] == '{' || repeats_group ||
            (is_escape && pattern[1] >= '1' && pattern[1] <= '9'))
            return false;
        pattern += is_escape;
    }
    return true;
}

static enum baton_err matches(const char *field, const char *pattern, const char *module,
                              bool *found, struct baton_why *why)
{
    char text[512];
    regex_t regex;
    if (!is_small(pattern) || !translate(pattern, text, sizeof text) ||
        regcomp(&regex, text, REG_EXTENDED | REG_NOSUB))
        return baton_fail(why, BATON_INVALID, "%s: the pattern \"%.80s\" is not supported", field,
                          pattern);
    *found = !regexec(&regex, module, 0, NULL, 0);
    regfree(&regex);
    return BATON_OK;
}

/* The value of the first pattern that fits the module, or of the field for all modules. */
static enum baton_err value_of(const struct baton_json *config, const char *patterns,
                               const char *field, const char *module, double *value,
                               struct baton_why *why)
{
    const struct baton_json *list = baton_json_get(config, patterns);
    if (!is_off(list) && baton_json_kind(list) != BATON_JSON_OBJECT)
        return baton_fail(why, BATON_INVALID, "%s: must be an object", patterns);
    if (baton_json_size(list) > MAX_PATTERNS)
        return baton_fail(why, BATON_INVALID, "%s: must have at most %d patterns", patterns,
                          MAX_PATTERNS);
    for (void *it = baton_json_first(list); it; it = baton_json_next(list, it)) {
        bool found = false;
        enum baton_err err = matches(patterns, baton_json_key(it), module, &found, why);
        if (err)
            return err;
        if (found && is_positive(baton_json_member(it), value))
            return BATON_OK;
        if (found)
            return baton_fail(why, BATON_INVALID, "%s: \"%.80s\" must be a number in 0..%d",
                              patterns, baton_json_key(it), BATON_ADAPTER_MAX_ALPHA);
    }
    if (is_positive(baton_json_get(config, field), value))
        return BATON_OK;
    return baton_fail(why, BATON_INVALID, "%s: must be a number above 0, at most %d", field,
                      BATON_ADAPTER_MAX_ALPHA);
}

enum baton_err baton_peft_config_check(const struct baton_json *config, double *alpha,
                                       struct baton_why *why)
{
    double rank;
    enum baton_err err = check_forms(config, why);
    if (!err)
        err = value_of(config, "rank_pattern", "r", "", &rank, why);
    return err ? err : value_of(config, "alpha_pattern", "lora_alpha", "", alpha, why);
}

enum baton_err baton_peft_config_scale(const struct baton_json *config, const char *module,
                                       int rank, double *scale, struct baton_why *why)
{
    const struct baton_json *by_root = baton_json_get(config, "use_rslora");
    double wanted, alpha;
    enum baton_err err = value_of(config, "rank_pattern", "r", module, &wanted, why);
    if (!err)
        err = value_of(config, "alpha_pattern", "lora_alpha", module, &alpha, why);
    if (err)
        return err;
    if (wanted != (double)rank)
        return baton_fail(why, BATON_INVALID, "r: %g for %.120s, whose lora_A has %d rows", wanted,
                          module, rank);
    *scale = alpha / (is_off(by_root) ? (double)rank : sqrt((double)rank));
    return BATON_OK;
}
