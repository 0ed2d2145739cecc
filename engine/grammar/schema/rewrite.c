/* Rewrites keywords that others can express: dependencies, some of `not`, `if`, listed names, and
 * draft 7's lists of items. */
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "engine/grammar/grammar.h"
#include "engine/grammar/schema/internal.h"

static const char rewritten[] = "rewritten"; /* the key of a schema made from one schema alone */

static void put_rest(struct baton_json_out *out, const struct baton_json *schema,
                     const char *keyword)
{
    bool is_if = !strcmp(keyword, "if");
    for (void *it = baton_json_first(schema); it; it = baton_json_next(schema, it)) {
        const char *key = baton_json_key(it);
        bool is_part = is_if && (!strcmp(key, "then") || !strcmp(key, "else"));
        if (strcmp(key, keyword) != 0 && !is_part)
            baton_json_put_value(out, key, baton_json_member(it));
    }
}

/* Writes a schema that excludes the member. It is open where the schema beside it lists no members,
 * which it would otherwise close. */
static void put_absent(struct baton_json_out *out, const struct baton_json *schema,
                       const char *name)
{
    baton_json_open(out, NULL, '{');
    baton_json_open(out, "properties", '{');
    baton_json_put_bool(out, name, false);
    baton_json_close(out, '}');
    if (!baton_json_get(schema, "properties") && !baton_json_get(schema, "additionalProperties"))
        baton_json_put_bool(out, "additionalProperties", true);
    baton_json_close(out, '}');
}

/* ---- dependencies of a member ---- */

static void put_required(struct baton_json_out *out, const char *name,
                         const struct baton_json *others)
{
    baton_json_open(out, NULL, '{');
    baton_json_open(out, "required", '[');
    baton_json_put_string(out, NULL, name);
    for (size_t i = 0; i < baton_json_size(others); i++)
        if (!baton_json_is(baton_json_at(others, i), name))
            baton_json_put_value(out, NULL, baton_json_at(others, i));
    baton_json_close(out, ']');
    baton_json_close(out, '}');
}

/* Writes a choice: the member is absent, or its condition holds: other members, or a schema. */
static void put_dependent(struct baton_json_out *out, const struct baton_json *schema,
                          const char *name, const struct baton_json *asked)
{
    bool is_list = baton_json_kind(asked) == BATON_JSON_ARRAY;
    baton_json_open(out, NULL, '{');
    baton_json_open(out, "anyOf", '[');
    put_absent(out, schema, name);
    if (is_list) {
        put_required(out, name, asked);
    } else {
        baton_json_open(out, NULL, '{');
        baton_json_open(out, "allOf", '[');
        put_required(out, name, NULL);
        baton_json_put_value(out, NULL, asked);
        baton_json_close(out, ']');
        baton_json_close(out, '}');
    }
    baton_json_close(out, ']');
    baton_json_close(out, '}');
}

static void put_dependencies(struct baton_schema *s, struct baton_json_out *out,
                             const struct baton_json *schema, const char *keyword)
{
    const struct baton_json *all = baton_json_get(schema, keyword);
    if (baton_json_kind(all) != BATON_JSON_OBJECT)
        baton_schema_fail(s, "%s: must be an object", keyword);
    for (void *it = baton_json_first(all); it && !s->err; it = baton_json_next(all, it))
        put_dependent(out, schema, baton_json_key(it), baton_json_member(it));
}

/* ---- not ---- */

static const struct {
    int type;
    const char *name;
} types[] = {{BATON_TYPE_NULL, "null"},     {BATON_TYPE_BOOL, "boolean"},
             {BATON_TYPE_NUMBER, "number"}, {BATON_TYPE_STRING, "string"},
             {BATON_TYPE_ARRAY, "array"},   {BATON_TYPE_OBJECT, "object"}};

/* Writes a schema of the types that are not among these. */
static void put_types_without(struct baton_json_out *out, int without)
{
    baton_json_open(out, NULL, '{');
    baton_json_open(out, "type", '[');
    for (size_t i = 0; i < BATON_N_OF(types); i++)
        if (!(without & types[i].type))
            baton_json_put_string(out, NULL, types[i].name);
    baton_json_close(out, ']');
    baton_json_close(out, '}');
}

static void put_other_types(struct baton_schema *s, struct baton_json_out *out,
                            const struct baton_json *no)
{
    int without = baton_schema_types(s, no);
    if ((without & BATON_TYPE_NUMBER) == BATON_TYPE_INTEGER)
        baton_schema_unsupported(s, "not with the type integer");
    put_types_without(out, without);
}

/* ---- not one of listed values ---- */

enum { MAX_LISTED = 64 };

static int compare_numbers(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

/* Writes the numbers below, between and above those listed. */
static void put_gaps(struct baton_json_out *out, double *listed, size_t n)
{
    qsort(listed, n, sizeof *listed, compare_numbers);
    for (size_t i = 0; i <= n; i++) {
        baton_json_open(out, NULL, '{');
        baton_json_put_string(out, "type", "number");
        if (i > 0)
            baton_json_put_exact(out, "exclusiveMinimum", listed[i - 1]);
        if (i < n)
            baton_json_put_exact(out, "exclusiveMaximum", listed[i]);
        baton_json_close(out, '}');
    }
}

static void put_other_strings(struct baton_json_out *out, const struct baton_json *const *listed,
                              size_t n)
{
    baton_json_open(out, NULL, '{');
    baton_json_put_string(out, "type", "string");
    baton_json_open(out, BATON_SCHEMA_EXCLUDES, '[');
    for (size_t i = 0; i < n; i++)
        if (baton_json_kind(listed[i]) == BATON_JSON_STRING)
            baton_json_put_value(out, NULL, listed[i]);
    baton_json_close(out, ']');
    baton_json_close(out, '}');
}

static void put_boolean(struct baton_json_out *out, bool value)
{
    baton_json_open(out, NULL, '{');
    baton_json_put_bool(out, "const", value);
    baton_json_close(out, '}');
}

/* Writes a choice of all values but those listed: the other types, and the rest of theirs. */
static void put_unlisted(struct baton_schema *s, struct baton_json_out *out,
                         const struct baton_json *const *listed, size_t n)
{
    double numbers[MAX_LISTED];
    size_t n_numbers = 0;
    int seen = 0;
    bool has[2] = {false, false};
    for (size_t i = 0; i < n; i++) {
        int type = baton_schema_type_of(listed[i]);
        seen |= type & BATON_TYPE_NUMBER ? BATON_TYPE_NUMBER : type;
        if (type & BATON_TYPE_NUMBER)
            numbers[n_numbers++] = baton_json_number(listed[i]);
        if (type == BATON_TYPE_BOOL)
            has[baton_json_bool(listed[i])] = true;
    }
    if (seen & (BATON_TYPE_ARRAY | BATON_TYPE_OBJECT))
        baton_schema_unsupported(s, "not with an array or an object");
    baton_json_open(out, NULL, '{');
    baton_json_open(out, "anyOf", '[');
    put_types_without(out, seen);
    if (n_numbers)
        put_gaps(out, numbers, n_numbers);
    if (seen & BATON_TYPE_STRING)
        put_other_strings(out, listed, n);
    for (int value = 0; value < 2; value++)
        if (seen & BATON_TYPE_BOOL && !has[value])
            put_boolean(out, value);
    baton_json_close(out, ']');
    baton_json_close(out, '}');
}

static void put_not_values(struct baton_schema *s, struct baton_json_out *out,
                           const struct baton_json *no)
{
    const struct baton_json *values = baton_json_get(no, "enum"), *listed[MAX_LISTED];
    size_t n = values ? baton_json_size(values) : 1;
    if (n > MAX_LISTED) {
        baton_schema_unsupported(s, "not with more than 64 values");
        return;
    }
    for (size_t i = 0; i < n; i++)
        listed[i] = values ? baton_json_at(values, i) : baton_json_get(no, "const");
    put_unlisted(s, out, listed, n);
}

/* ---- not a schema ---- */

/* True when the schema has this keyword, and annotations only besides. */
static bool has_only(const struct baton_json *schema, const char *keyword, const char *also)
{
    bool has = false;
    for (void *it = baton_json_first(schema); it; it = baton_json_next(schema, it)) {
        const char *key = baton_json_key(it);
        if (!strcmp(key, keyword))
            has = true;
        else if (strcmp(key, also) != 0 && !baton_schema_is_annotation(key))
            return false;
    }
    return has;
}

/* True when type, if it is given, allows all that is listed, so that it says no more. */
static bool is_list_of_values(struct baton_schema *s, const struct baton_json *no)
{
    if (!has_only(no, "enum", "type") && !has_only(no, "const", "type"))
        return false;
    int given = baton_json_get(no, "type") ? baton_schema_types(s, no) : BATON_TYPE_ALL;
    const struct baton_json *values = baton_json_get(no, "enum");
    for (size_t i = 0; i < (values ? baton_json_size(values) : 1); i++)
        if (!(given & baton_schema_type_of(values ? baton_json_at(values, i)
                                                  : baton_json_get(no, "const"))))
            return false;
    return true;
}

/* Writes the negation of an object with one property: it is absent, if it is required, or its value
 * differs. */
static void put_not_property(struct baton_json_out *out, const struct baton_json *schema,
                             const struct baton_json *no)
{
    void *it = baton_json_first(baton_json_get(no, "properties"));
    const char *name = baton_json_key(it);
    baton_json_open(out, NULL, '{');
    baton_json_open(out, "anyOf", '[');
    if (baton_json_size(baton_json_get(no, "required")))
        put_absent(out, schema, name);
    baton_json_open(out, NULL, '{');
    baton_json_open(out, "properties", '{');
    baton_json_open(out, name, '{');
    baton_json_put_value(out, "not", baton_json_member(it));
    baton_json_close(out, '}');
    baton_json_close(out, '}');
    baton_json_open(out, "required", '[');
    baton_json_put_string(out, NULL, name);
    baton_json_close(out, ']');
    if (!baton_json_get(schema, "properties") && !baton_json_get(schema, "additionalProperties"))
        baton_json_put_bool(out, "additionalProperties", true);
    baton_json_close(out, '}');
    baton_json_close(out, ']');
    baton_json_close(out, '}');
}

static bool is_one_property(const struct baton_json *no)
{
    const struct baton_json *required = baton_json_get(no, "required");
    void *it = baton_json_first(baton_json_get(no, "properties"));
    return baton_json_size(baton_json_get(no, "properties")) == 1 &&
           has_only(no, "properties", "required") &&
           (!required || (baton_json_size(required) == 1 &&
                          baton_json_is(baton_json_at(required, 0), baton_json_key(it))));
}

static void put_not_schema(struct baton_schema *s, struct baton_json_out *out,
                           const struct baton_json *schema, const struct baton_json *no)
{
    const struct baton_json *required = baton_json_get(no, "required");
    const char *name = baton_json_string(baton_json_at(required, 0), NULL);
    if (baton_json_kind(no) == BATON_JSON_BOOL)
        baton_json_put_bool(out, NULL, !baton_json_bool(no));
    else if (baton_json_kind(no) == BATON_JSON_OBJECT && !baton_json_size(no))
        baton_json_put_bool(out, NULL, false);
    else if (has_only(no, "not", "not"))
        baton_json_put_value(out, NULL, baton_json_get(no, "not"));
    else if (is_list_of_values(s, no))
        put_not_values(s, out, no);
    else if (has_only(no, "type", "type"))
        put_other_types(s, out, no);
    else if (has_only(no, "required", "required") && baton_json_size(required) == 1 && name)
        put_absent(out, schema, name);
    else if (is_one_property(no))
        put_not_property(out, schema, no);
    else
        baton_schema_unsupported(s, "not");
}

static void put_not(struct baton_schema *s, struct baton_json_out *out,
                    const struct baton_json *schema, const char *keyword)
{
    put_not_schema(s, out, schema, baton_json_get(schema, keyword));
}

/* Writes the conjunction of a condition, or of its negation, and what follows from it. */
static void put_case(struct baton_json_out *out, const struct baton_json *condition, bool holds,
                     const struct baton_json *then)
{
    baton_json_open(out, NULL, '{');
    baton_json_open(out, "allOf", '[');
    if (holds) {
        baton_json_put_value(out, NULL, condition);
    } else {
        baton_json_open(out, NULL, '{');
        baton_json_put_value(out, "not", condition);
        baton_json_close(out, '}');
    }
    if (then)
        baton_json_put_value(out, NULL, then);
    baton_json_close(out, ']');
    baton_json_close(out, '}');
}

static void put_if(struct baton_schema *s, struct baton_json_out *out,
                   const struct baton_json *schema, const char *keyword)
{
    const struct baton_json *condition = baton_json_get(schema, keyword);
    (void)s;
    baton_json_open(out, NULL, '{');
    baton_json_open(out, "anyOf", '[');
    put_case(out, condition, true, baton_json_get(schema, "then"));
    put_case(out, condition, false, baton_json_get(schema, "else"));
    baton_json_close(out, ']');
    baton_json_close(out, '}');
}

/* ---- names from a list ---- */

/* Writes a schema of these names alone. The schema's conditions on members hold for them too. */
static void put_named(struct baton_schema *s, struct baton_json_out *out,
                      const struct baton_json *schema, const char *keyword)
{
    const struct baton_json *names = baton_json_get(baton_json_get(schema, keyword), "enum");
    (void)s;
    baton_json_open(out, NULL, '{');
    baton_json_open(out, "properties", '{');
    for (size_t i = 0; i < baton_json_size(names); i++) {
        const char *name = baton_json_string(baton_json_at(names, i), NULL);
        size_t first = 0;
        while (!baton_json_is(baton_json_at(names, first), name))
            first++;
        if (first == i) /* not a second time */
            baton_json_put_bool(out, name, true);
    }
    baton_json_close(out, '}');
    baton_json_put_bool(out, "additionalProperties", false);
    baton_json_close(out, '}');
}

/* ---- items ---- */

static void put_items(struct baton_json_out *out, const struct baton_json *schema)
{
    const struct baton_json *items = baton_json_get(schema, "items");
    const struct baton_json *more = baton_json_get(schema, "additionalItems");
    bool is_list = baton_json_kind(items) == BATON_JSON_ARRAY;
    baton_json_open(out, NULL, '{');
    for (void *it = baton_json_first(schema); it; it = baton_json_next(schema, it))
        if (strcmp(baton_json_key(it), "items") != 0 &&
            strcmp(baton_json_key(it), "additionalItems") != 0)
            baton_json_put_value(out, baton_json_key(it), baton_json_member(it));
    if (items)
        baton_json_put_value(out, is_list ? "prefixItems" : "items", items);
    if (is_list && more)
        baton_json_put_value(out, "items", more);
    baton_json_close(out, '}');
}

/* ---- a schema ---- */

static const struct {
    const char *keyword;
    void (*put)(struct baton_schema *s, struct baton_json_out *out, const struct baton_json *schema,
                const char *keyword);
} rewrites[] = {{"dependentRequired", put_dependencies},
                {"dependentSchemas", put_dependencies},
                {"dependencies", put_dependencies},
                {"not", put_not},
                {"if", put_if},
                {"propertyNames", put_named}};

/* Names that are listed can be written as properties; others stay a condition on names. */
static bool is_rewritten(const struct baton_json *schema, const char *keyword)
{
    const struct baton_json *given = baton_json_get(schema, keyword);
    const struct baton_json *names = baton_json_get(given, "enum");
    bool is_list = baton_json_kind(names) == BATON_JSON_ARRAY;
    if (strcmp(keyword, "propertyNames") != 0)
        return given;
    for (size_t i = 0; i < baton_json_size(names); i++)
        is_list &= baton_json_kind(baton_json_at(names, i)) == BATON_JSON_STRING;
    return is_list && has_only(given, "enum", "type") &&
           (!baton_json_get(given, "type") ||
            baton_json_is(baton_json_get(given, "type"), "string"));
}

/* Writes an allOf of the first such keyword's meaning and the rest of the schema. */
static void put_schema(struct baton_schema *s, struct baton_json_out *out,
                       const struct baton_json *schema, size_t i)
{
    baton_json_open(out, NULL, '{');
    baton_json_open(out, "allOf", '[');
    baton_json_open(out, NULL, '{');
    put_rest(out, schema, rewrites[i].keyword);
    baton_json_close(out, '}');
    rewrites[i].put(s, out, schema, rewrites[i].keyword);
    baton_json_close(out, ']');
    baton_json_close(out, '}');
}

const struct baton_json *baton_schema_rewritten(struct baton_schema *s,
                                                const struct baton_json *schema)
{
    struct baton_buf buf;
    bool has_list = baton_json_kind(baton_json_get(schema, "items")) == BATON_JSON_ARRAY ||
                    baton_json_get(schema, "additionalItems");
    size_t i = 0, n = BATON_N_OF(rewrites);
    while (i < n && !is_rewritten(schema, rewrites[i].keyword))
        i++;
    if (i == n && !has_list)
        return schema;
    const struct baton_json *found = baton_schema_find_made(s, schema, rewritten);
    if (found)
        return found;
    baton_buf_init(&buf, (size_t)BATON_GRAMMAR_MAX_BYTES * 16);
    struct baton_json_out out = baton_json_out(&buf);
    if (has_list)
        put_items(&out, schema);
    else
        put_schema(s, &out, schema, i);
    return baton_schema_keep(s, schema, rewritten, &buf);
}
