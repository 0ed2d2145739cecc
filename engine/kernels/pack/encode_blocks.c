/* The search finds first the best scale and min of each group of a block by itself, then the
 * integers and the two units d and dmin that come nearest to all of them:
 *
 *     weight = code * scale - min,   scale = d * an integer,   min = dmin * an integer
 *
 * Built without contraction of products and sums, so that every machine finds the same codes. */
#include "engine/kernels/pack/encode_blocks.h"

#include <math.h>
#include <string.h>

#include "common/base/f16.h"

enum {
    LANES = 8,          /* a sum for each: lanes do not wait for each other */
    N_STARTS = 7,       /* scales that the search of a group begins with */
    N_IMPROVEMENTS = 3, /* of each of them */
    N_ROUNDS = 4        /* of choosing integers, then units */
};

static const double START_STEP = 0.4;    /* codes, from one start to the next */
static const double MOST_SQUARES = 1e36; /* of weights together, so that no sum overflows */

/* A type of blocks as the search uses it. */
struct format {
    int n_values, n_group; /* weights of a block; of a group, which share a scale */
    float low, high;       /* the codes' range, minus the code of value 0 */
    bool has_min, has_integers;
    float scale_low, scale_high, min_low, min_high; /* integers */
};

/* The factors that make codes of weights, and weights of codes. */
struct coding {
    float inverse, zero, low, high, scale, min;
};

/* Sums over a group: of its codes, of their squares, and of weights times codes. */
struct sums {
    double q, qq, xq;
};

struct fit {
    double scale, min, error;
};

struct group {
    const float *x; /* its weights */
    double x_sum, xx_sum;
    struct fit best; /* with any scale and min */
};

/* Scales and mins as a block stores them: units, rounded to f16, and integers. */
struct scales {
    float d, dmin, scale[BATON_BLOCK_MAX_GROUPS], min[BATON_BLOCK_MAX_GROUPS];
};

struct block {
    const struct format *format;
    int n_groups;
    float x[BATON_BLOCK_MAX_VALUES];
    struct group groups[BATON_BLOCK_MAX_GROUPS];
};

static inline float within(float value, float low, float high)
{
    value = value > low ? value : low; /* low for a NaN */
    return value < high ? value : high;
}

/* The nearest integer, ties to even: the last bit of the sum stands for 1, so adding rounds. */
static inline float nearest(float value)
{
    return value + 0x1.8p23F - 0x1.8p23F;
}

static inline float code_of(float x, const struct coding *c)
{
    return nearest(within(x * c->inverse + c->zero, c->low, c->high));
}

static double sum_lanes(const float lanes[LANES])
{
    double sum = 0;
    for (int i = 0; i < LANES; i++)
        sum += (double)lanes[i];
    return sum;
}

static struct coding coding_of(const struct format *format, double scale, double min)
{
    float inverse = scale != 0 ? (float)(1 / scale) : 0;
    return (struct coding){.inverse = inverse,
                           .zero = (float)min * inverse,
                           .low = format->low,
                           .high = format->high,
                           .scale = (float)scale,
                           .min = (float)min};
}

static struct coding coding_at(const struct format *format, const struct scales *scales, int group)
{
    return coding_of(format, (double)(scales->d * scales->scale[group]),
                     (double)(scales->dmin * scales->min[group]));
}

static struct sums sum_codes(const struct group *g, int n, const struct coding *c)
{
    float q[LANES] = {0}, qq[LANES] = {0}, xq[LANES] = {0};
    for (int i = 0; i < n; i += LANES)
        for (int lane = 0; lane < LANES; lane++) {
            float x = g->x[i + lane], code = code_of(x, c);
            q[lane] += code;
            qq[lane] += code * code;
            xq[lane] += x * code;
        }
    return (struct sums){.q = sum_lanes(q), .qq = sum_lanes(qq), .xq = sum_lanes(xq)};
}

static double error_of(const struct group *g, int n, const struct coding *c)
{
    float errors[LANES] = {0};
    for (int i = 0; i < n; i += LANES)
        for (int lane = 0; lane < LANES; lane++) {
            float x = g->x[i + lane], error = code_of(x, c) * c->scale - c->min - x;
            errors[lane] += error * error;
        }
    return sum_lanes(errors);
}

/* The scale and the min of the least error for codes with these sums: linear regression of weights
 * on codes. A min below 0 cannot be stored; then it is 0, and only the scale is fitted. */
static struct fit fit_to(const struct format *format, const struct group *g, const struct sums *s)
{
    double n = (double)format->n_group, det = n * s->qq - s->q * s->q;
    double scale = s->qq > 0 ? s->xq / s->qq : 0, min = 0;
    if (format->has_min && det > 0 && s->q * s->xq > s->qq * g->x_sum) {
        scale = (n * s->xq - g->x_sum * s->q) / det;
        min = (s->q * s->xq - s->qq * g->x_sum) / det;
    }
    return (struct fit){
        .scale = scale, .min = min, .error = g->xx_sum - scale * s->xq + min * g->x_sum};
}

/* Alternates: codes for a scale, then the best scale for these codes. */
static void improve(const struct format *format, struct group *g, double scale, double min)
{
    for (int i = 0; i < N_IMPROVEMENTS; i++) {
        struct coding coding = coding_of(format, scale, min);
        struct sums sums = sum_codes(g, format->n_group, &coding);
        struct fit fit = fit_to(format, g, &sums);
        if (fit.error < g->best.error)
            g->best = fit;
        scale = fit.scale;
        min = fit.min;
    }
}

/* Starts spread the weights over about as many codes as there are. With mins the least weight gets
 * code 0. Without, the weight of the largest magnitude gets the lowest code, because there is one
 * more code below 0 than above. */
static void search(const struct format *format, struct group *g)
{
    float least = 0, largest = g->x[0], extreme = 0;
    for (int i = 0; i < format->n_group; i++) {
        float x = g->x[i];
        least = x < least ? x : least;
        largest = x > largest ? x : largest;
        extreme = fabsf(x) > fabsf(extreme) ? x : extreme;
    }
    double range = format->has_min ? (double)largest - (double)least : (double)extreme;
    double n_codes = (double)(format->has_min ? format->high : format->low);
    double min = format->has_min ? -(double)least : 0;
    g->best = (struct fit){.scale = 0, .min = min, .error = INFINITY};
    for (int i = 0; i < N_STARTS && range != 0; i++)
        improve(format, g, range / (n_codes + START_STEP * (i - N_STARTS / 2)), min);
}

static void init_groups(struct block *s)
{
    for (int i = 0; i < s->n_groups; i++) {
        struct group *g = &s->groups[i];
        *g = (struct group){.x = s->x + i * s->format->n_group};
        for (int k = 0; k < s->format->n_group; k++) {
            g->x_sum += (double)g->x[k];
            g->xx_sum += (double)g->x[k] * (double)g->x[k];
        }
        search(s->format, g);
    }
}

/* Copies n weights, and zeros up to the block's end. False if all are zero, or if one is not finite
 * or too great. */
static bool take(struct block *s, const float *weights, size_t n)
{
    double squares = 0;
    for (size_t i = 0; i < n; i++)
        squares += (double)weights[i] * (double)weights[i];
    memset(s->x, 0, sizeof s->x);
    if (!(squares > 0 && squares < MOST_SQUARES))
        return false;
    memcpy(s->x, weights, n * sizeof *weights);
    return true;
}

static float as_f16(double value)
{
    return baton_f16_to(baton_f16_from((float)value));
}

static float multiple_of(float unit, double value, float low, float high)
{
    double multiple = unit != 0 ? value / (double)unit : 0;
    return nearest(within((float)multiple, low, high));
}

/* Starts with the units of which the largest scale and min are the largest multiples. */
static void start(const struct block *s, struct scales *scales)
{
    const struct format *format = s->format;
    double scale = 0, min = 0;
    for (int i = 0; i < s->n_groups; i++) {
        const struct fit *fit = &s->groups[i].best;
        scale = fabs(fit->scale) > fabs(scale) ? fit->scale : scale;
        min = fit->min > min ? fit->min : min;
    }
    scales->d = as_f16(scale / (double)format->scale_high);
    scales->dmin = format->has_min ? as_f16(min / (double)format->min_high) : 0;
    for (int i = 0; i < s->n_groups; i++) {
        const struct fit *fit = &s->groups[i].best;
        scales->scale[i] =
            multiple_of(scales->d, fit->scale, format->scale_low, format->scale_high);
        scales->min[i] = multiple_of(scales->dmin, fit->min, format->min_low, format->min_high);
    }
}

/* Chooses a group's best integers for these units, among the current ones and their neighbours.
 * Returns the error that is left. */
static double choose_integers(const struct block *s, struct scales *scales, int group)
{
    static const float steps[] = {0, -1, 1};
    const struct format *format = s->format;
    struct scales tried = *scales;
    float scale = scales->scale[group], min = scales->min[group];
    int n_steps = format->has_integers ? 3 : 1, n_min_steps = format->has_min ? n_steps : 1;
    double least = INFINITY;
    for (int i = 0; i < n_steps * n_min_steps; i++) {
        tried.scale[group] =
            within(scale + steps[i / n_min_steps], format->scale_low, format->scale_high);
        tried.min[group] = within(min + steps[i % n_min_steps], format->min_low, format->min_high);
        struct coding coding = coding_at(format, &tried, group);
        double error = error_of(&s->groups[group], format->n_group, &coding);
        if (error < least) {
            least = error;
            scales->scale[group] = tried.scale[group];
            scales->min[group] = tried.min[group];
        }
    }
    return least;
}

/* Fits the units to the current codes and integers by least squares:
 * weight = d * (integer * code) - dmin * integer. */
static void fit_units(const struct block *s, struct scales *scales)
{
    double ss = 0, sm = 0, mm = 0, xs = 0, xm = 0;
    for (int i = 0; i < s->n_groups; i++) {
        struct coding coding = coding_at(s->format, scales, i);
        struct sums sums = sum_codes(&s->groups[i], s->format->n_group, &coding);
        double scale = (double)scales->scale[i], min = (double)scales->min[i];
        ss += scale * scale * sums.qq;
        sm += scale * min * sums.q;
        mm += min * min * (double)s->format->n_group;
        xs += scale * sums.xq;
        xm += min * s->groups[i].x_sum;
    }
    double det = ss * mm - sm * sm;
    if (det > 0) {
        scales->d = as_f16((xs * mm - sm * xm) / det);
        scales->dmin = as_f16((sm * xs - ss * xm) / det);
    } else if (ss > 0) {
        scales->d = as_f16((xs + sm * (double)scales->dmin) / ss);
    }
}

static void find_scales(struct block *s, struct scales *best)
{
    struct scales scales;
    double least = INFINITY;
    init_groups(s);
    start(s, &scales);
    *best = scales;
    for (int round = 0; round < N_ROUNDS; round++) {
        double error = 0;
        for (int i = 0; i < s->n_groups; i++)
            error += choose_integers(s, &scales, i);
        if (!(error < least))
            break;
        least = error;
        *best = scales;
        fit_units(s, &scales);
    }
}

static void encode_block(const struct format *format, const float *weights, size_t n,
                         struct baton_block_codes *codes)
{
    struct block s = {.format = format, .n_groups = format->n_values / format->n_group};
    struct scales scales = {0};
    if (take(&s, weights, n))
        find_scales(&s, &scales);
    codes->d = scales.d;
    codes->min = scales.dmin;
    for (int i = 0; i < s.n_groups; i++) {
        struct coding coding = coding_at(format, &scales, i);
        codes->scales[i] = (int8_t)scales.scale[i];
        codes->mins[i] = (uint8_t)scales.min[i];
        for (int k = i * format->n_group; k < (i + 1) * format->n_group; k++)
            codes->codes[k] = (uint8_t)(code_of(s.x[k], &coding) - format->low);
    }
}

static struct format format_of(enum baton_block_type type)
{
    const struct baton_block_codes_form *form = baton_block_codes_form(type);
    bool has_integers = form->max_scale;
    struct format format = {.n_values = (int)baton_block_values(type),
                            .n_group = form->n_group,
                            .low = (float)-form->zero,
                            .high = (float)((1 << form->n_bits) - 1 - form->zero),
                            .has_min = form->has_min,
                            .has_integers = has_integers,
                            .scale_low = has_integers ? (float)form->min_scale : 1,
                            .scale_high = has_integers ? (float)form->max_scale : 1};
    if (form->has_min) {
        format.min_low = has_integers ? 0 : 1;
        format.min_high = format.scale_high;
    }
    return format;
}

bool baton_encodes(enum baton_block_type type)
{
    const struct baton_block_codes_form *form = baton_block_codes_form(type);
    return form && !form->levels && !form->has_grid && form->n_group <= 32;
}

void baton_encode(enum baton_block_type type, const float *weights, size_t n, uint8_t *blocks)
{
    const struct format format = format_of(type);
    size_t n_values = (size_t)format.n_values;
    struct baton_block_codes codes = {0};
    for (size_t i = 0; i < n; i += n_values, blocks += baton_block_bytes(type)) {
        encode_block(&format, weights + i, n - i < n_values ? n - i : n_values, &codes);
        baton_block_pack(type, &codes, blocks);
    }
}
