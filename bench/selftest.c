/* baton-bench selftest: compares the sampler with figures computed by hand: softmax at three
 * temperatures, greedy, the filters, the penalties, the draw. A line that differs is an error. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/bench.h"
#include "common/base/array.h"
#include "engine/sampling/philox.h"
#include "engine/sampling/sampler.h"

enum { N_VOCAB = 5, TEXT_BYTES = 64, N_OUTPUT = 4 };

struct line {
    const char *name;
    int n, decimals; /* number of figures, and the decimals that are known of them */
    double expected[N_VOCAB], got[N_VOCAB];
};

static const float first[N_VOCAB] = {2.0F, -1.5F, 0.3F, 4.2F, -0.8F};
static const float second[N_VOCAB] = {2.1F, -0.5F, 0.3F, 1.2F, -1.0F};

static const struct distribution {
    const char *name;
    const float *logits;
    double temperature, top_p, min_p;
    uint32_t top_k;
    int decimals;
    double expected[N_VOCAB];
} distributions[] = {
    {"softmax", first, 1, 1, 0, 0, 4, {.0971, .0029, .0177, .8763, .0059}},
    {"temperature 0.7", first, 0.7, 1, 0, 0, 4, {.0412, .0003, .0036, .9542, .0008}},
    {"temperature 2", first, 2, 1, 0, 0, 4, {.2061, .0358, .0881, .6192, .0508}},
    {"top-k 2", first, 1, 1, 0, 2, 3, {.100, 0, 0, .900, 0}},
    {"top-p 0.9", first, 1, 0.9, 0, 0, 3, {.100, 0, 0, .900, 0}},
    {"min-p 0.1", first, 1, 1, 0.1, 0, 3, {.100, 0, 0, .900, 0}},
    {"softmax, second row", second, 1, 1, 0, 0, 4, {.5913, .0439, .0977, .2404, .0266}},
};

/* Token 0 has logit 3 and was generated N_OUTPUT times; token 1 has -3 and was in the prompt. */
static const struct penalty {
    const char *name;
    double repetition, presence, frequency;
    float bias; /* of token 1 */
    double expected[2];
} penalties[] = {
    {"presence .2, frequency .1", 1, 0.2, 0.1, 0, {2.4, -3}},
    {"repetition 2", 2, 0, 0, 0, {1.5, -6}},
    {"bias 2, repetition 2", 2, 0, 0, 2, {1.5, -2}},
};

static const char *join(const double *figures, int n, int decimals, char text[TEXT_BYTES])
{
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < n && used < TEXT_BYTES; i++)
        used += (size_t)snprintf(text + used, TEXT_BYTES - used, "%s%.*f", i ? " " : "", decimals,
                                 figures[i]);
    return text;
}

static bool print_line(const struct line *line)
{
    char expected[TEXT_BYTES], got[TEXT_BYTES];
    /* Half a unit of the last known decimal. */
    double tolerance = 0.5 * pow(10, -line->decimals) + 1e-9;
    bool same = true;
    for (int i = 0; i < line->n; i++)
        same = same && fabs(line->expected[i] - line->got[i]) <= tolerance;
    (void)printf("%-26s %-35s %-35s %s\n", line->name,
                 join(line->expected, line->n, line->decimals, expected),
                 join(line->got, line->n, line->decimals, got), same ? "ok" : "DIFFERS");
    return same;
}

static bool check_distribution(struct baton_sampler *sampler, const struct distribution *check)
{
    const struct baton_sampling_params sampling = {.temperature = check->temperature,
                                                   .top_k = check->top_k,
                                                   .top_p = check->top_p,
                                                   .min_p = check->min_p,
                                                   .repetition_penalty = 1};
    struct line line = {.name = check->name, .n = N_VOCAB, .decimals = check->decimals};
    struct baton_decision decision;
    memcpy(line.expected, check->expected, sizeof check->expected);
    (void)baton_sampler_explain(sampler, check->logits, &sampling, NULL, 0, N_VOCAB, &decision);
    for (int i = 0; i < decision.n_candidates; i++)
        line.got[decision.candidates[i].token] = decision.candidates[i].prob;
    return print_line(&line);
}

static bool check_penalty(struct baton_sampler *sampler, const struct penalty *check,
                          const struct baton_history *history)
{
    const float logits[N_VOCAB] = {3, -3};
    struct baton_logit_bias bias = {.id = 1, .bias = check->bias};
    const struct baton_sampling_params sampling = {.top_p = 1,
                                                   .repetition_penalty = check->repetition,
                                                   .presence_penalty = check->presence,
                                                   .frequency_penalty = check->frequency,
                                                   .bias = &bias,
                                                   .n_bias = 1};
    struct line line = {.name = check->name, .n = 2, .decimals = 1};
    struct baton_decision decision;
    memcpy(line.expected, check->expected, sizeof check->expected);
    (void)baton_sampler_explain(sampler, logits, &sampling, history, 0, N_VOCAB, &decision);
    for (int i = 0; i < decision.n_candidates; i++)
        if (decision.candidates[i].token < (uint32_t)line.n)
            line.got[decision.candidates[i].token] = decision.candidates[i].logit_penalized;
    return print_line(&line);
}

static bool check_greedy(struct baton_sampler *sampler)
{
    const struct baton_sampling_params greedy = {.top_p = 1, .repetition_penalty = 1};
    struct line line = {.name = "greedy token", .n = 1, .expected = {3}};
    line.got[0] = baton_sampler_pick(sampler, first, &greedy, NULL, 0);
    return print_line(&line);
}

/* Checks the first of Random123's known answers for philox4x32-10: e169c58d6627e8d5 in 64 bits. */
static bool check_draw(void)
{
    struct line line = {.name = "draw, seed 0, position 0", .n = 1, .decimals = 9};
    line.expected[0] = ldexp((double)(0xe169c58d6627e8d5U >> 11), -53);
    line.got[0] = baton_philox_uniform(0, 0);
    return print_line(&line);
}

static bool check_all(struct baton_sampler *sampler, const struct baton_history *history)
{
    bool same = check_greedy(sampler);
    for (size_t i = 0; i < BATON_N_OF(distributions); i++)
        same = check_distribution(sampler, &distributions[i]) && same;
    for (size_t i = 0; i < BATON_N_OF(penalties); i++)
        same = check_penalty(sampler, &penalties[i], history) && same;
    return check_draw() && same;
}

static enum baton_err run(const void *arg, struct baton_why *why)
{
    const uint32_t prompt = 1;
    struct baton_history history;
    enum baton_err err = baton_history_init(&history, N_VOCAB);
    (void)arg;
    if (err)
        return err;
    struct baton_sampler *sampler = baton_sampler_create(N_VOCAB);
    baton_history_add_prompt(&history, &prompt, 1);
    for (int i = 0; i < N_OUTPUT; i++)
        baton_history_add_output(&history, 0);
    (void)printf("%-26s %-35s %s\n", "", "expected", "got");
    if (!sampler)
        err = BATON_NO_MEMORY;
    else if (!check_all(sampler, &history))
        err = baton_fail(why, BATON_INTERNAL, "lines differ from the expected figures");
    baton_sampler_destroy(sampler);
    baton_history_fini(&history);
    return err;
}

enum baton_err bench_selftest(int argc, char **argv, struct baton_why *why)
{
    struct baton_config config = {.process = "baton-bench selftest",
                                  .env_prefix = "BATON_BENCH",
                                  .summary = "checks the sampler against figures known by hand"};
    return cli_run(&config, NULL, argc, argv, run, why);
}
