#include "engine/grammar/language/expr.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "common/base/utf8.h"

void baton_exprs_fini(struct baton_exprs *exprs)
{
    for (size_t i = 0; i < exprs->n_rules; i++)
        free(exprs->rules[i].label);
    free(exprs->rules);
    free(exprs->items);
    *exprs = (struct baton_exprs){0};
}

/* Reserves space for one more item of size bytes. */
static bool grow(struct baton_exprs *exprs, void **items, size_t n, size_t *cap, size_t size,
                 size_t max)
{
    if (exprs->err)
        return false;
    if (n < *cap)
        return true;
    if (n >= max) {
        exprs->err = BATON_LIMIT;
        return false;
    }
    void *grown = baton_array_grown(*items, cap, n + 1, size);
    if (!grown) {
        exprs->err = BATON_NO_MEMORY;
        return false;
    }
    *items = grown;
    return true;
}

/* Adds an expression. Expression 0 is the empty one, so that a failed call returns it. */
static uint32_t add(struct baton_exprs *exprs, struct baton_expr expr)
{
    void *items = exprs->items;
    bool fits = grow(exprs, &items, exprs->n, &exprs->cap, sizeof expr, BATON_MAX_EXPRS);
    exprs->items = items;
    if (!fits)
        return 0;
    if (!exprs->n)
        exprs->items[exprs->n++] = (struct baton_expr){.kind = BATON_EXPR_EMPTY};
    exprs->items[exprs->n] = expr;
    return (uint32_t)exprs->n++;
}

static enum baton_expr_kind kind_of(const struct baton_exprs *exprs, uint32_t expr)
{
    return expr < exprs->n ? exprs->items[expr].kind : BATON_EXPR_EMPTY;
}

uint32_t baton_expr_empty(struct baton_exprs *exprs)
{
    (void)exprs;
    return 0;
}

uint32_t baton_expr_never(struct baton_exprs *exprs)
{
    return add(exprs, (struct baton_expr){.kind = BATON_EXPR_NEVER});
}

uint32_t baton_expr_byte(struct baton_exprs *exprs, uint8_t low, uint8_t high)
{
    return add(exprs, (struct baton_expr){.kind = BATON_EXPR_BYTE, .a = low, .b = high});
}

uint32_t baton_expr_bytes(struct baton_exprs *exprs, const char *bytes, size_t n)
{
    uint32_t expr = baton_expr_empty(exprs);
    while (n--)
        expr = baton_expr_seq(exprs, baton_expr_byte(exprs, (uint8_t)bytes[n], (uint8_t)bytes[n]),
                              expr);
    return expr;
}

uint32_t baton_expr_text(struct baton_exprs *exprs, const char *text)
{
    return baton_expr_bytes(exprs, text, strlen(text));
}

uint32_t baton_expr_seq(struct baton_exprs *exprs, uint32_t a, uint32_t b)
{
    /* Empty and impossible parts end here, so that the network is not built for them. */
    if (kind_of(exprs, a) == BATON_EXPR_EMPTY || kind_of(exprs, b) == BATON_EXPR_NEVER)
        return b;
    if (kind_of(exprs, b) == BATON_EXPR_EMPTY || kind_of(exprs, a) == BATON_EXPR_NEVER)
        return a;
    return add(exprs, (struct baton_expr){.kind = BATON_EXPR_SEQ, .a = a, .b = b});
}

uint32_t baton_expr_alt(struct baton_exprs *exprs, uint32_t a, uint32_t b)
{
    if (kind_of(exprs, a) == BATON_EXPR_NEVER)
        return b;
    if (kind_of(exprs, b) == BATON_EXPR_NEVER)
        return a;
    return add(exprs, (struct baton_expr){.kind = BATON_EXPR_ALT, .a = a, .b = b});
}

uint32_t baton_expr_repeat(struct baton_exprs *exprs, uint32_t a, uint32_t min, uint32_t max)
{
    if (max < min)
        return baton_expr_never(exprs);
    if (!max || (kind_of(exprs, a) == BATON_EXPR_NEVER && !min))
        return baton_expr_empty(exprs);
    return add(exprs,
               (struct baton_expr){.kind = BATON_EXPR_REPEAT, .a = a, .min = min, .max = max});
}

uint32_t baton_expr_maybe(struct baton_exprs *exprs, uint32_t a)
{
    return baton_expr_repeat(exprs, a, 0, 1);
}

uint32_t baton_expr_rule_add(struct baton_exprs *exprs, const char *label)
{
    void *rules = exprs->rules;
    bool fits = grow(exprs, &rules, exprs->n_rules, &exprs->cap_rules, sizeof *exprs->rules,
                     BATON_MAX_RULES);
    exprs->rules = rules;
    uint32_t never = fits ? baton_expr_never(exprs) : 0;
    char *copy = fits ? strdup(label) : NULL;
    if (fits && !copy)
        exprs->err = BATON_NO_MEMORY;
    if (!copy)
        return 0;
    exprs->rules[exprs->n_rules] = (struct baton_rule){.expr = never, .label = copy};
    return (uint32_t)exprs->n_rules++;
}

void baton_expr_rule_set(struct baton_exprs *exprs, uint32_t rule, uint32_t expr)
{
    if (!exprs->err)
        exprs->rules[rule].expr = expr;
}

uint32_t baton_expr_rule(struct baton_exprs *exprs, uint32_t rule)
{
    return add(exprs, (struct baton_expr){.kind = BATON_EXPR_RULE, .a = rule});
}

/* ---- characters ---- */

/* Makes a product of byte ranges. The codes of low and high have the same length, and each byte
 * that differs covers its whole range in the bytes after it. */
static uint32_t of_bytes(struct baton_exprs *exprs, uint32_t low, uint32_t high)
{
    char from[4], to[4];
    size_t n = baton_utf8_encode(low, from);
    (void)baton_utf8_encode(high, to);
    uint32_t expr = baton_expr_empty(exprs);
    while (n--)
        expr =
            baton_expr_seq(exprs, baton_expr_byte(exprs, (uint8_t)from[n], (uint8_t)to[n]), expr);
    return expr;
}

static uint32_t of_range(struct baton_exprs *exprs, uint32_t low, uint32_t high);

static uint32_t split(struct baton_exprs *exprs, uint32_t low, uint32_t middle, uint32_t high)
{
    uint32_t first = of_range(exprs, low, middle - 1);
    return baton_expr_alt(exprs, first, of_range(exprs, middle, high));
}

/* Splits a range until each part is a product of byte ranges, as in RE2 and Rust's utf8-ranges. */
static uint32_t of_range(struct baton_exprs *exprs, uint32_t low, uint32_t high)
{
    static const uint32_t lengths[] = {0x80, 0x800, 0x10000};
    for (int i = 0; i < 3; i++)
        if (low < lengths[i] && high >= lengths[i])
            return split(exprs, low, lengths[i], high);
    for (int i = 1; i < 4 && high >= 0x80; i++) {
        uint32_t mask = ((uint32_t)1 << (6 * i)) - 1;
        if ((low & ~mask) == (high & ~mask))
            continue;
        if (low & mask)
            return split(exprs, low, (low | mask) + 1, high);
        if ((high & mask) != mask)
            return split(exprs, low, high & ~mask, high);
    }
    return of_bytes(exprs, low, high);
}

uint32_t baton_expr_chars(struct baton_exprs *exprs, const struct baton_chars *chars)
{
    uint32_t expr = baton_expr_never(exprs);
    struct baton_chars valid = *chars;
    /* UTF-8 has no surrogates. */
    baton_chars_remove(&valid, 0xd800, 0xdfff);
    for (uint32_t i = valid.n; i-- > 0;)
        expr =
            baton_expr_alt(exprs, of_range(exprs, valid.ranges[i].low, valid.ranges[i].high), expr);
    return expr;
}
