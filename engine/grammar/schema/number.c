/* Matches numbers within bounds, digit by digit. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/grammar/language/intersect.h"
#include "engine/grammar/schema/internal.h"

/* 18 digits always fit in a 64-bit integer; a double has no finer fractions. */
enum { MAX_DIGITS = 18, MAX_FRACTION = 16 };
#define MOST 999999999999999999LL

/* One end of a range. */
struct bound {
    bool is_open; /* the bound itself is excluded */
    bool is_none;
    double value;
};

static struct bound bound_of(struct baton_schema *s, const struct baton_json *schema,
                             const char *closed, const char *open, bool is_lower)
{
    struct bound bound = {.is_none = true};
    const char *const names[] = {closed, open};
    for (int i = 0; i < 2; i++) {
        const struct baton_json *given = baton_json_get(schema, names[i]);
        enum baton_json_kind kind = baton_json_kind(given);
        double value = baton_json_number(given);
        if (!given)
            continue;
        if (kind != BATON_JSON_INT && kind != BATON_JSON_REAL)
            baton_schema_fail(s, "%s: must be a number", names[i]);
        if (bound.is_none || (is_lower ? value >= bound.value : value <= bound.value))
            bound = (struct bound){.is_open = i == 1, .value = value};
    }
    return bound;
}

static uint32_t digit(struct baton_exprs *x, int low, int high)
{
    return baton_expr_byte(x, (uint8_t)('0' + low), (uint8_t)('0' + high));
}

static uint32_t digits(struct baton_exprs *x, uint32_t min, uint32_t max)
{
    return baton_expr_repeat(x, digit(x, 0, 9), min, max);
}

/* ---- integers ---- */

/* Matches the numbers of n digits from low to high, from the i-th digit on. at_low and at_high: all
 * digits so far are those of the bound. */
static uint32_t same_length(struct baton_exprs *x, const char *low, const char *high, size_t i,
                            bool at_low, bool at_high)
{
    size_t n = strlen(low);
    if (i == n)
        return baton_expr_empty(x);
    if (!at_low && !at_high)
        return digits(x, (uint32_t)(n - i), (uint32_t)(n - i));
    int first = at_low ? low[i] - '0' : 0, last = at_high ? high[i] - '0' : 9;
    if (first == last)
        return baton_expr_seq(x, digit(x, first, last),
                              same_length(x, low, high, i + 1, at_low, at_high));
    uint32_t expr = baton_expr_never(x);
    if (at_high) {
        uint32_t rest = same_length(x, low, high, i + 1, false, true);
        expr = baton_expr_alt(x, baton_expr_seq(x, digit(x, last, last), rest), expr);
        last--;
    }
    if (at_low) {
        uint32_t rest = same_length(x, low, high, i + 1, true, false);
        expr = baton_expr_alt(x, baton_expr_seq(x, digit(x, first, first), rest), expr);
        first++;
    }
    if (first <= last) {
        uint32_t rest = same_length(x, low, high, i + 1, false, false);
        expr = baton_expr_alt(x, baton_expr_seq(x, digit(x, first, last), rest), expr);
    }
    return expr;
}

/* Matches 0 <= low <= high, without leading zeros. */
static uint32_t naturals(struct baton_exprs *x, long long low, long long high)
{
    char from[24], to[24];
    uint32_t expr = baton_expr_never(x);
    long long least = 0, most = 9;
    for (int n = 1; n <= MAX_DIGITS; n++) {
        long long a = low > least ? low : least, b = high < most ? high : most;
        if (a <= b) {
            (void)snprintf(from, sizeof from, "%lld", a);
            (void)snprintf(to, sizeof to, "%lld", b);
            expr = baton_expr_alt(x, same_length(x, from, to, 0, true, true), expr);
        }
        /* The next length: 10..99 after 0..9, and so on. */
        least = most + 1;
        most = n + 1 < MAX_DIGITS ? most * 10 + 9 : MOST;
    }
    return expr;
}

static uint32_t integers(struct baton_exprs *x, long long low, long long high)
{
    uint32_t expr = baton_expr_never(x);
    if (high >= 0 && low <= high)
        expr = naturals(x, low > 0 ? low : 0, high);
    if (low < 0 && low <= high) {
        uint32_t below = naturals(x, high < 0 ? -high : 1, -low);
        expr = baton_expr_alt(x, expr, baton_expr_seq(x, baton_expr_text(x, "-"), below));
    }
    return expr;
}

/* Returns the least integer that satisfies a lower bound; sign -1 mirrors an upper one. */
static long long whole(struct bound bound, double sign)
{
    double value = bound.value * sign, least = ceil(value);
    /* Bounds beyond 18 digits are no bounds: no longer number is ever written. */
    if (bound.is_none || value < -(double)MOST)
        return -MOST;
    if (value > (double)MOST)
        return MOST + 1;
    return (long long)least + (bound.is_open && least == value);
}

uint32_t baton_schema_integer(struct baton_schema *s, const struct baton_json *schema)
{
    struct bound low = bound_of(s, schema, "minimum", "exclusiveMinimum", true);
    struct bound high = bound_of(s, schema, "maximum", "exclusiveMaximum", false);
    if (low.is_none && high.is_none)
        return baton_schema_shared(s, BATON_SHARED_INTEGER);
    long long least = whole(low, 1), most = -whole(high, -1);
    if (least > MOST || most < -MOST)
        return baton_expr_never(s->exprs);
    return integers(s->exprs, least, most);
}

/* ---- fractions ---- */

/* A bound without its sign: 12.5 is 12 and "5". */
struct decimal {
    bool is_none, is_open;
    long long whole;
    char fraction[32]; /* its last digit is not 0 */
};

static struct decimal decimal_of(struct baton_schema *s, struct bound bound)
{
    char text[64];
    double value = fabs(bound.value);
    struct decimal decimal = {.is_none = bound.is_none, .is_open = bound.is_open};
    if (bound.is_none)
        return decimal;
    if (value > (double)MOST) {
        decimal.whole = MOST;
        decimal.is_open = false;
        return decimal;
    }
    /* The shortest decimals that read back as the same double are the ones that the schema's author
     * wrote. */
    int n = 0;
    do
        (void)snprintf(text, sizeof text, "%.*f", n, value);
    while (strtod(text, NULL) != value && ++n <= MAX_FRACTION);
    if (n > MAX_FRACTION)
        baton_schema_unsupported(s, "a bound with more than 16 decimals");
    decimal.whole = strtoll(text, NULL, 10);
    const char *point = strchr(text, '.');
    (void)snprintf(decimal.fraction, sizeof decimal.fraction, "%.31s", point ? point + 1 : "");
    for (size_t i = strlen(decimal.fraction); i > 0 && decimal.fraction[i - 1] == '0'; i--)
        decimal.fraction[i - 1] = '\0';
    return decimal;
}

/* A place in the fraction's digits, between two bounds. */
struct place {
    const struct decimal *low, *high;
    size_t i;
    bool at_low, at_high; /* the digits so far are those of the bound */
};

static int digit_at(const struct decimal *decimal, size_t i)
{
    return i < strlen(decimal->fraction) ? decimal->fraction[i] - '0' : 0;
}

/* True when the digits may end here: omitted digits are zeros. */
static bool may_end(const struct place *place)
{
    bool low_left = place->i < strlen(place->low->fraction);
    bool high_left = place->i < strlen(place->high->fraction);
    if (place->at_low && (low_left || place->low->is_open))
        return false;
    return !place->at_high || high_left || !place->high->is_open;
}

/* Matches the digits after the last digit of both bounds. */
static uint32_t tail(struct baton_exprs *x, const struct place *place, uint32_t min)
{
    uint32_t zeros = baton_expr_repeat(x, digit(x, 0, 0), min, MAX_FRACTION);
    if (place->at_high && (place->high->is_open || (place->at_low && place->low->is_open)))
        return baton_expr_never(x);
    if (place->at_high)
        return zeros;
    if (!place->at_low || !place->low->is_open)
        return digits(x, min, MAX_FRACTION);
    uint32_t some = baton_expr_seq(x, digit(x, 1, 9), digits(x, 0, MAX_FRACTION));
    return baton_expr_seq(x, baton_expr_repeat(x, digit(x, 0, 0), 0, MAX_FRACTION), some);
}

static uint32_t fraction(struct baton_exprs *x, struct place place);

/* Matches a digit from first to last and the digits after it. */
static uint32_t then(struct baton_exprs *x, const struct place *place, int first, int last,
                     bool at_low, bool at_high)
{
    struct place next = {place->low, place->high, place->i + 1, at_low, at_high};
    if (first > last)
        return baton_expr_never(x);
    uint32_t rest = fraction(x, next);
    bool is_tail = (!at_low && !at_high) || (next.i >= strlen(place->low->fraction) &&
                                             next.i >= strlen(place->high->fraction));
    if (!is_tail && may_end(&next)) /* a tail may be empty by itself */
        rest = baton_expr_maybe(x, rest);
    return baton_expr_seq(x, digit(x, first, last), rest);
}

/* Matches the digits from here on; at least one at the first place. */
static uint32_t fraction(struct baton_exprs *x, struct place place)
{
    uint32_t min = place.i == 0;
    if (!place.at_low && !place.at_high)
        return digits(x, min, MAX_FRACTION);
    if (place.i >= strlen(place.low->fraction) && place.i >= strlen(place.high->fraction))
        return tail(x, &place, min);
    int first = place.at_low ? digit_at(place.low, place.i) : 0;
    int last = place.at_high ? digit_at(place.high, place.i) : 9;
    if (first == last)
        return then(x, &place, first, last, place.at_low, place.at_high);
    uint32_t expr = baton_expr_never(x);
    if (place.at_high)
        expr = baton_expr_alt(x, then(x, &place, last, last, false, true), expr);
    if (place.at_low)
        expr = baton_expr_alt(x, then(x, &place, first, first, true, false), expr);
    uint32_t between = then(x, &place, first + place.at_low, last - place.at_high, false, false);
    return baton_expr_alt(x, between, expr);
}

/* Matches numbers with one whole part, which is that of the bounds they are at. */
static uint32_t around(struct baton_exprs *x, long long part, const struct decimal *low,
                       const struct decimal *high, bool at_low, bool at_high)
{
    struct place place = {low, high, 0, at_low, at_high};
    uint32_t behind = baton_expr_seq(x, baton_expr_text(x, "."), fraction(x, place));
    if (may_end(&place))
        behind = baton_expr_maybe(x, behind);
    return baton_expr_seq(x, naturals(x, part, part), behind);
}

/* Matches numbers of 0 or more. */
static uint32_t decimals(struct baton_exprs *x, struct decimal low, struct decimal high)
{
    if (high.is_none)
        high = (struct decimal){.whole = MOST};
    if (low.whole > high.whole)
        return baton_expr_never(x);
    if (low.whole == high.whole)
        return around(x, low.whole, &low, &high, true, true);
    uint32_t any = baton_expr_seq(x, baton_expr_text(x, "."), digits(x, 1, MAX_FRACTION));
    uint32_t between = baton_expr_never(x);
    if (low.whole + 1 < high.whole)
        between =
            baton_expr_seq(x, naturals(x, low.whole + 1, high.whole - 1), baton_expr_maybe(x, any));
    uint32_t first = around(x, low.whole, &low, &high, true, false);
    uint32_t last = around(x, high.whole, &low, &high, false, true);
    return baton_expr_alt(x, first, baton_expr_alt(x, between, last));
}

static struct bound zero(void)
{
    return (struct bound){.value = 0};
}

static bool is_empty(struct bound low, struct bound high)
{
    return !low.is_none && !high.is_none &&
           (low.value > high.value || (low.value == high.value && (low.is_open || high.is_open)));
}

uint32_t baton_schema_number(struct baton_schema *s, const struct baton_json *schema)
{
    struct baton_exprs *x = s->exprs;
    struct bound low = bound_of(s, schema, "minimum", "exclusiveMinimum", true);
    struct bound high = bound_of(s, schema, "maximum", "exclusiveMaximum", false);
    uint32_t expr = baton_expr_never(x);
    if (low.is_none && high.is_none)
        return baton_schema_shared(s, BATON_SHARED_NUMBER);
    if (is_empty(low, high))
        return expr;
    if (high.is_none || high.value >= 0)
        expr = decimals(x, decimal_of(s, low.is_none || low.value < 0 ? zero() : low),
                        decimal_of(s, high));
    if (low.is_none || low.value < 0) {
        struct bound least = high.is_none || high.value > 0 ? zero() : high;
        uint32_t below = decimals(x, decimal_of(s, least), decimal_of(s, low));
        expr = baton_expr_alt(x, expr, baton_expr_seq(x, baton_expr_text(x, "-"), below));
    }
    return expr;
}

/* ---- multiples ---- */

enum { MAX_DECIMALS = 4, MAX_REMAINDERS = 1000 };

/* Writes the step as a whole number of units of its last decimal. */
static bool units_of(double step, struct baton_part *part)
{
    double unit = 1;
    for (part->n_decimals = 0; part->n_decimals <= MAX_DECIMALS; part->n_decimals++, unit *= 10) {
        double n = round(step * unit);
        part->modulus = n >= 1 && n <= MAX_REMAINDERS ? (uint32_t)n : 0;
        if (part->modulus && n / unit == step)
            return true;
    }
    return false;
}

uint32_t baton_schema_multiples(struct baton_schema *s, const struct baton_json *schema,
                                uint32_t expr)
{
    const struct baton_json *given = baton_json_get(schema, "multipleOf");
    enum baton_json_kind kind = baton_json_kind(given);
    struct baton_part parts[2] = {{.expr = expr}};
    uint32_t both = expr;
    if (!given || s->err)
        return expr;
    if ((kind != BATON_JSON_INT && kind != BATON_JSON_REAL) || !(baton_json_number(given) > 0))
        baton_schema_fail(s, "multipleOf: must be a number above 0");
    else if (!units_of(baton_json_number(given), &parts[1]))
        baton_schema_fail(s, "multipleOf of over %d, or with over %d decimals, is not supported",
                          MAX_REMAINDERS, MAX_DECIMALS);
    if (s->err)
        return expr;
    enum baton_err err = baton_expr_intersect(s->exprs, parts, 2, s->path, &s->n_meet_work, &both);
    if (err == BATON_NO_MEMORY || s->exprs->err)
        s->err = s->exprs->err ? s->exprs->err : err;
    else if (err)
        baton_schema_unsupported(s, "multipleOf beside these bounds");
    return both;
}
