/* Operators with Python's meaning. */
#include <math.h>
#include <string.h>

#include "gateway/chat/jinja/run/eval.h"
#include "gateway/chat/jinja/value/text.h"

enum { SLICE_MAX = 1 << 30 };

static struct jinja_value fail_operands(struct jinja_run *run, int op, struct jinja_value a,
                                        struct jinja_value b)
{
    if (a.kind == JINJA_UNDEFINED)
        return jinja_fail_undefined(run, a);
    if (b.kind == JINJA_UNDEFINED)
        return jinja_fail_undefined(run, b);
    const char second[] = {(char)(op >> 8), 0};
    return jinja_fail(run, "unsupported operand types for %c%s: '%s' and '%s'", op & 0xff, second,
                      jinja_type_name(a), jinja_type_name(b));
}

/* ---- integers ---- */

static int64_t floor_divide(int64_t a, int64_t b)
{
    int64_t quotient = a / b;
    return quotient - (a % b != 0 && (a < 0) != (b < 0));
}

/* Computes a power. b is not negative. */
static bool power(int64_t a, int64_t b, int64_t *result)
{
    *result = 1;
    /* Powers of -1, 0 and 1 never overflow, so a huge exponent must not loop. */
    if (a >= -1 && a <= 1)
        b = b < 2 ? b : 2 - (b & 1);
    while (b--)
        if (__builtin_mul_overflow(*result, a, result))
            return false;
    return true;
}

static bool compute_int(int op, int64_t a, int64_t b, int64_t *result)
{
    switch (op) {
    case '+':
        return !__builtin_add_overflow(a, b, result);
    case '-':
        return !__builtin_sub_overflow(a, b, result);
    case '*':
        return !__builtin_mul_overflow(a, b, result);
    case JINJA_OP('*', '*'):
        return power(a, b, result);
    default:
        if (a == INT64_MIN && b == -1)
            return false;
        *result = op == '%' ? a - b * floor_divide(a, b) : floor_divide(a, b);
        return true;
    }
}

static struct jinja_value int_binary(struct jinja_run *run, int op, int64_t a, int64_t b)
{
    int64_t result;
    if (!compute_int(op, a, b, &result))
        return jinja_fail(run, "an integer is out of range");
    return jinja_int(result);
}

/* ---- floats ---- */

static double floor_mod(double a, double b)
{
    double rest = fmod(a, b);
    /* As in Python's float_divmod, a zero has the sign of the divisor. */
    if (rest == 0)
        return copysign(0, b);
    return (rest < 0) != (b < 0) ? rest + b : rest;
}

static double floor_quotient(double a, double b)
{
    double quotient = (a - floor_mod(a, b)) / b, whole = floor(quotient);
    if (quotient == 0)
        return copysign(0, a / b);
    return quotient - whole > 0.5 ? whole + 1 : whole;
}

static struct jinja_value real_power(struct jinja_run *run, double a, double b)
{
    double result = pow(a, b);
    if ((a == 0 && b < 0) || (isnan(result) && !isnan(a) && !isnan(b)) ||
        (isinf(result) && !isinf(a) && !isinf(b)))
        return jinja_fail(run, "a power is out of range");
    return jinja_real(result);
}

static struct jinja_value real_binary(struct jinja_run *run, int op, double a, double b)
{
    switch (op) {
    case '+':
        return jinja_real(a + b);
    case '-':
        return jinja_real(a - b);
    case '*':
        return jinja_real(a * b);
    case '/':
        return jinja_real(a / b);
    case '%':
        return jinja_real(floor_mod(a, b));
    case JINJA_OP('/', '/'):
        return jinja_real(floor_quotient(a, b));
    default:
        return real_power(run, a, b);
    }
}

static struct jinja_value number_binary(struct jinja_run *run, int op, struct jinja_value a,
                                        struct jinja_value b)
{
    bool divides = op == '/' || op == '%' || op == JINJA_OP('/', '/');
    bool whole = a.kind != JINJA_FLOAT && b.kind != JINJA_FLOAT && op != '/';
    if (divides && jinja_as_real(b) == 0)
        return jinja_fail(run, "division by zero");
    if (whole && op == JINJA_OP('*', '*') && jinja_as_int(b) < 0)
        whole = false;
    return whole ? int_binary(run, op, jinja_as_int(a), jinja_as_int(b))
                 : real_binary(run, op, jinja_as_real(a), jinja_as_real(b));
}

/* ---- text and lists ---- */

static struct jinja_value add_strings(struct jinja_run *run, const struct jinja_string *a,
                                      const struct jinja_string *b)
{
    if (!a->safe && !b->safe)
        return jinja_concat(run, a, b);
    struct jinja_value sum = jinja_concat(run, jinja_escape(run, a), jinja_escape(run, b));
    return jinja_failed(run) ? sum : jinja_safe(run, sum.string);
}

static struct jinja_value add_lists(struct jinja_run *run, struct jinja_value a,
                                    struct jinja_value b)
{
    struct jinja_value *items = jinja_items(run, a.list->n + b.list->n);
    if (!items)
        return jinja_undefined(NULL);
    if (a.list->n)
        memcpy(items, a.list->items, a.list->n * sizeof *items);
    if (b.list->n)
        memcpy(items + a.list->n, b.list->items, b.list->n * sizeof *items);
    return jinja_list_value(run, a.kind, items, a.list->n + b.list->n);
}

static struct jinja_value repeat(struct jinja_run *run, struct jinja_value of, int64_t times)
{
    struct jinja_text text = {0};
    size_t n = of.kind == JINJA_STRING ? of.string->n : of.list->n;
    times = times < 0 || !n ? 0 : times;
    if (times > SLICE_MAX)
        return jinja_fail_limit(run, "repetitions", SLICE_MAX);
    if (of.kind == JINJA_STRING) {
        while (times-- && !jinja_failed(run))
            jinja_text_put_string(run, &text, of.string);
        return jinja_text_end(run, &text);
    }
    struct jinja_value *items = jinja_items(run, n * (size_t)times);
    for (size_t i = 0; i < n * (size_t)times && items; i++)
        items[i] = of.list->items[i % n];
    return jinja_list_value(run, of.kind, items, n * (size_t)times);
}

static bool is_sequence(struct jinja_value value)
{
    return value.kind == JINJA_STRING || value.kind == JINJA_LIST || value.kind == JINJA_TUPLE;
}

static bool is_whole(struct jinja_value value)
{
    return value.kind == JINJA_INT || value.kind == JINJA_BOOL;
}

struct jinja_value jinja_binary(struct jinja_run *run, int op, struct jinja_value a,
                                struct jinja_value b)
{
    if (jinja_is_number(a) && jinja_is_number(b))
        return number_binary(run, op, a, b);
    if (op == '+' && a.kind == b.kind && a.kind == JINJA_STRING)
        return add_strings(run, a.string, b.string);
    if (op == '+' && a.kind == b.kind && is_sequence(a))
        return add_lists(run, a, b);
    if (op == '*' && is_sequence(a) && is_whole(b))
        return repeat(run, a, jinja_as_int(b));
    if (op == '*' && is_whole(a) && is_sequence(b))
        return repeat(run, b, jinja_as_int(a));
    if (op == '%' && a.kind == JINJA_STRING) {
        struct jinja_args args = {.items = &b, .n = 1};
        if (b.kind == JINJA_TUPLE)
            args = (struct jinja_args){.items = b.list->items, .n = b.list->n};
        return jinja_percent(run, a.string, &args);
    }
    return fail_operands(run, op, a, b);
}

struct jinja_value jinja_unary(struct jinja_run *run, int op, struct jinja_value a)
{
    if (jinja_failed(run))
        return a;
    if (a.kind == JINJA_FLOAT)
        return jinja_real(op == '-' ? -a.real : a.real);
    if (jinja_is_number(a))
        return int_binary(run, op, 0, jinja_as_int(a));
    if (a.kind == JINJA_UNDEFINED)
        return jinja_fail_undefined(run, a);
    return jinja_fail(run, "bad operand type for unary %c: '%s'", op, jinja_type_name(a));
}

/* ---- comparisons ---- */

bool jinja_contains(struct jinja_run *run, struct jinja_value in, struct jinja_value item)
{
    if (in.kind == JINJA_DICT)
        return jinja_dict_find(run, in.dict, item) != NULL;
    if (in.kind == JINJA_STRING) {
        if (item.kind != JINJA_STRING) {
            jinja_fail(run, "'in <string>' requires string as left operand, not %s",
                       jinja_type_name(item));
            return false;
        }
        return jinja_step_bytes(run, in.string->n) &&
               jinja_find(in.string, item.string, 0) != SIZE_MAX;
    }
    struct jinja_list list = jinja_elements(run, in);
    for (size_t i = 0; i < list.n && !jinja_failed(run); i++)
        if (jinja_equal(run, list.items[i], item))
            return true;
    return false;
}

bool jinja_compare_op(struct jinja_run *run, int op, struct jinja_value a, struct jinja_value b)
{
    if (jinja_failed(run))
        return false;
    switch (op) {
    case JINJA_OP('=', '='):
        return jinja_equal(run, a, b);
    case JINJA_OP('!', '='):
        return !jinja_equal(run, a, b);
    case '<':
        return jinja_compare(run, a, b) < 0;
    case '>':
        return jinja_compare(run, a, b) > 0;
    case JINJA_OP('<', '='):
        return jinja_compare(run, a, b) <= 0;
    case JINJA_OP('>', '='):
        return jinja_compare(run, a, b) >= 0;
    case JINJA_OP_IN:
        return jinja_contains(run, b, a);
    default:
        return !jinja_contains(run, b, a);
    }
}

/* ---- slices ---- */

/* A range like Python's slice.indices: the first index, the step, and the number of elements. */
struct range {
    int64_t start, step;
    size_t n;
};

static int64_t bound(struct jinja_value value, int64_t n, int64_t step, int64_t fallback)
{
    int64_t low = step < 0 ? -1 : 0, high = step < 0 ? n - 1 : n;
    if (value.kind == JINJA_NONE)
        return fallback;
    int64_t i = jinja_as_int(value);
    i += i < 0 ? n : 0;
    return i < low ? low : i > high ? high : i;
}

static struct range slice_range(const struct jinja_value bounds[3], size_t length)
{
    int64_t n = (int64_t)length, step = bounds[2].kind == JINJA_NONE ? 1 : jinja_as_int(bounds[2]);
    /* A larger step selects the same elements, and cannot overflow below. */
    step = step > SLICE_MAX ? SLICE_MAX : step < -SLICE_MAX ? -SLICE_MAX : step;
    int64_t start = bound(bounds[0], n, step, step < 0 ? n - 1 : 0);
    int64_t stop = bound(bounds[1], n, step, step < 0 ? -1 : n);
    int64_t span = step < 0 ? start - stop : stop - start;
    int64_t stride = step < 0 ? -step : step;
    return (struct range){
        .start = start, .step = step, .n = span > 0 ? (size_t)((span + stride - 1) / stride) : 0};
}

static struct jinja_value slice_string(struct jinja_run *run, const struct jinja_string *string,
                                       const struct range *range)
{
    struct jinja_text text = {0};
    if (range->step == 1) {
        size_t start = jinja_char_at(string, (size_t)range->start);
        struct jinja_string rest = {.bytes = string->bytes + start, .n = string->n - start};
        return jinja_part(run, string, start, jinja_char_at(&rest, range->n));
    }
    struct jinja_list chars = jinja_elements(run, jinja_string_value(string));
    for (size_t i = 0; i < range->n && !jinja_failed(run); i++)
        jinja_text_put_string(run, &text,
                              chars.items[range->start + (int64_t)i * range->step].string);
    return jinja_text_end(run, &text);
}

struct jinja_value jinja_slice(struct jinja_run *run, struct jinja_value of,
                               const struct jinja_value bounds[3])
{
    bool sliced = is_sequence(of) || of.kind == JINJA_RANGE;
    if (of.kind == JINJA_UNDEFINED)
        return jinja_fail_undefined(run, of);
    for (int i = 0; i < 3; i++)
        sliced = sliced && (bounds[i].kind == JINJA_NONE || is_whole(bounds[i]));
    if (!sliced || (bounds[2].kind != JINJA_NONE && !jinja_as_int(bounds[2])))
        return jinja_fail(run, "'%s' object cannot be sliced like this", jinja_type_name(of));
    struct range range = slice_range(bounds, jinja_length(run, of));
    if (!jinja_step(run, range.n))
        return jinja_undefined(NULL);
    if (of.kind == JINJA_STRING)
        return slice_string(run, of.string, &range);
    struct jinja_value *items = jinja_items(run, range.n);
    for (size_t i = 0; i < range.n && items; i++)
        items[i] = of.list->items[range.start + (int64_t)i * range.step];
    return jinja_list_value(run, of.kind == JINJA_TUPLE ? JINJA_TUPLE : JINJA_LIST, items, range.n);
}
