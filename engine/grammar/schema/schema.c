/* Reads JSON Schema (draft 2020-12): types, references, choices. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "common/base/utf8.h"
#include "engine/grammar/grammar.h"
#include "engine/grammar/schema/internal.h"

enum { MAX_PART_BYTES = 65 }; /* of the path in a message */

/* ---- paths and errors ---- */

void baton_schema_fail(struct baton_schema *s, const char *fmt, ...)
{
    char text[256];
    va_list args;
    if (s->err)
        return;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    s->err = baton_fail(s->why, BATON_INVALID, "%s: %s", s->path, text);
}

void baton_schema_unsupported(struct baton_schema *s, const char *keyword)
{
    baton_schema_fail(s, "%.64s is not supported", keyword);
}

/* Appends as much of a part as fits, in whole characters and RFC 6901's escapes. */
static void append_part(struct baton_schema *s, const char *part)
{
    size_t end = s->n_path + MAX_PART_BYTES, cap = sizeof s->path, left = strlen(part), skip;
    end = end < cap ? end : cap;
    if (s->n_path + 1 < cap)
        s->path[s->n_path++] = '/';
    for (int n; left && (n = baton_utf8_next(part, left, &skip)) > 0;
         part += n, left -= (size_t)n) {
        bool is_escaped = *part == '~' || *part == '/';
        if (s->n_path + (size_t)n + is_escaped >= end)
            break;
        if (is_escaped) {
            s->path[s->n_path++] = '~';
            s->path[s->n_path++] = *part == '~' ? '0' : '1';
        } else {
            memcpy(s->path + s->n_path, part, (size_t)n);
            s->n_path += (size_t)n;
        }
    }
    s->path[s->n_path] = '\0';
}

size_t baton_schema_enter(struct baton_schema *s, const char *keyword, const char *name)
{
    size_t before = s->n_path;
    append_part(s, keyword);
    if (name)
        append_part(s, name);
    return before;
}

void baton_schema_leave(struct baton_schema *s, size_t n_path)
{
    s->n_path = n_path;
    s->path[n_path] = '\0';
}

uint32_t baton_schema_count(struct baton_schema *s, const struct baton_json *schema,
                            const char *keyword, uint32_t fallback)
{
    const struct baton_json *value = baton_json_get(schema, keyword);
    double count = baton_json_number(value);
    enum baton_json_kind kind = baton_json_kind(value);
    if (!value)
        return fallback;
    if ((kind != BATON_JSON_INT && kind != BATON_JSON_REAL) || count < 0 || count > 1e6 ||
        count != floor(count)) {
        baton_schema_fail(s, "%s: must be an integer from 0 to 1000000", keyword);
        return fallback;
    }
    return (uint32_t)count;
}

/* ---- listed values ---- */

/* Writes the shortest text that reads back as the same number. */
static void write_number(struct baton_buf *buf, double value)
{
    char text[40];
    for (int digits = 15; digits <= 17; digits++) {
        (void)snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    baton_buf_append(buf, text, strlen(text));
}

uint32_t baton_schema_literal(struct baton_schema *s, const struct baton_json *value)
{
    struct baton_buf buf;
    baton_buf_init(&buf, (size_t)BATON_GRAMMAR_MAX_BYTES * 8);
    struct baton_json_out out = baton_json_out(&buf);
    if (baton_json_kind(value) == BATON_JSON_REAL)
        write_number(&buf, baton_json_number(value));
    else
        baton_json_put_value(&out, NULL, value);
    if (baton_buf_err(&buf))
        s->err = s->err ? s->err : baton_buf_err(&buf);
    uint32_t expr = s->err ? 0 : baton_expr_bytes(s->exprs, (const char *)buf.data, buf.len);
    baton_buf_fini(&buf);
    return expr;
}

static bool is_listed(const struct baton_json *values, const struct baton_json *value)
{
    for (size_t i = 0; i < baton_json_size(values); i++)
        if (baton_schema_equal(baton_json_at(values, i), value))
            return true;
    return false;
}

/* Checks a listed value against the keywords that are allowed beside a list: bounds of numbers, and
 * excluded strings. */
static bool is_in_bounds(const struct baton_json *schema, const struct baton_json *value)
{
    static const struct {
        const char *name;
        bool is_lower, is_open;
    } bounds[] = {{"minimum", true, false},
                  {"exclusiveMinimum", true, true},
                  {"maximum", false, false},
                  {"exclusiveMaximum", false, true}};
    if (is_listed(baton_json_get(schema, BATON_SCHEMA_EXCLUDES), value))
        return false;
    for (size_t i = 0; i < BATON_N_OF(bounds); i++) {
        const struct baton_json *bound = baton_json_get(schema, bounds[i].name);
        double given = baton_json_number(value), limit = baton_json_number(bound);
        if (!bound || !(baton_schema_type_of(value) & BATON_TYPE_NUMBER))
            continue;
        if ((bounds[i].is_lower ? given < limit : given > limit) ||
            (bounds[i].is_open && given == limit))
            return false;
    }
    return true;
}

static uint32_t values_of(struct baton_schema *s, const struct baton_json *schema, int types)
{
    const struct baton_json *one = baton_json_get(schema, "const");
    const struct baton_json *values = baton_json_get(schema, "enum");
    uint32_t expr = baton_expr_never(s->exprs);
    baton_schema_check_beside(s, schema, values ? "enum" : "const");
    if (values && baton_json_kind(values) != BATON_JSON_ARRAY)
        baton_schema_fail(s, "enum: must be an array");
    if (one)
        return (baton_schema_type_of(one) & types) && (!values || is_listed(values, one)) &&
                       is_in_bounds(schema, one)
                   ? baton_schema_literal(s, one)
                   : expr;
    for (size_t i = baton_json_size(values); i-- > 0 && !s->err;) {
        const struct baton_json *value = baton_json_at(values, i);
        if (baton_schema_type_of(value) & types && is_in_bounds(schema, value))
            expr = baton_expr_alt(s->exprs, baton_schema_literal(s, value), expr);
    }
    return expr;
}

/* ---- choices ---- */

static const struct baton_json *as_object(struct baton_schema *s, const struct baton_json *schema)
{
    const struct baton_json *flat = baton_schema_flat(s, schema);
    return baton_json_kind(flat) == BATON_JSON_OBJECT ? flat : NULL;
}

static bool lists_name(const struct baton_json *names, const struct baton_json *name)
{
    return is_listed(names, name);
}

static bool shares_value(const struct baton_json *a, const struct baton_json *b)
{
    const struct baton_json *one = baton_json_get(a, "const");
    const struct baton_json *values = baton_json_get(a, "enum");
    const struct baton_json *other = baton_json_get(b, "const");
    const struct baton_json *others = baton_json_get(b, "enum");
    if (one)
        return other ? baton_schema_equal(one, other) : is_listed(others, one);
    if (other)
        return is_listed(values, other);
    for (size_t i = 0; i < baton_json_size(values); i++)
        if (is_listed(others, baton_json_at(values, i)))
            return true;
    return false;
}

/* True when both require a property whose values differ, which is often called a tag. */
static bool differ_in_tag(const struct baton_json *a, const struct baton_json *b)
{
    const struct baton_json *required = baton_json_get(a, "required");
    for (size_t i = 0; i < baton_json_size(required); i++) {
        const struct baton_json *name = baton_json_at(required, i);
        const char *text = baton_json_string(name, NULL);
        if (!text || !lists_name(baton_json_get(b, "required"), name))
            continue;
        const struct baton_json *x = baton_json_get(baton_json_get(a, "properties"), text);
        const struct baton_json *y = baton_json_get(baton_json_get(b, "properties"), text);
        if (x && y && baton_schema_has_values(x) && baton_schema_has_values(y) &&
            !shares_value(x, y))
            return true;
    }
    return false;
}

/* True when no value written for a is valid by b, because b requires a member that a never has. */
static bool lacks_required(const struct baton_json *a, const struct baton_json *b)
{
    const struct baton_json *more = baton_json_get(a, "additionalProperties");
    const struct baton_json *required = baton_json_get(b, "required");
    const struct baton_json *own = baton_json_get(a, "properties");
    bool closed =
        own && (!more || (baton_json_kind(more) == BATON_JSON_BOOL && !baton_json_bool(more)));
    for (size_t i = 0; i < baton_json_size(required) && closed; i++) {
        const struct baton_json *name = baton_json_at(required, i);
        const char *text = baton_json_string(name, NULL);
        if (text && !baton_json_get(own, text) && !lists_name(baton_json_get(a, "required"), name))
            return true;
    }
    return false;
}

static bool are_apart(struct baton_schema *s, const struct baton_json *a,
                      const struct baton_json *b)
{
    a = as_object(s, a);
    b = as_object(s, b);
    if (s->err || !a || !b)
        return false;
    int common = baton_schema_types(s, a) & baton_schema_types(s, b);
    if (!common ||
        (baton_schema_has_values(a) && baton_schema_has_values(b) && !shares_value(a, b)))
        return true;
    if (common != BATON_TYPE_OBJECT)
        return false;
    return differ_in_tag(a, b) || (lacks_required(a, b) && lacks_required(b, a));
}

/* Checks that at most one branch of oneOf matches a value: the automaton can only try all of
 * them. */
static void check_apart(struct baton_schema *s, const struct baton_json *branches)
{
    size_t n = baton_json_size(branches);
    for (size_t i = 0; i < n && !s->err; i++)
        for (size_t j = 0; j < i && !s->err; j++)
            if (!are_apart(s, baton_json_at(branches, j), baton_json_at(branches, i)))
                baton_schema_fail(s,
                                  "oneOf: a value may match both %zu and %zu, which is not "
                                  "supported; anyOf is",
                                  j, i);
}

static uint32_t choice_of(struct baton_schema *s, const struct baton_json *schema,
                          const char *keyword)
{
    char index[24];
    const struct baton_json *branches = baton_json_get(schema, keyword);
    /* Keywords beside the choice hold for each branch. */
    const struct baton_json *rest = baton_schema_without(s, schema, keyword);
    uint32_t expr = baton_expr_never(s->exprs);
    if (baton_json_kind(branches) != BATON_JSON_ARRAY || !baton_json_size(branches))
        baton_schema_fail(s, "%s: must be an array of schemas", keyword);
    for (size_t i = baton_json_size(branches); i-- > 0 && !s->err;) {
        (void)snprintf(index, sizeof index, "%zu", i);
        const struct baton_json *branch = baton_json_at(branches, i);
        size_t before = baton_schema_enter(s, keyword, index);
        const struct baton_json *both = baton_schema_both(s, rest, branch);
        baton_schema_leave(s, before);
        if (!s->err)
            expr = baton_expr_alt(s->exprs, baton_schema_value(s, both, keyword, index), expr);
    }
    return expr;
}

/* ---- a schema ---- */

static uint32_t by_type(struct baton_schema *s, const struct baton_json *schema, int types)
{
    struct baton_exprs *x = s->exprs;
    uint32_t expr = baton_expr_never(x);
    if (types & BATON_TYPE_NULL)
        expr = baton_expr_alt(x, baton_expr_text(x, "null"), expr);
    if (types & BATON_TYPE_BOOL)
        expr = baton_expr_alt(
            x, baton_expr_alt(x, baton_expr_text(x, "true"), baton_expr_text(x, "false")), expr);
    if (types & BATON_TYPE_FRACTION)
        expr = baton_expr_alt(x, baton_schema_multiples(s, schema, baton_schema_number(s, schema)),
                              expr);
    else if (types & BATON_TYPE_INTEGER)
        expr = baton_expr_alt(x, baton_schema_multiples(s, schema, baton_schema_integer(s, schema)),
                              expr);
    if (types & BATON_TYPE_STRING)
        expr = baton_expr_alt(x, baton_schema_string(s, schema), expr);
    if (types & BATON_TYPE_ARRAY)
        expr = baton_expr_alt(x, baton_schema_array(s, schema), expr);
    if (types & BATON_TYPE_OBJECT)
        expr = baton_expr_alt(x, baton_schema_object(s, schema), expr);
    return expr;
}

static uint32_t rule_of(struct baton_schema *s, const struct baton_json *schema);

static uint32_t compile(struct baton_schema *s, const struct baton_json *schema)
{
    if (baton_json_kind(schema) != BATON_JSON_OBJECT) {
        baton_schema_fail(s, "a schema must be an object, true or false, not %s",
                          baton_json_kind_name(baton_json_kind(schema)));
        return 0;
    }
    baton_schema_check_keywords(s, schema);
    const struct baton_json *flat = s->err ? schema : baton_schema_flat(s, schema);
    if (s->err)
        return 0;
    if (flat != schema)
        return rule_of(s, flat); /* shared by all schemas that are written out alike */
    if (baton_json_get(schema, "oneOf"))
        check_apart(s, baton_json_get(schema, "oneOf"));
    if (baton_json_get(schema, "anyOf"))
        return choice_of(s, schema, "anyOf");
    if (baton_json_get(schema, "oneOf"))
        return choice_of(s, schema, "oneOf");
    int types = baton_schema_types(s, schema);
    return baton_schema_has_values(schema) ? values_of(s, schema, types)
                                           : by_type(s, schema, types);
}

static bool note_rule(struct baton_schema *s, const struct baton_json *schema, uint32_t rule)
{
    if (BATON_RESERVE(s->rules, s->cap_rules, s->n_rules + 1)) {
        s->err = BATON_NO_MEMORY;
        return false;
    }
    s->rules[s->n_rules++] = (struct baton_schema_rule){schema, rule};
    return true;
}

/* Returns the schema's rule. The rule is added before it is compiled, so that the schema may refer
 * to itself. */
static uint32_t rule_of(struct baton_schema *s, const struct baton_json *schema)
{
    if (baton_json_kind(schema) == BATON_JSON_BOOL)
        return baton_json_bool(schema) ? baton_schema_shared(s, BATON_SHARED_VALUE)
                                       : baton_expr_never(s->exprs);
    for (size_t i = 0; i < s->n_rules; i++)
        if (s->rules[i].schema == schema)
            return baton_expr_rule(s->exprs, s->rules[i].rule);
    if (++s->n_schemas > BATON_SCHEMA_MAX_SCHEMAS)
        baton_schema_fail(s, "more than %d schemas", BATON_SCHEMA_MAX_SCHEMAS);
    if (s->depth >= BATON_SCHEMA_MAX_DEPTH)
        baton_schema_fail(s, "schemas are nested more than %d deep", BATON_SCHEMA_MAX_DEPTH);
    uint32_t rule = baton_expr_rule_add(s->exprs, s->path);
    if (s->err || s->exprs->err || !note_rule(s, schema, rule))
        return 0;
    s->depth++;
    uint32_t expr = compile(s, schema);
    s->depth--;
    if (!s->err)
        baton_expr_rule_set(s->exprs, rule, expr);
    return baton_expr_rule(s->exprs, rule);
}

uint32_t baton_schema_value(struct baton_schema *s, const struct baton_json *schema,
                            const char *keyword, const char *name)
{
    if (!schema)
        return baton_schema_shared(s, BATON_SHARED_VALUE);
    size_t before = baton_schema_enter(s, keyword, name);
    uint32_t expr = s->err ? 0 : rule_of(s, schema);
    baton_schema_leave(s, before);
    return expr;
}

uint32_t baton_schema_root(struct baton_schema *s, const struct baton_json *schema)
{
    s->root = schema;
    return s->err ? 0 : rule_of(s, schema);
}

static void fini(struct baton_schema *s)
{
    for (size_t i = 0; i < s->n_made; i++)
        baton_json_free(s->made[i].tree);
    free(s->made);
    free(s->rules);
}

enum baton_err baton_schema_read_with(struct baton_exprs *exprs, const char *text, size_t n,
                                      uint32_t (*read)(struct baton_schema *s,
                                                       const struct baton_json *root),
                                      struct baton_why *why)
{
    struct baton_json *root;
    struct baton_schema s = {.exprs = exprs, .why = why, .path = "#", .n_path = 1};
    enum baton_err err = baton_json_parse(text, n, &root, why);
    if (err)
        return err;
    /* Rule 0 is the language; the schema's own rule may be shared by references to "#". */
    uint32_t rule = baton_expr_rule_add(exprs, "#");
    uint32_t expr = read(&s, root);
    if (!s.err)
        baton_expr_rule_set(exprs, rule, expr);
    fini(&s);
    baton_json_free(root);
    return s.err ? s.err : exprs->err;
}

enum baton_err baton_schema_read(struct baton_exprs *exprs, const char *text, size_t n,
                                 struct baton_why *why)
{
    return baton_schema_read_with(exprs, text, n, baton_schema_root, why);
}
