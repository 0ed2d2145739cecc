/* The supported keywords, and the types that a schema allows. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/base/array.h"
#include "engine/grammar/schema/internal.h"

static const struct {
    const char *name;
    int types; /* the types that it constrains; 0: any */
} keywords[] = {
    {"type", 0},
    {"enum", 0},
    {"const", 0},
    {"$ref", 0},
    {"allOf", 0},
    {"anyOf", 0},
    {"oneOf", 0},
    {"not", 0},
    {"if", 0},
    {"then", 0},
    {"else", 0},
    {BATON_SCHEMA_EXCLUDES, 0},
    {"properties", BATON_TYPE_OBJECT},
    {"required", BATON_TYPE_OBJECT},
    {"additionalProperties", BATON_TYPE_OBJECT},
    {"propertyNames", BATON_TYPE_OBJECT},
    {"patternProperties", BATON_TYPE_OBJECT},
    {"dependentRequired", BATON_TYPE_OBJECT},
    {"dependentSchemas", BATON_TYPE_OBJECT},
    {"dependencies", BATON_TYPE_OBJECT},
    {"minProperties", BATON_TYPE_OBJECT},
    {"maxProperties", BATON_TYPE_OBJECT},
    {"items", BATON_TYPE_ARRAY},
    {"additionalItems", BATON_TYPE_ARRAY},
    {"prefixItems", BATON_TYPE_ARRAY},
    {"minItems", BATON_TYPE_ARRAY},
    {"maxItems", BATON_TYPE_ARRAY},
    {"uniqueItems", BATON_TYPE_ARRAY},
    {"pattern", BATON_TYPE_STRING},
    {"format", BATON_TYPE_STRING},
    {"minLength", BATON_TYPE_STRING},
    {"maxLength", BATON_TYPE_STRING},
    {"minimum", BATON_TYPE_NUMBER},
    {"maximum", BATON_TYPE_NUMBER},
    {"exclusiveMinimum", BATON_TYPE_NUMBER},
    {"exclusiveMaximum", BATON_TYPE_NUMBER},
    {"multipleOf", BATON_TYPE_NUMBER},
    {"contains", BATON_TYPE_ARRAY},
    {"minContains", BATON_TYPE_ARRAY},
    {"maxContains", BATON_TYPE_ARRAY},
};

enum { N_KEYWORDS = BATON_N_OF(keywords) };

/* Keywords that constrain values and are not supported. Some are of an older draft or a common
 * extension. Any other unknown word is an annotation, as the standard says. */
static const char *const unsupported[] = {
    "unevaluatedItems", "unevaluatedProperties", "$dynamicRef", "$recursiveRef",
    "disallow",         "divisibleBy",           "extends",
};

void baton_schema_check_keywords(struct baton_schema *s, const struct baton_json *schema)
{
    for (size_t i = 0; i < BATON_N_OF(unsupported); i++)
        if (baton_json_get(schema, unsupported[i]))
            baton_schema_unsupported(s, unsupported[i]);
}

bool baton_schema_is_annotation(const char *keyword)
{
    for (int i = 0; i < N_KEYWORDS; i++)
        if (!strcmp(keywords[i].name, keyword))
            return false;
    for (size_t i = 0; i < BATON_N_OF(unsupported); i++)
        if (!strcmp(unsupported[i], keyword))
            return false;
    return true;
}

static int type_named(const char *name)
{
    static const struct {
        const char *name;
        int type;
    } names[] = {{"null", BATON_TYPE_NULL},       {"boolean", BATON_TYPE_BOOL},
                 {"integer", BATON_TYPE_INTEGER}, {"number", BATON_TYPE_NUMBER},
                 {"string", BATON_TYPE_STRING},   {"array", BATON_TYPE_ARRAY},
                 {"object", BATON_TYPE_OBJECT}};
    for (size_t i = 0; name && i < BATON_N_OF(names); i++)
        if (!strcmp(names[i].name, name))
            return names[i].type;
    return 0;
}

int baton_schema_type_of(const struct baton_json *value)
{
    switch (baton_json_kind(value)) {
    case BATON_JSON_NULL:
        return BATON_TYPE_NULL;
    case BATON_JSON_BOOL:
        return BATON_TYPE_BOOL;
    case BATON_JSON_INT:
        return BATON_TYPE_INTEGER;
    case BATON_JSON_REAL: /* 1.0 is an integer */
        return baton_json_number(value) == floor(baton_json_number(value)) ? BATON_TYPE_INTEGER
                                                                           : BATON_TYPE_FRACTION;
    case BATON_JSON_STRING:
        return BATON_TYPE_STRING;
    case BATON_JSON_ARRAY:
        return BATON_TYPE_ARRAY;
    case BATON_JSON_OBJECT:
        return BATON_TYPE_OBJECT;
    }
    return 0;
}

/* Returns the types that the keywords constrain: a schema with properties and no type is meant for
 * objects. */
static int suggested_types(const struct baton_json *schema)
{
    int types = 0;
    for (int i = 0; i < N_KEYWORDS; i++)
        if (keywords[i].types && baton_json_get(schema, keywords[i].name))
            types |= keywords[i].types;
    return types ? types : BATON_TYPE_ALL;
}

static int types_of_values(const struct baton_json *schema)
{
    const struct baton_json *values = baton_json_get(schema, "enum");
    int types = 0;
    for (size_t i = 0; i < baton_json_size(values); i++)
        types |= baton_schema_type_of(baton_json_at(values, i));
    return values ? types : baton_schema_type_of(baton_json_get(schema, "const"));
}

bool baton_schema_has_values(const struct baton_json *schema)
{
    return baton_json_get(schema, "enum") || baton_json_get(schema, "const");
}

int baton_schema_types(struct baton_schema *s, const struct baton_json *schema)
{
    const struct baton_json *given = baton_json_get(schema, "type");
    int types = 0;
    if (!given)
        return baton_schema_has_values(schema) ? types_of_values(schema) : suggested_types(schema);
    bool is_array = baton_json_kind(given) == BATON_JSON_ARRAY;
    size_t n = is_array ? baton_json_size(given) : 1;
    for (size_t i = 0; i < n; i++) {
        const struct baton_json *one = is_array ? baton_json_at(given, i) : given;
        int type = type_named(baton_json_string(one, NULL));
        if (!type)
            baton_schema_fail(s, "type: must be null, boolean, integer, number, string, array or "
                                 "object, or an array of these");
        types |= type;
    }
    return types;
}

/* Refuses keywords beside listed values, because each value would have to be checked against them,
 * as it is against the bounds of numbers. */
void baton_schema_check_beside(struct baton_schema *s, const struct baton_json *schema,
                               const char *name)
{
    char text[128];
    for (int i = 0; i < N_KEYWORDS; i++)
        if (keywords[i].types && baton_json_get(schema, keywords[i].name) &&
            (keywords[i].types != BATON_TYPE_NUMBER || !strcmp(keywords[i].name, "multipleOf"))) {
            (void)snprintf(text, sizeof text, "%s beside %s", keywords[i].name, name);
            baton_schema_unsupported(s, text);
        }
}
