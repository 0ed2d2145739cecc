#include "gateway/chat/toolcall/structure_arguments.h"

#include "common/base/array.h"
#include "gateway/chat/toolcall/structure_elements.h"

/* ---- properties ---- */

static bool is_plain_text(const struct baton_json *schema)
{
    return baton_json_is(baton_json_get(schema, "type"), "string") &&
           !baton_json_get(schema, "enum") && !baton_json_get(schema, "const");
}

/* Returns the values of enum, if all are strings. */
static const struct baton_json *texts_of(const struct baton_json *schema)
{
    const struct baton_json *values = baton_json_get(schema, "enum");
    for (size_t i = 0; i < baton_json_size(values); i++)
        if (baton_json_kind(baton_json_at(values, i)) != BATON_JSON_STRING)
            return NULL;
    return baton_json_size(values) ? values : NULL;
}

/* Writes a property's schema with the definitions that it may refer to. */
static void put_property_schema(struct baton_json_out *out, const struct baton_json *schema,
                                const struct baton_json *root)
{
    static const char *const shared[] = {"$defs", "definitions"};
    open_format(out, NULL, "json_schema");
    if (baton_json_kind(schema) != BATON_JSON_OBJECT) {
        baton_json_put_value(out, "json_schema", schema);
    } else {
        baton_json_open(out, "json_schema", '{');
        for (void *it = baton_json_first(schema); it; it = baton_json_next(schema, it))
            baton_json_put_value(out, baton_json_key(it),
                                 baton_json_get(schema, baton_json_key(it)));
        /* References are into the root of a schema, which the property becomes. */
        for (size_t i = 0; i < BATON_N_OF(shared); i++)
            if (baton_json_get(root, shared[i]) && !baton_json_get(schema, shared[i]))
                baton_json_put_value(out, shared[i], baton_json_get(root, shared[i]));
        baton_json_close(out, '}');
    }
    baton_json_close(out, '}');
}

static bool is_required(const struct baton_json *schema, const char *key)
{
    const struct baton_json *required = baton_json_get(schema, "required");
    for (size_t i = 0; i < baton_json_size(required); i++)
        if (baton_json_is(baton_json_at(required, i), key))
            return true;
    return false;
}

/* ---- arguments between tags ---- */

/* Writes a value: strings as they are up to the tag that ends them, all other values as JSON. */
static void put_value(struct baton_json_out *out, const char *end, const struct baton_json *schema,
                      const struct baton_json *root)
{
    const struct baton_json *texts = texts_of(schema);
    if (is_plain_text(schema)) {
        put_text_until(out, end);
    } else if (texts) {
        open_list(out, "or", "elements");
        for (size_t i = 0; i < baton_json_size(texts); i++)
            put_text(out, baton_json_string(baton_json_at(texts, i), NULL));
        close_list(out);
    } else {
        put_property_schema(out, schema, root);
    }
}

static void put_property(struct baton_json_out *out, const struct baton_tool_tags *tags,
                         const char *key, const struct baton_json *schema,
                         const struct baton_json *root)
{
    const bool is_string = is_plain_text(schema) || texts_of(schema);
    const char *begin = is_string && tags->string_begin ? tags->string_begin : tags->value_begin;
    put_space(out);
    put_marker(out, tags->key_begin);
    put_text(out, key);
    put_marker(out, tags->key_end);
    if (begin) {
        put_space(out);
        put_marker(out, begin);
    }
    put_text(out, tags->pad);
    put_value(out, tags->value_end, schema, root);
    put_text(out, tags->pad);
    put_marker(out, tags->value_end);
    if (tags->ends_by_key) {
        put_text(out, key);
        put_text(out, ">");
    }
}

static void put_properties(struct baton_json_out *out, const struct baton_tool_tags *tags,
                           const struct baton_json *schema)
{
    const struct baton_json *properties = baton_json_get(schema, "properties");
    for (void *it = baton_json_first(properties); it; it = baton_json_next(properties, it)) {
        const char *key = baton_json_key(it);
        bool may_lack = !is_required(schema, key);
        if (may_lack)
            open_maybe(out);
        put_property(out, tags, key, baton_json_get(properties, key), schema);
        if (may_lack)
            close_maybe(out);
    }
}

/* ---- arguments as literals ---- */

/* True when the string has no bound that only a schema can hold. */
static bool is_free_text(const struct baton_json *schema)
{
    return is_plain_text(schema) && !baton_json_get(schema, "maxLength") &&
           !baton_json_get(schema, "minLength") && !baton_json_get(schema, "pattern") &&
           !baton_json_get(schema, "format");
}

/* Writes a literal. JSON is one in both languages; Gemma's own strings stand between marks. */
static void put_literal(struct baton_json_out *out, const struct baton_tool_format *format,
                        const struct baton_json *schema, const struct baton_json *root)
{
    const char *mark = format->tags.string_begin;
    if (!mark || !is_free_text(schema)) {
        put_property_schema(out, schema, root);
        return;
    }
    put_marker(out, mark);
    open_list(out, "any_text", "excludes");
    baton_json_put_string(out, NULL, mark);
    baton_json_put_string(out, NULL, format->end); /* the parser looks for it first */
    close_list(out);
    put_marker(out, format->tags.value_end);
}

static void put_argument(struct baton_json_out *out, const struct baton_tool_format *format,
                         const char *key, const struct baton_json *schema)
{
    put_text(out, key);
    put_text(out, format->tags.key_end);
    put_literal(out, format, baton_json_get(baton_json_get(schema, "properties"), key), schema);
}

/* Writes the arguments that must be there, and then those that may. Where all may lack, each has
 * its comma behind it: Python and the parser take one before the bracket. */
static void put_literals(struct baton_json_out *out, const struct baton_tool_format *format,
                         const struct baton_json *schema)
{
    const struct baton_json *properties = baton_json_get(schema, "properties");
    const char *comma = format->syntax == BATON_TOOL_PYTHON ? ", " : ",";
    size_t n = 0;
    for (void *it = baton_json_first(properties); it; it = baton_json_next(properties, it))
        if (is_required(schema, baton_json_key(it))) {
            put_text(out, n++ ? comma : "");
            put_argument(out, format, baton_json_key(it), schema);
        }
    for (void *it = baton_json_first(properties); it; it = baton_json_next(properties, it)) {
        if (is_required(schema, baton_json_key(it)))
            continue;
        open_maybe(out);
        put_text(out, n ? comma : "");
        put_argument(out, format, baton_json_key(it), schema);
        put_text(out, n ? "" : comma);
        close_maybe(out);
    }
}

void baton_structure_put_arguments(struct baton_json_out *out,
                                   const struct baton_tool_format *format,
                                   const struct baton_json *schema)
{
    bool is_python = format->syntax == BATON_TOOL_PYTHON;
    if (format->syntax == BATON_TOOL_TAGS) {
        put_properties(out, &format->tags, schema);
        return;
    }
    put_text(out, is_python ? "(" : "{");
    put_literals(out, format, schema);
    put_text(out, is_python ? ")" : "}");
}
