#include "tests/unit/engine/sampling/reference.h"

static const double rounding = 2e-5; /* of float weights, far from the highest */

uint32_t throw_dice(struct dice *dice, uint32_t n)
{
    return (uint32_t)(baton_philox_uniform(dice->seed, dice->n_thrown++) * n);
}

double throw_real(struct dice *dice, double low, double high)
{
    return low + (high - low) * baton_philox_uniform(dice->seed, dice->n_thrown++);
}

static double throw_normal(struct dice *dice)
{
    double radius = sqrt(-2 * log(1 - throw_real(dice, 0, 1)));
    return radius * cos(throw_real(dice, 0, 2 * acos(-1)));
}

static void fill_logits(struct sample_case *c, struct dice *dice)
{
    uint32_t kind = throw_dice(dice, 6);
    double deviation = kind == 1 ? 0.01 : throw_real(dice, 0.5, 5), mean = throw_real(dice, -40, 9);
    for (uint32_t i = 0; i < c->n_vocab; i++) {
        double x = kind == 3 ? 0 : deviation * throw_normal(dice);
        c->logits[i] = (float)(kind == 2 ? floor(x) / 2 : x + mean);
        if (kind == 4 && throw_dice(dice, 4) == 0)
            c->logits[i] = throw_dice(dice, 2) ? NAN : -INFINITY;
    }
    if (kind == 5 && throw_dice(dice, 4) == 0)
        c->logits[throw_dice(dice, c->n_vocab)] = INFINITY;
}

static void fill_settings(struct sample_case *c, struct dice *dice)
{
    struct baton_sampling_params *sampling = &c->sampling;
    *sampling = (struct baton_sampling_params){BATON_SAMPLING_DEFAULTS};
    sampling->seed = throw_dice(dice, UINT32_MAX);
    if (throw_dice(dice, 2))
        sampling->temperature = throw_real(dice, 0.3, 2);
    if (throw_dice(dice, 2))
        sampling->top_k = 1 + throw_dice(dice, throw_dice(dice, 2) ? 50 : c->n_vocab + 2);
    if (throw_dice(dice, 3) == 0)
        sampling->top_n_sigma = throw_real(dice, -1, throw_dice(dice, 2) ? 2 : 6);
    if (throw_dice(dice, 3) == 0)
        sampling->typical_p = throw_real(dice, 0.01, 1);
    if (throw_dice(dice, 2))
        sampling->top_p = throw_real(dice, 0.01, 1);
    if (throw_dice(dice, 3) == 0)
        sampling->min_p = throw_real(dice, 0, throw_dice(dice, 2) ? 1 : 0.1);
    if (throw_dice(dice, 3) == 0)
        sampling->repetition_penalty = throw_real(dice, 0.5, 2);
    if (throw_dice(dice, 3) == 0)
        sampling->presence_penalty = throw_real(dice, -2, 2);
    if (throw_dice(dice, 3) == 0)
        sampling->frequency_penalty = throw_real(dice, -2, 2);
}

static void fill_history(struct sample_case *c, struct dice *dice)
{
    uint32_t n = throw_dice(dice, CASE_MAX_SEEN), n_ids = c->n_vocab + 3;
    assert_ok(baton_history_init(&c->history, CASE_MAX_SEEN));
    for (uint32_t i = 0; i < n; i++) {
        uint32_t id = throw_dice(dice, throw_dice(dice, 2) ? n_ids : 1 + n_ids / 8);
        if (throw_dice(dice, 2))
            baton_history_add_output(&c->history, id);
        else
            baton_history_add_prompt(&c->history, &id, 1);
    }
}

void sample_case_init(struct sample_case *c, struct dice *dice, uint32_t n_vocab)
{
    *c = (struct sample_case){.n_vocab = n_vocab, .logits = calloc(n_vocab, sizeof *c->logits)};
    assert_non_null(c->logits);
    c->position = throw_dice(dice, 1 << 20);
    fill_logits(c, dice);
    fill_settings(c, dice);
    fill_history(c, dice);
    size_t n_bias = throw_dice(dice, 2) ? throw_dice(dice, CASE_MAX_BIAS + 1) : 0;
    for (uint32_t i = 0; i < n_bias; i++)
        c->bias[i] = (struct baton_logit_bias){.id = i * (1 + n_vocab / 4),
                                               .bias = (float)throw_real(dice, -5, 5)};
    c->sampling.bias = c->bias;
    c->sampling.n_bias = n_bias;
}

void sample_case_fini(struct sample_case *c)
{
    baton_history_fini(&c->history);
    free(c->logits);
}

static float penalized(const struct sample_case *c, uint32_t id)
{
    const struct baton_sampling_params *sampling = &c->sampling;
    float logit = c->logits[id];
    for (size_t i = 0; i < sampling->n_bias; i++)
        if (sampling->bias[i].id == id)
            logit += sampling->bias[i].bias;
    for (size_t i = 0; i < c->history.n_seen; i++) {
        struct baton_seen seen = c->history.seen[i];
        if (seen.id != id)
            continue;
        double x = logit;
        x = x > 0 ? x / sampling->repetition_penalty : x * sampling->repetition_penalty;
        if (seen.n_output)
            x -= sampling->presence_penalty + seen.n_output * sampling->frequency_penalty;
        logit = (float)x;
    }
    return isnan(logit) ? -INFINITY : logit;
}

static int compare_tokens(const void *a, const void *b)
{
    const struct reference_token *x = a, *y = b;
    if (x->penalized != y->penalized)
        return x->penalized > y->penalized ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

static uint32_t n_kept(const struct reference *r)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < r->n_vocab; i++)
        n += r->sorted[i].removed_by == BATON_KEPT;
    return n;
}

static double kept_weight(const struct reference *r)
{
    double total = 0;
    for (uint32_t i = 0; i < r->n_vocab; i++)
        total += r->sorted[i].removed_by == BATON_KEPT ? r->sorted[i].weight : 0;
    return total;
}

static void remove_one(struct reference_token *token, enum baton_removal removal)
{
    if (token->removed_by == BATON_KEPT)
        token->removed_by = removal;
}

static void cut_top_n_sigma(struct reference *r, const struct baton_sampling_params *sampling)
{
    double mean = 0, variance = 0, n = 0, n_sigma = sampling->top_n_sigma;
    for (uint32_t i = 0; i < r->n_vocab; i++)
        if (isfinite(r->sorted[i].penalized)) {
            mean += r->sorted[i].penalized;
            n++;
        }
    mean /= fmax(n, 1);
    for (uint32_t i = 0; i < r->n_vocab; i++)
        if (isfinite(r->sorted[i].penalized))
            variance += pow(r->sorted[i].penalized - mean, 2) / n;
    double border = r->sorted[0].penalized - n_sigma * sqrt(variance);
    for (uint32_t i = 0; n_sigma > 0 && i < r->n_vocab; i++) {
        double logit = r->sorted[i].penalized;
        r->close = r->close || (logit != border && fabs(logit - border) < 1e-9 * fabs(border));
        if (logit < border)
            r->sorted[i].removed_by = BATON_REMOVED_BY_TOP_N_SIGMA;
    }
}

static void cut_top_k(struct reference *r, const struct baton_sampling_params *sampling)
{
    uint32_t n = 0, k = sampling->top_k;
    float last = 0;
    for (uint32_t i = 0; k && i < r->n_vocab; i++) {
        struct reference_token *token = &r->sorted[i];
        if (token->removed_by == BATON_KEPT && ++n <= k)
            last = token->penalized;
        else if (token->penalized < last)
            remove_one(token, BATON_REMOVED_BY_TOP_K);
    }
}

static double entropy_of(const struct reference *r, double total)
{
    double entropy = 0;
    for (uint32_t i = 0; i < r->n_vocab; i++) {
        double share = r->sorted[i].weight / total;
        if (r->sorted[i].removed_by == BATON_KEPT && share > 0)
            entropy -= share * log(share);
    }
    return entropy;
}

/* How far each token's information is from the entropy; infinity for those that are out. */
static void fill_distances(const struct reference *r, double *distances)
{
    double total = kept_weight(r), entropy = entropy_of(r, total);
    for (uint32_t i = 0; i < r->n_vocab; i++) {
        const struct reference_token *token = &r->sorted[i];
        bool is_in = token->removed_by == BATON_KEPT && token->weight > 0;
        distances[i] = is_in ? fabs(-log(token->weight / total) - entropy) : INFINITY;
    }
}

static double weight_within(const struct reference *r, const double *distances, double border)
{
    double sum = 0;
    for (uint32_t i = 0; i < r->n_vocab; i++)
        sum += distances[i] <= border ? r->sorted[i].weight : 0;
    return sum;
}

/* The least distance within which the tokens weigh as much as wanted, by bisection. */
static double find_border(const struct reference *r, const double *distances, double wanted)
{
    double low = -1, high = 1e6;
    for (int i = 0; i < 100; i++) {
        double middle = (low + high) / 2;
        bool reaches = weight_within(r, distances, middle) >= wanted;
        low = reaches ? low : middle;
        high = reaches ? middle : high;
    }
    return high;
}

static void cut_typical_p(struct reference *r, const struct baton_sampling_params *sampling)
{
    const double tie = 1e-9, near = 2e-5;
    double wanted = sampling->typical_p * kept_weight(r);
    if (sampling->typical_p >= 1)
        return;
    double *distances = calloc(r->n_vocab, sizeof *distances);
    assert_non_null(distances);
    fill_distances(r, distances);
    double border = find_border(r, distances, wanted);
    double sum = weight_within(r, distances, border),
           less = weight_within(r, distances, border - tie);
    r->close = r->close || fmin(fabs(sum - wanted), fabs(less - wanted)) < rounding * sum;
    for (uint32_t i = 0; i < r->n_vocab; i++) {
        double off = fabs(distances[i] - border);
        r->close = r->close || (off > tie && off < near);
        if (!(distances[i] <= border + tie))
            remove_one(&r->sorted[i], BATON_REMOVED_BY_TYPICAL_P);
    }
    free(distances);
}

static void cut_top_p(struct reference *r, const struct baton_sampling_params *sampling)
{
    double p = sampling->top_p, total = kept_weight(r), sum = 0;
    for (uint32_t i = 0; p < 1 && i < r->n_vocab; i++) {
        struct reference_token *token = &r->sorted[i];
        if (token->removed_by != BATON_KEPT)
            continue;
        if (sum >= p * total) {
            token->removed_by = BATON_REMOVED_BY_TOP_P;
            continue;
        }
        sum += token->weight;
        r->close = r->close || fabs(sum - p * total) < rounding * total;
    }
}

static void cut_min_p(struct reference *r, const struct baton_sampling_params *sampling)
{
    double highest = 0;
    for (uint32_t i = 0; sampling->min_p > 0 && i < r->n_vocab; i++) {
        struct reference_token *token = &r->sorted[i];
        if (token->removed_by != BATON_KEPT)
            continue;
        highest = highest > 0 ? highest : token->weight;
        double least = sampling->min_p * highest;
        r->close = r->close || fabs(token->weight - least) < 1e-9 * highest;
        if (token->weight < least)
            token->removed_by = BATON_REMOVED_BY_MIN_P;
    }
}

static void run_filters(struct reference *r, const struct baton_sampling_params *sampling)
{
    int i = 0;
#define X(NAME, name)                                                                              \
    cut_##name(r, sampling);                                                                       \
    r->n_after[i++] = n_kept(r);
    BATON_FILTERS(X)
#undef X
}

void reference_init(struct reference *r, const struct sample_case *c)
{
    *r = (struct reference){.n_vocab = c->n_vocab,
                            .sorted = calloc(c->n_vocab, sizeof *r->sorted),
                            .prob = calloc(c->n_vocab, sizeof *r->prob)};
    assert_true(r->sorted && r->prob);
    for (uint32_t i = 0; i < c->n_vocab; i++)
        r->sorted[i] = (struct reference_token){.penalized = penalized(c, i), .id = i};
    qsort(r->sorted, c->n_vocab, sizeof *r->sorted, compare_tokens);
    double max = r->sorted[0].penalized;
    for (uint32_t i = 0; i < c->n_vocab; i++) {
        double x = r->sorted[i].penalized;
        r->sorted[i].weight = x == max ? 1 : exp((x - max) / c->sampling.temperature);
    }
    run_filters(r, &c->sampling);
    double total = kept_weight(r);
    for (uint32_t i = 0; i < c->n_vocab; i++)
        if (r->sorted[i].removed_by == BATON_KEPT)
            r->prob[r->sorted[i].id] = r->sorted[i].weight / total;
}

void reference_fini(struct reference *r)
{
    free(r->sorted);
    free(r->prob);
}
