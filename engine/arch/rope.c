#include "engine/arch/rope.h"

#include <math.h>
#include <string.h>

#include "common/base/array.h"

#define CONFIG  struct baton_rope_config
#define REQUEST struct baton_rope_request

static const double pi = 3.14159265358979323846;

static double or_else(double given, double otherwise)
{
    return given > 0 ? given : otherwise;
}

static double original_context(const REQUEST *request)
{
    if (request->config->original_context)
        return request->config->original_context;
    return request->original ? request->original : request->n_known;
}

static enum baton_err require(const char *name, double value, struct baton_why *why)
{
    if (value > 0)
        return BATON_OK;
    return baton_fail(why, BATON_INVALID, "rope_scaling.%s: must be given", name);
}

static void fill_default(struct baton_rope_spec *rope, double theta)
{
    for (int i = 0; i < rope->n_rotated / 2; i++)
        rope->inverse[i] = pow(theta, -2.0 * i / rope->n_rotated);
}

static void divide(struct baton_rope_spec *rope, double factor)
{
    for (int i = 0; i < rope->n_rotated / 2; i++)
        rope->inverse[i] /= factor;
}

/* ---- kinds of scaling ---- */

static enum baton_err scale_linear(const REQUEST *request, struct baton_rope_spec *rope,
                                   struct baton_why *why)
{
    enum baton_err err = require("factor", request->config->factor, why);
    if (!err)
        divide(rope, request->config->factor);
    return err;
}

/* Recomputes theta for the context that is served, where transformers does it for each length: keys
 * in the cache would otherwise have been rotated by another theta than later queries. */
static enum baton_err scale_dynamic(const REQUEST *request, struct baton_rope_spec *rope,
                                    struct baton_why *why)
{
    double factor = request->config->factor, n = rope->n_rotated, alpha = request->config->alpha;
    double length = fmax(request->n_context, request->n_known) / request->n_known;
    enum baton_err err = alpha > 0 ? BATON_OK : require("factor", factor, why);
    if (err)
        return err;
    if (n < 4) /* the exponent n / (n - 2) needs more than one pair */
        return baton_fail(why, BATON_INVALID,
                          "rope_scaling.rope_type: \"dynamic\" must turn 4 elements or more of a "
                          "head, not %.0f",
                          n);
    if (alpha > 0) { /* Hunyuan's, the same for all lengths */
        fill_default(rope, request->config->theta * pow(alpha, n / (n - 2)));
        return BATON_OK;
    }
    fill_default(rope, request->config->theta * pow(factor * length - (factor - 1), n / (n - 2)));
    return BATON_OK;
}

static enum baton_err scale_llama3(const REQUEST *request, struct baton_rope_spec *rope,
                                   struct baton_why *why)
{
    const CONFIG *config = request->config;
    double low = config->low_freq_factor, high = config->high_freq_factor;
    double original = config->original_context ? config->original_context : request->original;
    enum baton_err err = require("factor", config->factor, why);
    /* No value is common to all models, so a guess would shift every position without an error. */
    if (!err)
        err = require("low_freq_factor", low, why);
    if (!err)
        err = require("high_freq_factor", high, why);
    if (!err)
        err = require("original_max_position_embeddings", original, why);
    if (err)
        return err;
    if (!(high > low))
        return baton_fail(why, BATON_INVALID,
                          "rope_scaling.high_freq_factor: must be above low_freq_factor %g, not %g",
                          low, high);
    for (int i = 0; i < rope->n_rotated / 2; i++) {
        /* Turns within the original context: pairs with many keep their frequency. */
        double turns = original * rope->inverse[i] / (2 * pi);
        double kept = fmin(fmax((turns - low) / (high - low), 0), 1);
        rope->inverse[i] *= (1 - kept) / config->factor + kept;
    }
    return BATON_OK;
}

/* The index of the pair that makes that many turns within the original context. */
static double pair_of(double turns, const REQUEST *request, int n_rotated)
{
    return n_rotated * log(original_context(request) / (turns * 2 * pi)) /
           (2 * log(request->config->theta));
}

static double stretch(double factor, double mscale)
{
    return factor > 1 ? 0.1 * mscale * log(factor) + 1 : 1;
}

static double yarn_attention(const CONFIG *config, double factor)
{
    if (config->attention_factor > 0)
        return config->attention_factor;
    if (config->mscale > 0 && config->mscale_all_dim > 0)
        return stretch(factor, config->mscale) / stretch(factor, config->mscale_all_dim);
    return stretch(factor, 1);
}

static enum baton_err scale_yarn(const REQUEST *request, struct baton_rope_spec *rope,
                                 struct baton_why *why)
{
    const CONFIG *config = request->config;
    double factor = config->factor;
    double low = pair_of(or_else(config->beta_fast, 32), request, rope->n_rotated);
    double high = pair_of(or_else(config->beta_slow, 1), request, rope->n_rotated);
    if (!(factor > 0) && (config->original_context || request->original))
        factor = request->n_known / original_context(request);
    enum baton_err err = require("factor", factor, why);
    if (err)
        return err;
    if (config->truncate) { /* YaRN's ramp is between whole pairs; gpt-oss turns that off */
        low = floor(low);
        high = ceil(high);
    }
    low = fmax(low, 0);
    high = fmin(high, rope->n_rotated - 1);
    if (low == high) /* as in transformers: the ramp must not divide by zero */
        high += 0.001;
    for (int i = 0; i < rope->n_rotated / 2; i++) {
        double slowed = fmin(fmax((i - low) / (high - low), 0), 1);
        rope->inverse[i] *= slowed / factor + (1 - slowed);
    }
    rope->attention_factor = yarn_attention(config, factor);
    return BATON_OK;
}

static double longrope_attention(const REQUEST *request)
{
    const CONFIG *config = request->config;
    double original = original_context(request);
    double factor = config->original_context || request->original ? request->n_known / original
                                                                  : config->factor;
    if (config->attention_factor > 0)
        return config->attention_factor;
    return factor > 1 ? sqrt(1 + log(factor) / log(original)) : 1;
}

static enum baton_err scale_longrope(const REQUEST *request, struct baton_rope_spec *rope,
                                     struct baton_why *why)
{
    const CONFIG *config = request->config;
    const struct {
        const char *name;
        const double *factors;
        int n;
    } lists[] = {{"short_factor", config->short_factor, config->n_short},
                 {"long_factor", config->long_factor, config->n_long}};
    double original = original_context(request);
    const double *factors = lists[request->n_context > original].factors;
    for (int i = 0; i < 2; i++)
        if (lists[i].n != rope->n_rotated / 2)
            return baton_fail(why, BATON_INVALID,
                              "rope_scaling.%s: must have %d factors, one for each pair that "
                              "turns, not %d",
                              lists[i].name, rope->n_rotated / 2, lists[i].n);
    if (original < 2)
        return baton_fail(why, BATON_INVALID,
                          "original_max_position_embeddings: must be 2 or more, not %.0f",
                          original);
    for (int i = 0; i < rope->n_rotated / 2; i++)
        rope->inverse[i] /= factors[i];
    rope->attention_factor = longrope_attention(request);
    return BATON_OK;
}

/* A pair of frequency 0 keeps its place among the pairs of the whole head. */
static enum baton_err scale_proportional(const REQUEST *request, struct baton_rope_spec *rope,
                                         struct baton_why *why)
{
    int n_turning =
        (int)(request->head_dim * or_else(request->config->partial_rotary_factor, 1) / 2);
    (void)why;
    divide(rope, or_else(request->config->factor, 1));
    for (int i = n_turning; i < rope->n_rotated / 2; i++)
        rope->inverse[i] = 0;
    return BATON_OK;
}

static bool is_proportional(const REQUEST *request)
{
    return !strcmp(request->config->type, "proportional");
}

static const struct {
    const char *name;
    enum baton_err (*scale)(const REQUEST *request, struct baton_rope_spec *rope,
                            struct baton_why *why);
} kinds[] = {
    {"linear", scale_linear},
    {"dynamic", scale_dynamic},
    {"llama3", scale_llama3},
    {"yarn", scale_yarn},
    {"longrope", scale_longrope},
    {"su", scale_longrope},
    {"proportional", scale_proportional},
};

static enum baton_err scale(const REQUEST *request, struct baton_rope_spec *rope,
                            struct baton_why *why)
{
    const char *type = request->config->type;
    /* The sections of mrope differ only for pictures: a text has one position for all of them. */
    if (!*type || !strcmp(type, "default") || (!strcmp(type, "mrope") && request->config->n_mrope))
        return BATON_OK;
    if (request->config->alpha > 0 && strcmp(type, "dynamic") != 0)
        return baton_fail(why, BATON_INVALID,
                          "rope_scaling.alpha: must stand beside rope_type \"dynamic\", not \"%s\"",
                          type);
    if (request->config->n_long && !strcmp(type, "yarn")) /* early Phi-3 configs mean longrope */
        type = "longrope";
    for (size_t i = 0; i < BATON_N_OF(kinds); i++)
        if (!strcmp(kinds[i].name, type))
            return kinds[i].scale(request, rope, why);
    return baton_fail(
        why, BATON_INVALID,
        "rope_scaling.rope_type: \"%s\" is not supported (supported: default, linear, "
        "dynamic, llama3, yarn, longrope, su, proportional)",
        type);
}

/* ---- all kinds ---- */

static enum baton_err check_rotated(const REQUEST *request, int n, struct baton_why *why)
{
    if (n >= 2 && n % 2 == 0 && n <= request->head_dim && n <= BATON_MAX_ROTATED)
        return BATON_OK;
    if (n == request->head_dim)
        return baton_fail(why, BATON_INVALID,
                          "head_dim: must be an even number in 2..%d where a whole head turns, "
                          "not %d",
                          BATON_MAX_ROTATED, n);
    return baton_fail(why, BATON_INVALID,
                      "%s: must turn an even number of a head's %d elements, in 2..%d, not %d",
                      request->n_rotated ? "rotary_dim" : "partial_rotary_factor",
                      request->head_dim, BATON_MAX_ROTATED, n);
}

enum baton_err baton_rope_make(const struct baton_rope_request *request,
                               struct baton_rope_spec *rope, struct baton_why *why)
{
    const CONFIG *config = request->config;
    int n = request->n_rotated ? request->n_rotated
            : is_proportional(request)
                ? request->head_dim
                : (int)(request->head_dim * or_else(config->partial_rotary_factor, 1));
    struct baton_rope_spec made = {.n_rotated = n, .attention_factor = 1};
    enum baton_err err = check_rotated(request, n, why);
    if (!err && !(config->theta > 1))
        err = baton_fail(why, BATON_INVALID, "rope_theta: must be given");
    if (!err && config->n_mrope && config->n_mrope != n / 2)
        err = baton_fail(why, BATON_INVALID,
                         "rope_scaling.mrope_section: must add up to the %d pairs that turn, "
                         "not %d",
                         n / 2, config->n_mrope);
    if (err)
        return err;
    fill_default(&made, config->theta);
    err = scale(request, &made, why);
    if (!err)
        *rope = made;
    return err;
}

int baton_rope_most_context(const struct baton_rope_config *config, int n_known)
{
    double most = n_known;
    if (!strcmp(config->type, "dynamic") && !(config->alpha > 0))
        most = n_known * or_else(config->factor, 1);
    else if (!strcmp(config->type, "yarn")) /* Qwen 2.5 does not raise max_position_embeddings */
        most = fmax(most, config->original_context * config->factor);
    return most < BATON_MAX_CONTEXT ? (int)most : BATON_MAX_CONTEXT;
}
