#include "common/params/sampling.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"

/* 0, but does not compile when the member has another type. */
#define OF_TYPE(c_type, member)                                                                    \
    (0 * sizeof(char[__builtin_types_compatible_p(                                                 \
                         c_type, __typeof__(((struct baton_sampling_params *)0)->member))          \
                         ? 1                                                                       \
                         : -1]))
#define ROW(field_type, c_type, member, ...)                                                       \
    {                                                                                              \
        .name = #member, .type = (field_type),                                                     \
        .offset = offsetof(struct baton_sampling_params, member) + OF_TYPE(c_type, member),        \
        __VA_ARGS__                                                                                \
    }
#define REAL(member, ...)  ROW(BATON_PARAM_REAL, double, member, __VA_ARGS__)
#define COUNT(member, ...) ROW(BATON_PARAM_COUNT, uint32_t, member, __VA_ARGS__)
#define FLAG(member, ...)  ROW(BATON_PARAM_FLAG, bool, member, .max = 1, __VA_ARGS__)

static const struct baton_sampling_field fields[] = {
    REAL(temperature, .max = 100,
         .words = "Divide the logits by this; 0 takes the most probable token"),
    REAL(top_n_sigma, .min = -1, .max = INFINITY,
         .words = "Keep tokens at most this many standard deviations of the logits below the "
                  "highest; 0 is off"),
    COUNT(top_k, .max = INT32_MAX, .words = "Keep this many of the most probable tokens; 0 is off"),
    REAL(typical_p, .above_min = true, .max = 1, .zero_is_default = true,
         .words = "Keep the tokens of the most typical information content with this "
                  "probability together; 1 is off"),
    REAL(top_p, .max = 1,
         .words = "Keep the smallest set of tokens with this probability together; 1 is off"),
    REAL(min_p, .max = 1,
         .words = "Remove tokens below this fraction of the highest probability; 0 is off"),
    REAL(repetition_penalty, .above_min = true, .max = INFINITY, .zero_is_default = true,
         .words = "Lower the logits of tokens that the prompt or the output contains; 1 is off"),
    REAL(presence_penalty, .min = -2, .max = 2,
         .words = "Lower the logits of tokens that the output contains"),
    REAL(frequency_penalty, .min = -2, .max = 2,
         .words = "Lower the logit of a token for each of its occurrences in the output"),
    COUNT(min_tokens, .max = INT32_MAX,
          .words = "Suppress tokens that end the output until it has this many tokens"),
    COUNT(explain, .max = BATON_MAX_LISTED,
          .words = "The number of candidates to list for each token"),
    FLAG(logprobs, .set_by_route = true),
    COUNT(top_logprobs, .max = BATON_MAX_LISTED, .set_by_route = true),
};

enum { N_FIELDS = BATON_N_OF(fields) };

const struct baton_sampling_field *baton_sampling_field_at(int index)
{
    return index < N_FIELDS ? &fields[index] : NULL;
}

const struct baton_sampling_field *baton_sampling_field_named(const char *name)
{
    for (int i = 0; i < N_FIELDS; i++)
        if (!strcmp(fields[i].name, name))
            return &fields[i];
    return NULL;
}

static const char *const filters[BATON_N_FILTERS] = {
#define X(NAME, name) #name,
    BATON_FILTERS(X)
#undef X
};

const struct baton_sampling_field *baton_filter_field(int filter)
{
    return baton_sampling_field_named(filters[filter]);
}

const char *baton_removal_name(unsigned removal)
{
    if (removal == BATON_REMOVED_BY_GRAMMAR)
        return "grammar";
    if (removal == BATON_REMOVED_BY_MIN_TOKENS)
        return "min_tokens";
    bool is_filter = removal >= BATON_FIRST_FILTER && removal < BATON_N_REMOVALS;
    return is_filter ? filters[removal - BATON_FIRST_FILTER] : NULL;
}

bool baton_sampling_field_in_range(const struct baton_sampling_field *field, double value)
{
    return isfinite(value) && value <= field->max &&
           (field->above_min ? value > field->min : value >= field->min);
}

double baton_sampling_field_get(const struct baton_sampling_field *field,
                                const struct baton_sampling_params *params)
{
    const void *member = (const char *)params + field->offset;
    switch (field->type) {
    case BATON_PARAM_REAL:
        return *(const double *)member;
    case BATON_PARAM_COUNT:
        return *(const uint32_t *)member;
    case BATON_PARAM_FLAG:
        return *(const bool *)member;
    }
    return 0;
}

void baton_sampling_field_set(const struct baton_sampling_field *field,
                              struct baton_sampling_params *params, double value)
{
    void *member = (char *)params + field->offset;
    switch (field->type) {
    case BATON_PARAM_REAL:
        *(double *)member = value;
        break;
    case BATON_PARAM_COUNT:
        *(uint32_t *)member = (uint32_t)value;
        break;
    case BATON_PARAM_FLAG:
        *(bool *)member = value != 0;
        break;
    }
}

bool baton_sampling_params_is_stop(const struct baton_sampling_params *params, uint32_t token)
{
    for (size_t i = 0; i < params->n_stop_ids; i++)
        if (params->stop_ids[i] == token)
            return true;
    return false;
}

/* Returns false without memory; *to is NULL where there is nothing to copy. */
static bool copy_array(void *to, const void *from, size_t n_bytes)
{
    void *copy = n_bytes ? malloc(n_bytes) : NULL;
    if (copy)
        memcpy(copy, from, n_bytes);
    *(void **)to = copy;
    return copy || !n_bytes;
}

enum baton_err baton_sampling_params_copy(struct baton_sampling_params *to,
                                          const struct baton_sampling_params *from)
{
    struct baton_sampling_params copy = *from;
    bool has_bias = copy_array(&copy.bias, from->bias, from->n_bias * sizeof *copy.bias);
    bool has_ids = copy_array(&copy.allowed_ids, from->allowed_ids,
                              from->n_allowed_ids * sizeof *copy.allowed_ids);
    if (has_bias && has_ids && !baton_grammar_text_copy(&copy.grammar, &from->grammar)) {
        if (!baton_thinking_budget_copy(&copy.thinking, &from->thinking)) {
            *to = copy;
            return BATON_OK;
        }
        baton_grammar_text_fini(&copy.grammar);
    }
    free(copy.bias);
    free(copy.allowed_ids);
    return BATON_NO_MEMORY;
}

void baton_sampling_params_fini(struct baton_sampling_params *params)
{
    free(params->bias);
    free(params->allowed_ids);
    params->bias = NULL;
    params->allowed_ids = NULL;
    params->n_bias = params->n_allowed_ids = 0;
    baton_grammar_text_fini(&params->grammar);
    baton_thinking_budget_fini(&params->thinking);
}
