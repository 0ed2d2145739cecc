/* Writes references and conjunctions out as one schema. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "engine/grammar/grammar.h"
#include "engine/grammar/schema/internal.h"

enum { MAX_FLATS = 64, MAX_BRANCHES = 64 };

static bool equal_objects(const struct baton_json *a, const struct baton_json *b)
{
    for (void *it = baton_json_first(a); it; it = baton_json_next(a, it)) {
        const struct baton_json *other = baton_json_get(b, baton_json_key(it));
        if (!other || !baton_schema_equal(baton_json_member(it), other))
            return false;
    }
    return true;
}

bool baton_schema_equal(const struct baton_json *a, const struct baton_json *b)
{
    enum baton_json_kind kind = baton_json_kind(a), other = baton_json_kind(b);
    size_t n_a = 0, n_b = 0;
    bool numbers = (kind == BATON_JSON_INT || kind == BATON_JSON_REAL) &&
                   (other == BATON_JSON_INT || other == BATON_JSON_REAL);
    if (!a || !b || (kind != other && !numbers) || baton_json_size(a) != baton_json_size(b))
        return false;
    if (numbers)
        return kind == BATON_JSON_INT && other == BATON_JSON_INT
                   ? baton_json_int(a) == baton_json_int(b)
                   : baton_json_number(a) == baton_json_number(b);
    if (kind == BATON_JSON_BOOL)
        return baton_json_bool(a) == baton_json_bool(b);
    if (kind == BATON_JSON_OBJECT)
        return equal_objects(a, b);
    for (size_t i = 0; i < baton_json_size(a); i++)
        if (!baton_schema_equal(baton_json_at(a, i), baton_json_at(b, i)))
            return false;
    if (kind != BATON_JSON_STRING)
        return true;
    const char *x = baton_json_string(a, &n_a), *y = baton_json_string(b, &n_b);
    return n_a == n_b && !memcmp(x, y, n_a);
}

/* ---- schemas that are written out ---- */

const struct baton_json *baton_schema_find_made(const struct baton_schema *s, const void *a,
                                                const void *b)
{
    for (size_t i = 0; i < s->n_made; i++)
        if (s->made[i].a == a && s->made[i].b == b)
            return s->made[i].tree;
    return NULL;
}

/* Counts the work, because merging what was merged before grows with the square of the schema. */
static enum baton_err count_merged(struct baton_schema *s, size_t n)
{
    if (n > BATON_SCHEMA_MAX_MERGED - s->n_merged)
        return baton_fail(s->why, BATON_LIMIT, "allOf takes too much work to merge");
    s->n_merged += n;
    return BATON_OK;
}

const struct baton_json *baton_schema_keep(struct baton_schema *s, const void *a, const void *b,
                                           struct baton_buf *buf)
{
    struct baton_json *tree = NULL;
    enum baton_err err = s->err ? s->err : baton_buf_err(buf);
    if (!err)
        err = count_merged(s, buf->len);
    if (!err)
        err = baton_json_parse(buf->data, buf->len, &tree, s->why);
    baton_buf_fini(buf);
    if (!err)
        err = BATON_RESERVE(s->made, s->cap_made, s->n_made + 1);
    if (!err && s->n_made >= BATON_SCHEMA_MAX_SCHEMAS)
        err = baton_fail(s->why, BATON_LIMIT, "more than %d schemas", BATON_SCHEMA_MAX_SCHEMAS);
    if (err) {
        baton_json_free(tree);
        s->err = err;
        return s->root;
    }
    s->made[s->n_made++] = (struct baton_schema_made){a, b, tree};
    return tree;
}

static struct baton_json_out begin(struct baton_buf *buf)
{
    baton_buf_init(buf, (size_t)BATON_GRAMMAR_MAX_BYTES * 16);
    return baton_json_out(buf);
}

const struct baton_json *baton_schema_without(struct baton_schema *s,
                                              const struct baton_json *schema, const char *keyword)
{
    struct baton_buf buf;
    const struct baton_json *found = baton_schema_find_made(s, schema, keyword);
    if (found)
        return found;
    struct baton_json_out out = begin(&buf);
    baton_json_open(&out, NULL, '{');
    for (void *it = baton_json_first(schema); it; it = baton_json_next(schema, it))
        if (strcmp(baton_json_key(it), keyword) != 0 &&
            !baton_schema_is_annotation(baton_json_key(it)))
            baton_json_put_value(&out, baton_json_key(it), baton_json_member(it));
    baton_json_close(&out, '}');
    return baton_schema_keep(s, schema, keyword, &buf);
}

/* ---- references ---- */

/* Decodes ~0, ~1 and %XX (RFC 6901). */
static bool unescape(const char *text, size_t n, char *out, size_t cap)
{
    size_t used = 0;
    for (size_t i = 0; i < n && used + 1 < cap; i++) {
        if (text[i] == '~' && i + 1 < n && (text[i + 1] == '0' || text[i + 1] == '1'))
            out[used++] = text[++i] == '0' ? '~' : '/';
        else if (text[i] == '%' && i + 2 < n && isxdigit((unsigned char)text[i + 1]) &&
                 isxdigit((unsigned char)text[i + 2])) {
            const char hex[] = {text[i + 1], text[i + 2], '\0'};
            out[used++] = (char)strtoul(hex, NULL, 16);
            i += 2;
        } else
            out[used++] = text[i];
    }
    out[used] = '\0';
    return used + 1 < cap;
}

static const struct baton_json *follow(const struct baton_json *at, const char *name)
{
    char *end;
    if (baton_json_kind(at) != BATON_JSON_ARRAY)
        return baton_json_get(at, name);
    unsigned long index = strtoul(name, &end, 10);
    return *name && !*end ? baton_json_at(at, index) : NULL;
}

static const struct baton_json *resolve(struct baton_schema *s, const struct baton_json *ref)
{
    char name[256];
    const struct baton_json *at = s->root;
    const char *text = baton_json_string(ref, NULL);
    if (!text || text[0] != '#' || (text[1] && text[1] != '/')) {
        baton_schema_fail(s,
                          "$ref: only references into the same schema are supported, such as "
                          "#/$defs/name, not %.80s",
                          text ? text : "another type");
        return at;
    }
    for (const char *part = text + 1; at && *part == '/';) {
        size_t n = strcspn(part + 1, "/");
        at = unescape(part + 1, n, name, sizeof name) ? follow(at, name) : NULL;
        part += 1 + n;
    }
    if (!at)
        baton_schema_fail(s, "$ref: %.80s does not exist", text);
    return at ? at : s->root;
}

static bool says_more(const struct baton_json *schema, const char *keyword)
{
    for (void *it = baton_json_first(schema); it; it = baton_json_next(schema, it))
        if (strcmp(baton_json_key(it), keyword) != 0 &&
            !baton_schema_is_annotation(baton_json_key(it)))
            return true;
    return false;
}

static const struct baton_json *flat_once(struct baton_schema *s, const struct baton_json *schema)
{
    const struct baton_json *ref = baton_json_get(schema, "$ref");
    const struct baton_json *all = baton_json_get(schema, "allOf");
    if (ref) {
        const struct baton_json *target = resolve(s, ref);
        return s->err || !says_more(schema, "$ref")
                   ? target
                   : baton_schema_both(s, target, baton_schema_without(s, schema, "$ref"));
    }
    if (baton_json_kind(all) != BATON_JSON_ARRAY)
        baton_schema_fail(s, "allOf: must be an array of schemas");
    const struct baton_json *made = baton_schema_without(s, schema, "allOf");
    for (size_t i = 0; i < baton_json_size(all) && !s->err; i++)
        made = baton_schema_both(s, made, baton_json_at(all, i));
    return made;
}

const struct baton_json *baton_schema_flat(struct baton_schema *s, const struct baton_json *schema)
{
    for (int n = 0; !s->err; n++) {
        const struct baton_json *plain = baton_schema_rewritten(s, schema);
        if (plain == schema && !baton_json_get(schema, "$ref") && !baton_json_get(schema, "allOf"))
            break;
        if (n == MAX_FLATS)
            baton_schema_fail(s, "$ref: the references go round in a circle");
        schema = s->err || plain != schema ? plain : flat_once(s, schema);
    }
    return schema;
}

/* ---- conjunctions ---- */

typedef void merge_fn(struct baton_schema *s, struct baton_json_out *out, const char *key,
                      const struct baton_json *a, const struct baton_json *b);

static void put_greater(struct baton_schema *s, struct baton_json_out *out, const char *key,
                        const struct baton_json *a, const struct baton_json *b)
{
    (void)s;
    baton_json_put_value(out, key, baton_json_number(a) > baton_json_number(b) ? a : b);
}

static void put_less(struct baton_schema *s, struct baton_json_out *out, const char *key,
                     const struct baton_json *a, const struct baton_json *b)
{
    (void)s;
    baton_json_put_value(out, key, baton_json_number(a) < baton_json_number(b) ? a : b);
}

static void put_union(struct baton_schema *s, struct baton_json_out *out, const char *key,
                      const struct baton_json *a, const struct baton_json *b)
{
    (void)s;
    baton_json_open(out, key, '[');
    for (size_t i = 0; i < baton_json_size(a); i++)
        baton_json_put_value(out, NULL, baton_json_at(a, i));
    for (size_t i = 0; i < baton_json_size(b); i++)
        baton_json_put_value(out, NULL, baton_json_at(b, i));
    baton_json_close(out, ']');
}

static void put_common(struct baton_schema *s, struct baton_json_out *out, const char *key,
                       const struct baton_json *a, const struct baton_json *b)
{
    s->err = s->err ? s->err : count_merged(s, baton_json_size(a) * baton_json_size(b));
    baton_json_open(out, key, '[');
    for (size_t i = 0; i < baton_json_size(a) && !s->err; i++)
        for (size_t j = 0; j < baton_json_size(b); j++)
            if (baton_schema_equal(baton_json_at(a, i), baton_json_at(b, j))) {
                baton_json_put_value(out, NULL, baton_json_at(a, i));
                break;
            }
    baton_json_close(out, ']');
}

static void put_same(struct baton_schema *s, struct baton_json_out *out, const char *key,
                     const struct baton_json *a, const struct baton_json *b)
{
    char text[64];
    (void)snprintf(text, sizeof text, "%.32s twice in allOf", key);
    if (!baton_schema_equal(a, b))
        baton_schema_unsupported(s, text);
    baton_json_put_value(out, key, a);
}

static void put_const(struct baton_schema *s, struct baton_json_out *out, const char *key,
                      const struct baton_json *a, const struct baton_json *b)
{
    if (baton_schema_equal(a, b)) {
        baton_json_put_value(out, key, a);
        return;
    }
    (void)s; /* no value equals both */
    baton_json_put_value(out, key, a);
    baton_json_open(out, "enum", '[');
    baton_json_close(out, ']');
}

static void put_types(struct baton_json_out *out, int types)
{
    static const struct {
        int type;
        const char *name;
    } names[] = {{BATON_TYPE_NULL, "null"},     {BATON_TYPE_BOOL, "boolean"},
                 {BATON_TYPE_NUMBER, "number"}, {BATON_TYPE_INTEGER, "integer"},
                 {BATON_TYPE_STRING, "string"}, {BATON_TYPE_ARRAY, "array"},
                 {BATON_TYPE_OBJECT, "object"}};
    baton_json_open(out, "type", '[');
    for (size_t i = 0; i < BATON_N_OF(names); i++)
        if ((types & names[i].type) == names[i].type) {
            baton_json_put_string(out, NULL, names[i].name);
            types &= ~names[i].type;
        }
    baton_json_close(out, ']');
}

/* Writes both as an allOf, which is merged when it is reached. */
static void put_all_of(struct baton_schema *s, struct baton_json_out *out, const char *key,
                       const struct baton_json *a, const struct baton_json *b)
{
    (void)s;
    baton_json_open(out, key, '{');
    baton_json_open(out, "allOf", '[');
    baton_json_put_value(out, NULL, a);
    baton_json_put_value(out, NULL, b);
    baton_json_close(out, ']');
    baton_json_close(out, '}');
}

static void put_products(struct baton_schema *s, struct baton_json_out *out, const char *key,
                         const struct baton_json *a, const struct baton_json *b)
{
    if (baton_json_size(a) * baton_json_size(b) > MAX_BRANCHES)
        baton_schema_unsupported(s, "allOf of anyOf with more than 64 pairs");
    baton_json_open(out, key, '[');
    for (size_t i = 0; i < baton_json_size(a) && !s->err; i++)
        for (size_t j = 0; j < baton_json_size(b); j++)
            put_all_of(s, out, NULL, baton_json_at(a, i), baton_json_at(b, j));
    baton_json_close(out, ']');
}

static void put_each_pattern(struct baton_json_out *out, const struct baton_json *patterns)
{
    if (baton_json_kind(patterns) != BATON_JSON_ARRAY)
        baton_json_put_value(out, NULL, patterns);
    for (size_t i = 0; i < baton_json_size(patterns); i++)
        baton_json_put_value(out, NULL, baton_json_at(patterns, i));
}

/* Writes a list of patterns, which only a schema that is written out has. */
static void put_patterns(struct baton_schema *s, struct baton_json_out *out, const char *key,
                         const struct baton_json *a, const struct baton_json *b)
{
    (void)s;
    baton_json_open(out, key, '[');
    put_each_pattern(out, a);
    if (!baton_schema_equal(a, b))
        put_each_pattern(out, b);
    baton_json_close(out, ']');
}

static const struct {
    const char *key;
    merge_fn *merge;
} merges[] = {
    {"enum", put_common},
    {"const", put_const},
    {"required", put_union},
    {"anyOf", put_products},
    {"minimum", put_greater},
    {"exclusiveMinimum", put_greater},
    {"minLength", put_greater},
    {"minItems", put_greater},
    {"minProperties", put_greater},
    {"maximum", put_less},
    {"exclusiveMaximum", put_less},
    {"maxLength", put_less},
    {"maxItems", put_less},
    {"maxProperties", put_less},
    {"items", put_all_of},
    {"additionalProperties", put_all_of},
    {"propertyNames", put_all_of},
    {"pattern", put_patterns},
    {BATON_SCHEMA_EXCLUDES, put_patterns},
};

/* Returns the schema that one side has for a property that it does not list. */
static const struct baton_json *more_of(const struct baton_json *schema)
{
    const struct baton_json *more = baton_json_get(schema, "additionalProperties");
    return baton_json_kind(more) == BATON_JSON_BOOL && baton_json_bool(more) ? NULL : more;
}

static void put_property(struct baton_schema *s, struct baton_json_out *out, const char *name,
                         const struct baton_json *one, const struct baton_json *other,
                         const struct baton_json *more)
{
    if (other)
        put_all_of(s, out, name, one, other);
    else if (more)
        put_all_of(s, out, name, one, more);
    else
        baton_json_put_value(out, name, one);
}

static void put_properties(struct baton_schema *s, struct baton_json_out *out,
                           const struct baton_json *a, const struct baton_json *b)
{
    const struct baton_json *x = baton_json_get(a, "properties");
    const struct baton_json *y = baton_json_get(b, "properties");
    if (!x && !y)
        return;
    baton_json_open(out, "properties", '{');
    for (void *it = baton_json_first(x); it; it = baton_json_next(x, it))
        put_property(s, out, baton_json_key(it), baton_json_member(it),
                     baton_json_get(y, baton_json_key(it)), more_of(b));
    for (void *it = baton_json_first(y); it; it = baton_json_next(y, it))
        if (!baton_json_get(x, baton_json_key(it)))
            put_property(s, out, baton_json_key(it), baton_json_member(it), NULL, more_of(a));
    baton_json_close(out, '}');
}

static void put_both(struct baton_schema *s, struct baton_json_out *out, const char *key,
                     const struct baton_json *a, const struct baton_json *b)
{
    for (size_t i = 0; i < BATON_N_OF(merges); i++)
        if (!strcmp(merges[i].key, key)) {
            merges[i].merge(s, out, key, a, b);
            return;
        }
    put_same(s, out, key, a, b);
}

/* Refuses prefixItems on both sides: their items would constrain the same positions differently. */
static void check_prefixes(struct baton_schema *s, const struct baton_json *a,
                           const struct baton_json *b)
{
    if (baton_json_get(a, "prefixItems") &&
        (baton_json_get(b, "prefixItems") || baton_json_get(b, "items")))
        baton_schema_unsupported(s, "prefixItems beside other items in allOf");
}

/* Refuses a pattern beside additionalProperties: the names of the pattern are additional to the
 * other side. */
static void check_patterns(struct baton_schema *s, const struct baton_json *a,
                           const struct baton_json *b)
{
    if (baton_json_get(a, "patternProperties") && baton_json_get(b, "additionalProperties"))
        baton_schema_unsupported(s, "patternProperties beside additionalProperties in allOf");
}

static void put_keywords(struct baton_schema *s, struct baton_json_out *out,
                         const struct baton_json *a, const struct baton_json *b)
{
    for (void *it = baton_json_first(a); it; it = baton_json_next(a, it)) {
        const char *key = baton_json_key(it);
        const struct baton_json *other = baton_json_get(b, key);
        if (!strcmp(key, "properties") || (!strcmp(key, "type") && other) ||
            baton_schema_is_annotation(key))
            continue;
        if (other)
            put_both(s, out, key, baton_json_member(it), other);
        else
            baton_json_put_value(out, key, baton_json_member(it));
    }
    for (void *it = baton_json_first(b); it; it = baton_json_next(b, it)) {
        const char *key = baton_json_key(it);
        if (!baton_json_get(a, key) && strcmp(key, "properties") != 0 &&
            !baton_schema_is_annotation(key))
            baton_json_put_value(out, key, baton_json_member(it));
    }
}

/* Returns the schema when one of the two decides alone: true and an empty schema allow everything,
 * false nothing. */
static const struct baton_json *of_one(const struct baton_json *a, const struct baton_json *b)
{
    if (baton_json_kind(a) == BATON_JSON_BOOL)
        return baton_json_bool(a) ? b : a;
    if (baton_json_kind(b) == BATON_JSON_BOOL)
        return baton_json_bool(b) ? a : b;
    if (!says_more(a, ""))
        return b;
    return says_more(b, "") ? NULL : a;
}

static bool is_schema(const struct baton_json *value)
{
    return baton_json_kind(value) == BATON_JSON_OBJECT || baton_json_kind(value) == BATON_JSON_BOOL;
}

const struct baton_json *baton_schema_both(struct baton_schema *s, const struct baton_json *a,
                                           const struct baton_json *b)
{
    struct baton_buf buf;
    if (!is_schema(a) || !is_schema(b))
        baton_schema_fail(s, "a schema must be an object, true or false");
    const struct baton_json *one = of_one(a, b), *found = baton_schema_find_made(s, a, b);
    if (s->err || one || found)
        return one ? one : found ? found : a;
    const struct baton_json *x = baton_schema_flat(s, a), *y = baton_schema_flat(s, b);
    if (s->err || (one = of_one(x, y)))
        return one ? one : a;
    struct baton_json_out out = begin(&buf);
    baton_json_open(&out, NULL, '{');
    if (baton_json_get(x, "type") && baton_json_get(y, "type"))
        put_types(&out, baton_schema_types(s, x) & baton_schema_types(s, y));
    check_prefixes(s, x, y);
    check_prefixes(s, y, x);
    check_patterns(s, x, y);
    check_patterns(s, y, x);
    put_properties(s, &out, x, y);
    put_keywords(s, &out, x, y);
    baton_json_close(&out, '}');
    return baton_schema_keep(s, a, b, &buf);
}
