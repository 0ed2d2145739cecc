/* Arrays: their items, and conditions on all of them. */
#include <stdio.h>
#include <string.h>

#include "engine/grammar/schema/internal.h"

static uint32_t prefix_item(struct baton_schema *s, const struct baton_json *prefix, size_t i)
{
    char index[24];
    (void)snprintf(index, sizeof index, "%zu", i);
    return baton_schema_value(s, baton_json_at(prefix, i), "prefixItems", index);
}

/* Matches the items after n others. */
static uint32_t more_items(struct baton_schema *s, uint32_t item, size_t n, uint32_t min,
                           uint32_t max)
{
    struct baton_exprs *x = s->exprs;
    min = baton_schema_less(min, n);
    max = baton_schema_less(max, n);
    if (n)
        return baton_expr_repeat(x, baton_schema_after_comma(s, item), min, max);
    if (!max)
        return baton_expr_empty(x);
    uint32_t others = baton_expr_repeat(x, baton_schema_after_comma(s, item),
                                        baton_schema_less(min, 1), baton_schema_less(max, 1));
    uint32_t some = baton_expr_seq(x, item, others);
    return min ? some : baton_expr_maybe(x, some);
}

/* ---- different items ---- */

enum { MAX_DIFFERENT = 8 }; /* listed values, of whose sets each has a rule */

/* Matches the rest of the items behind the set of those that came. */
static uint32_t rest_of_set(struct baton_schema *s, const struct baton_json *values, size_t set,
                            const uint32_t *rules, uint32_t min, uint32_t max)
{
    struct baton_exprs *x = s->exprs;
    uint32_t n = (uint32_t)__builtin_popcountll(set);
    uint32_t expr = n >= min ? baton_expr_empty(x) : baton_expr_never(x);
    for (size_t i = baton_json_size(values); i-- > 0 && n < max;) {
        if (set >> i & 1)
            continue;
        uint32_t item = baton_schema_literal(s, baton_json_at(values, i));
        uint32_t rest = baton_expr_rule(x, rules[set | (size_t)1 << i]);
        expr = baton_expr_alt(
            x, baton_expr_seq(x, n ? baton_schema_after_comma(s, item) : item, rest), expr);
    }
    return expr;
}

/* Matches arrays of different listed values, in any order. */
static uint32_t different_items(struct baton_schema *s, const struct baton_json *values,
                                uint32_t min, uint32_t max)
{
    uint32_t rules[1 << MAX_DIFFERENT];
    size_t n_sets = (size_t)1 << baton_json_size(values);
    for (size_t i = 0; i < n_sets; i++)
        rules[i] = baton_expr_rule_add(s->exprs, s->path);
    for (size_t i = 0; i < n_sets && !s->err; i++)
        baton_expr_rule_set(s->exprs, rules[i], rest_of_set(s, values, i, rules, min, max));
    return baton_schema_in_brackets(s, "[", baton_expr_rule(s->exprs, rules[0]), "]");
}

/* Returns the list of different values that the items have; NULL unless it is short and all that
 * the schema of the items says. */
static const struct baton_json *listed_items(struct baton_schema *s,
                                             const struct baton_json *schema)
{
    const struct baton_json *items = baton_json_get(schema, "items");
    const struct baton_json *flat = items ? baton_schema_flat(s, items) : NULL;
    const struct baton_json *values = baton_json_get(flat, "enum");
    size_t n = baton_json_size(values);
    if (s->err || !n || n > MAX_DIFFERENT || baton_json_get(schema, "prefixItems"))
        return NULL;
    for (void *it = baton_json_first(flat); it; it = baton_json_next(flat, it))
        if (strcmp(baton_json_key(it), "enum") != 0 && strcmp(baton_json_key(it), "type") != 0 &&
            !baton_schema_is_annotation(baton_json_key(it)))
            return NULL;
    for (size_t i = 0; i < n; i++) {
        if (!(baton_schema_types(s, flat) & baton_schema_type_of(baton_json_at(values, i))))
            return NULL;
        for (size_t j = 0; j < i; j++)
            if (baton_schema_equal(baton_json_at(values, i), baton_json_at(values, j)))
                return NULL;
    }
    return values;
}

/* ---- an item that is contained ---- */

enum { MAX_CONTAINING = 64 };

/* Matches n items more than others, from min to max in all, of which one is `special`. */
static uint32_t one_special(struct baton_schema *s, uint32_t item, uint32_t special, uint32_t min,
                            uint32_t max)
{
    struct baton_exprs *x = s->exprs;
    uint32_t expr = baton_expr_never(x), next = baton_schema_after_comma(s, item);
    uint32_t n = max == BATON_NO_MAX ? (min ? min : 1) : max;
    for (uint32_t before = n; before-- > 0;) {
        bool is_last = before + 1 == n && max == BATON_NO_MAX;
        uint32_t others = baton_expr_repeat(x, next, before ? before - 1 : 0,
                                            is_last  ? BATON_NO_MAX
                                            : before ? before - 1
                                                     : 0);
        uint32_t first = before ? baton_expr_seq(x, item, others) : baton_expr_empty(x);
        uint32_t it = before ? baton_schema_after_comma(s, special) : special;
        uint32_t tail = baton_expr_repeat(x, next, baton_schema_less(min, before + 1),
                                          baton_schema_less(max, before + 1));
        uint32_t one = baton_expr_seq(x, first, baton_expr_seq(x, it, tail));
        if (is_last && !before) /* any number of items may come before it */
            one = baton_expr_alt(
                x, one,
                baton_expr_seq(x,
                               baton_expr_seq(x, item, baton_expr_repeat(x, next, 0, BATON_NO_MAX)),
                               baton_expr_seq(x, baton_schema_after_comma(s, special), tail)));
        expr = baton_expr_alt(x, one, expr);
    }
    return expr;
}

static uint32_t containing(struct baton_schema *s, const struct baton_json *schema, uint32_t min,
                           uint32_t max)
{
    static const struct baton_json *const any = NULL;
    const struct baton_json *items = baton_json_get(schema, "items");
    const struct baton_json *contains = baton_json_get(schema, "contains");
    uint32_t n = baton_schema_count(s, schema, "minContains", 1);
    if (n > 1 || baton_json_get(schema, "maxContains"))
        baton_schema_unsupported(s, n > 1 ? "minContains" : "maxContains");
    if (baton_json_get(schema, "prefixItems") || min > MAX_CONTAINING ||
        (max != BATON_NO_MAX && max > MAX_CONTAINING))
        baton_schema_unsupported(s, "contains beside prefixItems or many items");
    if (s->err)
        return 0;
    uint32_t item = baton_schema_value(s, items ? items : any, "items", NULL);
    const struct baton_json *both = items ? baton_schema_both(s, items, contains) : contains;
    uint32_t special = s->err ? 0 : baton_schema_value(s, both, "contains", NULL);
    return s->err ? 0
                  : baton_schema_in_brackets(s, "[", one_special(s, item, special, min, max), "]");
}

uint32_t baton_schema_array(struct baton_schema *s, const struct baton_json *schema)
{
    struct baton_exprs *x = s->exprs;
    const struct baton_json *prefix = baton_json_get(schema, "prefixItems");
    const struct baton_json *unique = baton_json_get(schema, "uniqueItems");
    uint32_t min = baton_schema_count(s, schema, "minItems", 0);
    uint32_t max = baton_schema_count(s, schema, "maxItems", BATON_NO_MAX);
    size_t n = baton_json_size(prefix);
    bool is_unique =
        unique && (baton_json_kind(unique) != BATON_JSON_BOOL || baton_json_bool(unique));
    const struct baton_json *listed = is_unique && max > 1 ? listed_items(s, schema) : NULL;
    bool contains =
        baton_json_get(schema, "contains") &&
        (baton_schema_count(s, schema, "minContains", 1) || baton_json_get(schema, "maxContains"));
    if (is_unique && max > 1 && (!listed || contains))
        baton_schema_unsupported(s, "uniqueItems");
    if (listed && !s->err)
        return max < min ? baton_expr_never(x) : different_items(s, listed, min, max);
    if (contains && !s->err)
        return max < min ? baton_expr_never(x) : containing(s, schema, min, max);
    if (prefix && baton_json_kind(prefix) != BATON_JSON_ARRAY)
        baton_schema_fail(s, "prefixItems: must be an array of schemas");
    if (max < min || s->err)
        return baton_expr_never(x);
    uint32_t item = baton_schema_value(s, baton_json_get(schema, "items"), "items", NULL);
    /* Prefix items beyond the maximum never occur. */
    n = n > max ? max : n;
    uint32_t expr = more_items(s, item, n, min, max);
    for (size_t i = n; i-- > 0 && !s->err;) {
        uint32_t own = prefix_item(s, prefix, i);
        expr = baton_expr_seq(x, i ? baton_schema_after_comma(s, own) : own, expr);
        if (i >= min)
            expr = baton_expr_maybe(x, expr);
    }
    return baton_schema_in_brackets(s, "[", expr, "]");
}
