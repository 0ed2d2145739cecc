#include "tools/load/workload/lengths.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "tools/load/workload/number.h"

static bool take_range(const char **p, int64_t *first, int64_t *last)
{
    return ld_take_int(p, first) && ld_take_char(p, '-') && ld_take_int(p, last) && *first <= *last;
}

static bool parse_normal(const char *p, struct ld_lengths *lengths)
{
    lengths->min = 1;
    lengths->max = LD_MAX_TOKENS;
    return ld_take_real(&p, &lengths->mean) && ld_take_char(&p, ',') &&
           ld_take_real(&p, &lengths->deviation) && !*p && lengths->mean >= 1 &&
           lengths->mean <= LD_MAX_TOKENS && lengths->deviation <= LD_MAX_TOKENS;
}

static bool parse_zipf(const char *p, struct ld_lengths *lengths)
{
    return ld_take_real(&p, &lengths->exponent) && ld_take_char(&p, ',') &&
           take_range(&p, &lengths->min, &lengths->max) && !*p && lengths->exponent <= 10;
}

static bool parse_fixed(const char *p, struct ld_lengths *lengths)
{
    bool ok = ld_take_int(&p, &lengths->min) && !*p;
    lengths->max = lengths->min;
    return ok;
}

/* Returns the text after the prefix; NULL when text does not begin with it. */
static const char *after(const char *text, const char *prefix)
{
    size_t n = strlen(prefix);
    return strncmp(text, prefix, n) ? NULL : text + n;
}

static bool parse(const char *text, struct ld_lengths *lengths)
{
    const char *rest;
    bool ok;
    if ((rest = after(text, "uniform:")) != NULL) {
        lengths->kind = LD_LENGTHS_UNIFORM;
        ok = take_range(&rest, &lengths->min, &lengths->max) && !*rest;
    } else if ((rest = after(text, "normal:")) != NULL) {
        lengths->kind = LD_LENGTHS_NORMAL;
        ok = parse_normal(rest, lengths);
    } else if ((rest = after(text, "zipf:")) != NULL) {
        lengths->kind = LD_LENGTHS_ZIPF;
        ok = parse_zipf(rest, lengths);
    } else {
        ok = parse_fixed(text, lengths);
    }
    return ok && lengths->min >= 1 && lengths->max <= LD_MAX_TOKENS;
}

enum baton_err ld_lengths_parse(const char *option, const char *text, struct ld_lengths *lengths,
                                struct baton_why *why)
{
    struct ld_lengths parsed = {.kind = LD_LENGTHS_FIXED};
    if (!parse(text, &parsed))
        return baton_fail(why, BATON_INVALID,
                          "%s: must be N, uniform:MIN-MAX, normal:MEAN,DEVIATION or "
                          "zipf:EXPONENT,MIN-MAX, of 1 to %d tokens, not \"%.60s\"",
                          option, LD_MAX_TOKENS, text);
    *lengths = parsed;
    return BATON_OK;
}

/* Inverts the distribution function of a density n^-exponent between min and max + 1. */
static double draw_zipf(const struct ld_lengths *lengths, double unit)
{
    double low = (double)lengths->min, high = (double)lengths->max + 1;
    double power = 1 - lengths->exponent;
    /* The integral of 1 / n is a logarithm, so the general formula would divide by zero. */
    if (fabs(power) < 1e-9)
        return low * pow(high / low, unit);
    double at_low = pow(low, power), at_high = pow(high, power);
    return pow(at_low + unit * (at_high - at_low), 1 / power);
}

static int64_t clamp(double value, int64_t min, int64_t max)
{
    /* Negated, so that NAN becomes min. */
    if (!(value >= (double)min))
        return min;
    return value > (double)max ? max : (int64_t)value;
}

int64_t ld_lengths_draw(const struct ld_lengths *lengths, struct ld_rng *rng)
{
    switch (lengths->kind) {
    case LD_LENGTHS_UNIFORM:
        return ld_rng_between(rng, lengths->min, lengths->max);
    case LD_LENGTHS_NORMAL:
        return clamp(round(lengths->mean + lengths->deviation * ld_rng_normal(rng)), lengths->min,
                     lengths->max);
    case LD_LENGTHS_ZIPF:
        return clamp(draw_zipf(lengths, ld_rng_unit(rng)), lengths->min, lengths->max);
    case LD_LENGTHS_FIXED:
        break;
    }
    return lengths->min;
}

enum baton_err ld_range_parse(const char *option, const char *text, int64_t least, int64_t most,
                              int64_t *first, int64_t *last, struct baton_why *why)
{
    const char *p = text;
    int64_t low, high;
    if (!take_range(&p, &low, &high) || *p || low < least || high > most)
        return baton_fail(why, BATON_INVALID,
                          "%s: must be FIRST-LAST, from %lld to %lld, not \"%.60s\"", option,
                          (long long)least, (long long)most, text);
    *first = low;
    *last = high;
    return BATON_OK;
}
