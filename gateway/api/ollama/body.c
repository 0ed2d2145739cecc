#include "gateway/api/ollama/body.h"

#include <stdio.h>
#include <string.h>

#include "gateway/api/json_util.h"
#include "gateway/api/params/adapters.h"

#define LATEST ":latest"

/* ---- the model ---- */

static struct baton_json *model_of(const struct gw_api *api, const struct baton_json *model)
{
    char name[GW_MAX_MODEL_NAME_BYTES + BATON_MAX_ADAPTER_NAME + 2];
    size_t n = 0, n_tag = strlen(LATEST);
    const char *given = baton_json_string(model, &n);
    /* Ollama's clients append ":latest" to a name without a tag. */
    if (!given || n <= n_tag || strcmp(given + n - n_tag, LATEST) != 0 ||
        gw_model_names_has(api->names, given))
        return baton_json_share(model);
    (void)snprintf(name, sizeof name, "%.*s", (int)(n - n_tag), given);
    return gw_model_names_has(api->names, name) || gw_adapters_named(api, name, NULL)
               ? baton_json_new_string(name)
               : baton_json_share(model);
}

/* ---- messages ---- */

static struct baton_json *call_of(const struct baton_json *call)
{
    if (!gw_json_is_object(call) || baton_json_get(call, "type"))
        return baton_json_share(call);
    struct baton_json *made = baton_json_new_object();
    bool ok = baton_json_set(made, "type", baton_json_new_string("function"));
    for (void *it = baton_json_first(call); ok && it; it = baton_json_next(call, it))
        ok = baton_json_set(made, baton_json_key(it), baton_json_share(baton_json_member(it)));
    if (ok)
        return made;
    baton_json_free(made);
    return NULL;
}

static struct baton_json *calls_of(const struct baton_json *calls)
{
    if (baton_json_kind(calls) != BATON_JSON_ARRAY)
        return baton_json_share(calls);
    struct baton_json *made = baton_json_new_array();
    bool ok = made;
    for (size_t i = 0; ok && i < baton_json_size(calls); i++)
        ok = baton_json_push(made, call_of(baton_json_at(calls, i)));
    if (ok)
        return made;
    baton_json_free(made);
    return NULL;
}

static const char *our_name(const char *key)
{
    return !strcmp(key, "thinking")    ? "reasoning_content"
           : !strcmp(key, "tool_name") ? "name"
                                       : key;
}

static struct baton_json *message_of(const struct baton_json *message)
{
    if (!gw_json_is_object(message))
        return baton_json_share(message);
    struct baton_json *made = baton_json_new_object();
    bool ok = made;
    for (void *it = baton_json_first(message); ok && it; it = baton_json_next(message, it)) {
        const struct baton_json *member = baton_json_member(it);
        bool is_calls = !strcmp(baton_json_key(it), "tool_calls");
        ok = baton_json_set(made, our_name(baton_json_key(it)),
                            is_calls ? calls_of(member) : baton_json_share(member));
    }
    if (ok)
        return made;
    baton_json_free(made);
    return NULL;
}

static struct baton_json *messages_of(const struct baton_json *messages)
{
    if (baton_json_kind(messages) != BATON_JSON_ARRAY)
        return baton_json_share(messages);
    struct baton_json *made = baton_json_new_array();
    bool ok = made;
    for (size_t i = 0; ok && i < baton_json_size(messages); i++)
        ok = baton_json_push(made, message_of(baton_json_at(messages, i)));
    if (ok)
        return made;
    baton_json_free(made);
    return NULL;
}

/* ---- the body ---- */

static struct baton_json *member_of(const struct gw_api *api, const char *key,
                                    const struct baton_json *member)
{
    if (!strcmp(key, "model") || !strcmp(key, "name"))
        return model_of(api, member);
    return !strcmp(key, "messages") ? messages_of(member) : baton_json_share(member);
}

struct baton_json *gw_ollama_body(const struct gw_api *api, const struct baton_json *body)
{
    const struct baton_json *options = baton_json_get(body, "options");
    if (!gw_json_is_object(body))
        return baton_json_share(body);
    struct baton_json *made = baton_json_new_object();
    bool ok = made;
    for (void *it = baton_json_first(body); ok && it; it = baton_json_next(body, it))
        if (!gw_json_is_object(options) || baton_json_member(it) != options)
            ok = baton_json_set(made, baton_json_key(it),
                                member_of(api, baton_json_key(it), baton_json_member(it)));
    if (ok && (!gw_json_is_object(options) || gw_json_add_members(made, options, NULL)))
        return made;
    baton_json_free(made);
    return NULL;
}

void gw_ollama_read_options(struct gw_fields *fields)
{
    (void)gw_field_of(fields, "options", GW_IS_OBJECT, "an object");
}
