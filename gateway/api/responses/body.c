#include <string.h>

#include "common/base/array.h"
#include "gateway/api/json_util.h"
#include "gateway/api/openai/tools.h"
#include "gateway/api/responses/input.h"
#include "gateway/api/responses/tools.h"

/* ---- text, reasoning ---- */

static struct baton_json *format_of(struct gw_fields *fields, const struct baton_json *text)
{
    const struct baton_json *format = baton_json_get(text, "format");
    if (baton_json_kind(format) == BATON_JSON_NULL || fields->failed)
        return NULL;
    if (!gw_json_is_type(format, "json_schema") || baton_json_get(format, "json_schema"))
        return baton_json_share(format);
    struct baton_json *made = baton_json_new_object();
    gw_json_set(fields, made, "type", baton_json_new_string("json_schema"));
    gw_json_set(fields, made, "json_schema", baton_json_share(format));
    return made;
}

static struct baton_json *effort_of(struct gw_fields *fields, const struct baton_json *reasoning)
{
    const struct baton_json *effort = baton_json_get(reasoning, "effort");
    (void)fields;
    return baton_json_kind(effort) == BATON_JSON_NULL ? NULL : baton_json_share(effort);
}

/* ---- the body ---- */

static struct baton_json *member_of(struct gw_fields *fields, const char *key,
                                    const struct baton_json *member)
{
    static const struct {
        const char *key;
        struct baton_json *(*make)(struct gw_fields *fields, const struct baton_json *member);
    } makers[] = {
        {"tool_choice", gw_response_tool_choice}, {"text", format_of}, {"reasoning", effort_of}};
    for (size_t i = 0; i < BATON_N_OF(makers); i++)
        if (!strcmp(makers[i].key, key))
            return makers[i].make(fields, member);
    return baton_json_share(member);
}

static struct baton_json *input_of(struct gw_fields *fields, const struct baton_json *conversation)
{
    const struct baton_json *instructions = gw_field(fields, "instructions");
    struct baton_json *input = baton_json_new_array();
    if (instructions) {
        struct baton_json *message = gw_json_message(fields, "system");
        gw_json_set(fields, message, "content", baton_json_share(instructions));
        gw_json_push(fields, input, message);
    }
    for (size_t i = 0; i < baton_json_size(conversation); i++)
        gw_json_push(fields, input, baton_json_share(baton_json_at(conversation, i)));
    return input;
}

struct baton_json *gw_responses_body(struct gw_fields *fields,
                                     const struct baton_json *conversation, bool leaves_out)
{
    struct baton_json *made = baton_json_new_object();
    const char *input = gw_field(fields, "messages") ? "messages" : "input";
    (void)gw_field_of(fields, "text", GW_IS_OBJECT, "an object {\"format\": object}");
    (void)gw_field_of(fields, "reasoning", GW_IS_OBJECT, "an object {\"effort\": string}");
    for (void *it = baton_json_first(fields->body); it && !fields->failed;
         it = baton_json_next(fields->body, it)) {
        const char *key = baton_json_key(it);
        const struct baton_json *given = baton_json_member(it);
        bool is_null = baton_json_kind(given) == BATON_JSON_NULL;
        struct baton_json *member = is_null ? baton_json_share(given)
                                    : strcmp(key, "tools") == 0
                                        ? gw_response_tools(fields, given, leaves_out ? made : NULL)
                                        : member_of(fields, key, given);
        if (member)
            gw_json_set(fields, made, key, member);
    }
    gw_json_set(fields, made, input, input_of(fields, conversation));
    gw_tools_restrict(fields, made);
    if (!fields->failed)
        return made;
    baton_json_free(made);
    return NULL;
}
