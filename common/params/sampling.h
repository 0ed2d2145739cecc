/* The choice of a sequence's tokens, the tokens that end it, and the reports about each.
 *
 * The scalar parameters stand in a table: their name is the same in a client's body, in the message
 * Sampling and in the struct, and the same row checks their range at both entrances. A new one is a
 * member of the struct, a row of the table, a field of the message and the stage that uses it.
 *
 * A filter is a parameter whose stage removes tokens from the draw. A new one also stands in
 * BATON_FILTERS, its stage is keep_NAME in engine/sampling/filters.c, and the page shows it by a
 * row of gateway/web/filters.js.
 *
 * Ownership: params own their bias, their allowed ids, the grammar's text and the budget's ids;
 *            zeroed they are valid to fini.
 * Threading: plain data; one owner at a time.
 * Errors:    copy: NO_MEMORY.
 */
#ifndef BATON_COMMON_PARAMS_SAMPLING_H
#define BATON_COMMON_PARAMS_SAMPLING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"
#include "common/params/grammar_text.h"
#include "common/params/thinking_budget.h"

enum {
    BATON_MAX_STOP_IDS = 72,
    BATON_MAX_LOGIT_BIAS = 1024,
    BATON_MAX_ALLOWED_IDS = 1024,
    BATON_MAX_BIAS = 100,  /* of one logit, up or down */
    BATON_MAX_LISTED = 20, /* candidates of a decision, tokens of a list of logprobs */
};

struct baton_logit_bias {
    uint32_t id;
    float bias;
};

struct baton_sampling_params {
    double temperature; /* 0: greedy, the lowest id wins ties; the filters do not run */
    double top_n_sigma; /* 0 and below: off; keeps logits that are at most so many standard
                           deviations of all logits below the highest (Tang et al., Top-n-sigma,
                           2024) */
    uint32_t top_k;     /* 0: off; ties at the k-th are kept */
    double typical_p;   /* (0, 1]; 1: off; smallest set that reaches p of tokens whose -log p is
                           closest to the entropy, ties kept (Meister et al., Locally typical
                           sampling, 2022) */
    double top_p;       /* [0, 1]; 1: off; smallest set, not empty, whose probability reaches p */
    double min_p;       /* [0, 1]; 0: off; drops tokens below min_p x the highest probability */
    double repetition_penalty; /* > 0; 1: off; logits of seen tokens: divided when positive, else
                                  multiplied (Keskar et al., CTRL, 2019) */
    double presence_penalty;   /* subtracted from the logit of every token generated so far */
    double frequency_penalty;  /* the same, once per time it was generated */
    uint32_t min_tokens;       /* stop ids are suppressed before this many tokens; 0: off */

    uint32_t explain;      /* a decision per token that lists this many candidates; 0: none */
    bool logprobs;         /* the log-probability of each token, */
    uint32_t top_logprobs; /* and of this many of the most probable ones */

    uint64_t seed;                 /* with a token's position it keys the draw */
    struct baton_logit_bias *bias; /* [n_bias] added first; each id once; ids past the vocabulary do
                                      nothing */
    size_t n_bias;
    uint32_t stop_ids[BATON_MAX_STOP_IDS]; /* [n_stop_ids] generation ends with one of these */
    size_t n_stop_ids;
    uint32_t
        *allowed_ids; /* [n_allowed_ids] no other token is drawn, unless a grammar constrains the
                              output */
    size_t n_allowed_ids;                  /* 0: all tokens may be drawn */
    struct baton_grammar_text grammar;     /* constrains the output; kind NONE: no constraint */
    struct baton_thinking_budget thinking; /* bounds the reasoning */
};

/* The values for a client that sets none: the model's own distribution. */
#define BATON_SAMPLING_DEFAULTS                                                                    \
    .temperature = 1, .typical_p = 1, .top_p = 1, .repetition_penalty = 1

/* Copies the params with all that they own. *to is unchanged on an error. */
enum baton_err
baton_sampling_params_copy(struct baton_sampling_params *to,
                           const struct baton_sampling_params *from) BATON_MUST_CHECK;
void baton_sampling_params_fini(struct baton_sampling_params *params);

/* The filters, in the order in which they run, each with the name of its parameter. At the
 * parameter's default a filter is off. A filter's place in the list is its number on the wire, so a
 * release whose list differs from the last one's has another BATON_WIRE_VERSION. */
#define BATON_FILTERS(X)                                                                           \
    X(TOP_N_SIGMA, top_n_sigma)                                                                    \
    X(TOP_K, top_k)                                                                                \
    X(TYPICAL_P, typical_p)                                                                        \
    X(TOP_P, top_p)                                                                                \
    X(MIN_P, min_p)

/* The reasons for removing a token from the draw; the wire has these numbers. */
enum baton_removal {
    BATON_KEPT,
    BATON_REMOVED_BY_GRAMMAR,
    BATON_REMOVED_BY_MIN_TOKENS,
#define X(NAME, name) BATON_REMOVED_BY_##NAME,
    BATON_FILTERS(X)
#undef X
        BATON_N_REMOVALS
};

enum {
    BATON_FIRST_FILTER = BATON_REMOVED_BY_MIN_TOKENS + 1, /* removals by filters begin here */
    BATON_N_FILTERS = BATON_N_REMOVALS - BATON_FIRST_FILTER
};

/* Returns "grammar", "min_tokens" or the filter's parameter; NULL for BATON_KEPT and outside the
 * enum. */
const char *baton_removal_name(unsigned removal);

/* True when this token ends the generation. */
bool baton_sampling_params_is_stop(const struct baton_sampling_params *params, uint32_t token);

/* True when the choice depends on the tokens before it: the sequence must then keep a history. */
static inline bool baton_sampling_needs_history(const struct baton_sampling_params *params)
{
    return params->repetition_penalty != 1 || params->presence_penalty != 0 ||
           params->frequency_penalty != 0;
}

/* True when a worker that continues the sequence needs the output so far: min_tokens and the
 * budget of thinking count it. */
static inline bool baton_sampling_needs_output(const struct baton_sampling_params *params)
{
    return baton_sampling_needs_history(params) || params->grammar.kind != BATON_GRAMMAR_NONE ||
           params->min_tokens > 0 || baton_thinking_budget_is_set(&params->thinking);
}

/* True when that history begins with the prompt: a worker that did not compute it needs its ids. */
static inline bool baton_sampling_needs_prompt(const struct baton_sampling_params *params)
{
    return params->repetition_penalty != 1;
}

/* ---- the table ---- */

enum baton_param_type {
    BATON_PARAM_REAL,  /* double */
    BATON_PARAM_COUNT, /* uint32_t */
    BATON_PARAM_FLAG,  /* bool */
};

struct baton_sampling_field {
    const char *name;
    const char *words; /* its effect, for readers of the API; NULL where routes differ */
    enum baton_param_type type;
    size_t offset; /* in struct baton_sampling_params */
    double min, max;
    bool above_min; /* min itself is out of range */
    /* A message with 0 keeps the default: its sender may not know the field. */
    bool zero_is_default;
    bool set_by_route; /* not read from bodies by this name, where OpenAI's routes differ */
};

/* Returns row index of the table, NULL past the last. */
const struct baton_sampling_field *baton_sampling_field_at(int index);
/* Returns the row of that name, NULL when there is none. */
const struct baton_sampling_field *baton_sampling_field_named(const char *name);
/* Returns the row of filter 0..BATON_N_FILTERS-1. */
const struct baton_sampling_field *baton_filter_field(int filter);

/* True when the value is in range. NaN never is, nor is infinity, even where max is infinite. */
bool baton_sampling_field_in_range(const struct baton_sampling_field *field, double value);

/* Returns the member as a number; every type of the table fits a double exactly. */
double baton_sampling_field_get(const struct baton_sampling_field *field,
                                const struct baton_sampling_params *params);
void baton_sampling_field_set(const struct baton_sampling_field *field,
                              struct baton_sampling_params *params, double value);

#endif
