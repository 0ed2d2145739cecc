#include "gateway/api/openapi/schema.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/base/array.h"
#include "gateway/api/openapi/answers.h"
#include "gateway/api/openapi/types.h"

enum { DESCRIPTION_BYTES = 512 };

/* ---- a field ---- */

static void put_types(struct baton_json_out *out, unsigned kinds)
{
    static const struct {
        unsigned kind;
        const char *name;
    } types[] = {{GW_IS_BOOL, "boolean"},  {GW_IS_INT, "integer"}, {GW_IS_NUMBER, "number"},
                 {GW_IS_STRING, "string"}, {GW_IS_ARRAY, "array"}, {GW_IS_OBJECT, "object"}};
    baton_json_open(out, "type", '[');
    for (size_t i = 0; i < BATON_N_OF(types); i++)
        if (kinds & types[i].kind)
            baton_json_put_string(out, NULL, types[i].name);
    baton_json_put_string(out, NULL, "null");
    baton_json_close(out, ']');
}

static void put_range(struct baton_json_out *out, const struct gw_field_schema *field)
{
    if (field->kinds == GW_IS_INT) {
        baton_json_put_int(out, "minimum", field->min_int);
        baton_json_put_int(out, "maximum", field->max_int);
        return;
    }
    baton_json_put_real(out, field->above_min ? "exclusiveMinimum" : "minimum", field->min);
    if (isfinite(field->max))
        baton_json_put_real(out, "maximum", field->max);
}

/* Writes the range, and also -1 if other servers' clients switch the integer off with it. */
static void put_range_or_off(struct baton_json_out *out, const struct gw_field_schema *field)
{
    static const char off[] = "[-1,null]";
    bool is_within = field->min_int <= -1;
    if (!field->off_at_minus_one || field->kinds != GW_IS_INT || is_within) {
        put_range(out, field);
        return;
    }
    baton_json_open(out, "anyOf", '[');
    baton_json_open(out, NULL, '{');
    put_range(out, field);
    baton_json_close(out, '}');
    baton_json_open(out, NULL, '{');
    baton_json_put_raw(out, "enum", off, sizeof off - 1);
    baton_json_close(out, '}');
    baton_json_close(out, ']');
}

static void put_default(struct baton_json_out *out, const struct gw_field_schema *field)
{
    if (field->kinds == GW_IS_BOOL)
        baton_json_put_bool(out, "default", field->fallback != 0);
    else if (field->kinds == GW_IS_INT)
        baton_json_put_int(out, "default", (int64_t)field->fallback);
    else
        baton_json_put_real(out, "default", field->fallback);
}

static void put_words(struct baton_json_out *out, const struct gw_field_schema *field)
{
    baton_json_open(out, "enum", '[');
    for (size_t i = 0; i < field->n_words; i++)
        baton_json_put_string(out, NULL, field->words[i]);
    baton_json_put_null(out, NULL);
    baton_json_close(out, ']');
}

/* Writes the values of an unsupported field that request nothing (fields.h). */
static void put_nothing(struct baton_json_out *out, const struct gw_field_schema *field)
{
    static const char nothing[] =
        "[[],{},\"\",\"none\",\"auto\",false,[\"text\"],{\"type\":\"text\"},null]";
    static const char below[] = "[{\"type\":\"number\",\"maximum\":0},{\"enum\":[false,null]}]";
    if (!field->has_off) {
        baton_json_put_raw(out, "enum", nothing, sizeof nothing - 1);
    } else if (field->off == 0) {
        baton_json_put_raw(out, "anyOf", below, sizeof below - 1);
    } else {
        baton_json_open(out, "enum", '[');
        baton_json_put_real(out, NULL, field->off);
        baton_json_put_null(out, NULL);
        baton_json_close(out, ']');
    }
}

static void put_description(struct baton_json_out *out, const struct gw_field_schema *field,
                            const struct gw_field_schema *shape)
{
    char text[DESCRIPTION_BYTES] = "";
    size_t n = 0;
    const char *words = gw_schema_words(field->within, shape->name);
    const char *own = *field->same_as ? gw_schema_words(field->within, field->name) : NULL;
    if (*field->same_as)
        n += (size_t)snprintf(text, sizeof text, "Another name of %s. ", field->same_as);
    if (shape->is_refused)
        n += (size_t)snprintf(text + n, sizeof text - n,
                              "Not supported: only a neutral value is accepted. ");
    else if (own || words)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s. ", own ? own : words);
    if (*shape->wanted)
        n += (size_t)snprintf(text + n, sizeof text - n, "Must be %s. ", shape->wanted);
    if (n >= sizeof text)
        n = sizeof text - 1;
    baton_json_put_text(out, "description", text, n ? n - 1 : 0);
}

static void put_members(struct baton_json_out *out, const struct gw_body_schema *body,
                        const char *within);

/* Writes a field. An alias has the shape of the field's own name, unless a reader recorded one. */
static void put_field(struct baton_json_out *out, const struct gw_body_schema *body,
                      const struct gw_field_schema *field)
{
    const struct gw_field_schema *shape =
        *field->same_as && !field->kinds ? gw_body_schema_find(body, field->within, field->same_as)
                                         : field;
    if (!shape)
        shape = field;
    baton_json_open(out, field->name, '{');
    put_description(out, field, shape);
    if (shape->is_refused)
        put_nothing(out, shape);
    else if (shape->kinds)
        put_types(out, shape->kinds);
    if (shape->kinds & GW_IS_ARRAY && !shape->is_refused)
        gw_type_put(out, "items", gw_element_type(shape->name));
    if (shape->has_range)
        put_range_or_off(out, shape);
    if (shape->has_default)
        put_default(out, shape);
    if (shape->n_words)
        put_words(out, shape);
    if (!*field->within)
        put_members(out, body, field->name);
    baton_json_close(out, '}');
}

/* ---- a body ---- */

static void put_members(struct baton_json_out *out, const struct gw_body_schema *body,
                        const char *within)
{
    bool any = false;
    for (size_t i = 0; i < body->n; i++) {
        if (strcmp(body->fields[i].within, within) != 0)
            continue;
        if (!any)
            baton_json_open(out, "properties", '{');
        any = true;
        put_field(out, body, &body->fields[i]);
    }
    if (any)
        baton_json_close(out, '}');
}

/* Whether the schema requires the field. A field with several names is required under none of them,
 * because a client gives only one. */
static bool is_required(const struct gw_body_schema *body, const struct gw_field_schema *field)
{
    bool has_others = *field->same_as;
    for (size_t i = 0; i < body->n; i++)
        has_others |= !strcmp(body->fields[i].same_as, field->name);
    return field->is_required && !has_others;
}

void gw_schema_put_body(struct baton_json_out *out, const char *key,
                        const struct gw_body_schema *body)
{
    baton_json_open(out, key, '{');
    baton_json_put_string(out, "type", "object");
    put_members(out, body, "");
    baton_json_open(out, "required", '[');
    for (size_t i = 0; i < body->n; i++)
        if (is_required(body, &body->fields[i]))
            baton_json_put_string(out, NULL, body->fields[i].name);
    baton_json_close(out, ']');
    baton_json_put_bool(out, "additionalProperties", !body->is_closed);
    baton_json_close(out, '}');
}

/* ---- components ---- */

static const struct gw_error_shape own_errors = {
    .name = "Error",
    .schema = "{\"type\":\"object\",\"required\":[\"error\"],\"properties\":{\"error\":{"
              "\"type\":\"object\",\"required\":[\"message\",\"type\",\"code\"],\"properties\":{"
              "\"type\":{\"type\":\"string\"}," GW_ERROR_MEMBERS "}}}}",
};

/* The distinct shape of errors with that number; Baton's own has 0. NULL: there are no more. */
static const struct gw_error_shape *shape_at(const struct gw_route_table *table, size_t number)
{
    const struct gw_error_shape *shape = &own_errors;
    for (size_t i = 0; i < table->n_dialects && number; i++) {
        size_t first = 0;
        while (table->dialects[first].errors != table->dialects[i].errors)
            first++;
        shape = table->dialects[i].errors;
        number -= first == i;
    }
    return number ? NULL : shape;
}

static void put_schemas(struct baton_json_out *out, const struct gw_route_table *table)
{
    const struct gw_error_shape *shape;
    baton_json_open(out, "schemas", '{');
    for (size_t i = 0; (shape = shape_at(table, i)); i++)
        baton_json_put_raw(out, shape->name, shape->schema, strlen(shape->schema));
    gw_answer_put_schemas(out);
    baton_json_close(out, '}');
}

static void put_responses(struct baton_json_out *out, const struct gw_route_table *table)
{
    const struct gw_error_shape *shape;
    char ref[64];
    baton_json_open(out, "responses", '{');
    for (size_t i = 0; (shape = shape_at(table, i)); i++) {
        (void)snprintf(ref, sizeof ref, "#/components/schemas/%s", shape->name);
        baton_json_open(out, shape->name, '{');
        baton_json_put_string(out, "description",
                              "The request failed for the reason in the error.");
        baton_json_open(out, "content", '{');
        baton_json_open(out, "application/json", '{');
        baton_json_open(out, "schema", '{');
        baton_json_put_string(out, "$ref", ref);
        baton_json_close(out, '}');
        baton_json_close(out, '}');
        baton_json_close(out, '}');
        baton_json_close(out, '}');
    }
    baton_json_close(out, '}');
}

void gw_schema_put_components(struct baton_json_out *out, const struct gw_route_table *table)
{
    static const char schemes[] =
        "{\"bearer\":{\"type\":\"http\",\"scheme\":\"bearer\"},\"key\":{\"type\":\"apiKey\","
        "\"in\":\"header\",\"name\":\"x-api-key\"}}";
    static const char any_or_none[] = "[{},{\"bearer\":[]},{\"key\":[]}]";
    baton_json_open(out, "components", '{');
    put_schemas(out, table);
    put_responses(out, table);
    baton_json_put_raw(out, "securitySchemes", schemes, sizeof schemes - 1);
    baton_json_close(out, '}');
    baton_json_put_raw(out, "security", any_or_none, sizeof any_or_none - 1);
}
