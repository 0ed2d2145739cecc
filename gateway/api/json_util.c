#include "gateway/api/json_util.h"

#include <string.h>

static void no_memory(struct gw_fields *fields)
{
    gw_fields_fail(fields, "", "out_of_memory", "no memory for the request");
}

void gw_json_push(struct gw_fields *fields, struct baton_json *array, struct baton_json *value)
{
    if (!baton_json_push(array, value))
        no_memory(fields);
}

void gw_json_set(struct gw_fields *fields, struct baton_json *object, const char *key,
                 struct baton_json *value)
{
    if (!baton_json_set(object, key, value))
        no_memory(fields);
}

struct baton_json *gw_json_message(struct gw_fields *fields, const char *role)
{
    struct baton_json *message = baton_json_new_object();
    gw_json_set(fields, message, "role", baton_json_new_string(role));
    return message;
}

struct baton_json *gw_json_text(struct gw_fields *fields, const struct baton_json *text)
{
    struct baton_json *part = baton_json_new_object();
    gw_json_set(fields, part, "type", baton_json_new_string("text"));
    gw_json_set(fields, part, "text", baton_json_share(text));
    return part;
}

struct baton_json *gw_json_function(struct gw_fields *fields, const struct baton_json *name,
                                    struct baton_json **function)
{
    struct baton_json *made = baton_json_new_object();
    *function = baton_json_new_object();
    gw_json_set(fields, *function, "name", baton_json_share(name));
    gw_json_set(fields, made, "type", baton_json_new_string("function"));
    gw_json_set(fields, made, "function", *function);
    if (fields->failed) /* a failed set freed it, and which one failed is not known */
        *function = NULL;
    return made;
}

bool gw_json_add_members(struct baton_json *to, const struct baton_json *from, const char *without)
{
    bool ok = to;
    for (void *it = baton_json_first(from); ok && it; it = baton_json_next(from, it)) {
        const char *key = baton_json_key(it);
        if ((!without || strcmp(key, without) != 0) && !baton_json_get(to, key))
            ok = baton_json_set(to, key, baton_json_share(baton_json_member(it)));
    }
    return ok;
}

bool gw_json_is_string(const struct baton_json *json)
{
    return baton_json_kind(json) == BATON_JSON_STRING;
}

bool gw_json_is_object(const struct baton_json *json)
{
    return baton_json_kind(json) == BATON_JSON_OBJECT;
}

bool gw_json_is_type(const struct baton_json *object, const char *type)
{
    return baton_json_is(baton_json_get(object, "type"), type);
}
