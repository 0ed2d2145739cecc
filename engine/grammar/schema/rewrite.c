/* Rewrites keywords that others can express: dependencies, some of `not`, and draft 7's lists of
 * items. */
#include <string.h>

#include "common/base/array.h"
#include "engine/grammar/grammar.h"
#include "engine/grammar/schema/internal.h"

static const char rewritten[] = "rewritten"; /* the key of a schema made from one schema alone */

static void put_rest(struct baton_json_out *out, const struct baton_json *schema,
                     const char *keyword)
{
    for (void *it = baton_json_first(schema); it; it = baton_json_next(schema, it))
        if (strcmp(baton_json_key(it), keyword) != 0)
            baton_json_put_value(out, baton_json_key(it), baton_json_member(it));
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

static void put_other_types(struct baton_schema *s, struct baton_json_out *out,
                            const struct baton_json *no)
{
    static const struct {
        int type;
        const char *name;
    } types[] = {{BATON_TYPE_NULL, "null"},     {BATON_TYPE_BOOL, "boolean"},
                 {BATON_TYPE_NUMBER, "number"}, {BATON_TYPE_STRING, "string"},
                 {BATON_TYPE_ARRAY, "array"},   {BATON_TYPE_OBJECT, "object"}};
    int without = baton_schema_types(s, no);
    if ((without & BATON_TYPE_NUMBER) == BATON_TYPE_INTEGER)
        baton_schema_unsupported(s, "not with the type integer");
    baton_json_open(out, NULL, '{');
    baton_json_open(out, "type", '[');
    for (size_t i = 0; i < BATON_N_OF(types); i++)
        if (!(without & types[i].type))
            baton_json_put_string(out, NULL, types[i].name);
    baton_json_close(out, ']');
    baton_json_close(out, '}');
}

/* Writes the negation of a schema with one keyword. */
static void put_not(struct baton_schema *s, struct baton_json_out *out,
                    const struct baton_json *schema, const char *keyword)
{
    const struct baton_json *no = baton_json_get(schema, keyword);
    const struct baton_json *required = baton_json_get(no, "required");
    const char *name = baton_json_string(baton_json_at(required, 0), NULL);
    if (baton_json_kind(no) == BATON_JSON_BOOL)
        baton_json_put_bool(out, NULL, !baton_json_bool(no));
    else if (baton_json_size(no) == 1 && baton_json_get(no, "not"))
        baton_json_put_value(out, NULL, baton_json_get(no, "not"));
    else if (baton_json_size(no) == 1 && baton_json_get(no, "type"))
        put_other_types(s, out, no);
    else if (baton_json_size(no) == 1 && baton_json_size(required) == 1 && name)
        put_absent(out, schema, name);
    else
        baton_schema_unsupported(s, "not");
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
                {"not", put_not}};

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
    while (i < n && !baton_json_get(schema, rewrites[i].keyword))
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
