#include "gateway/api/responses/conversation.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/base/array.h"
#include "common/base/clock.h"
#include "gateway/api/json_util.h"
#include "gateway/api/metadata.h"

enum { BODY_MAX_BYTES = 64 << 10, ITEM_ID_BYTES = 8 + BATON_SECRET_BYTES };

void gw_conversation_name(char id[GW_CONVERSATION_ID_BYTES])
{
    char secret[BATON_SECRET_BYTES];
    baton_random_secret(secret);
    (void)snprintf(id, GW_CONVERSATION_ID_BYTES, GW_CONVERSATION_PREFIX "%s", secret);
}

const struct gw_stored_response *gw_conversation_find(const struct gw_conversation *conversation)
{
    return gw_response_is_conversation(conversation->id)
               ? gw_response_store_get(conversation->store, conversation->owner, conversation->id)
               : NULL;
}

static bool has_id(const struct baton_json *item, const char *id)
{
    return baton_json_is(baton_json_get(item, "id"), id);
}

const struct baton_json *gw_conversation_item(const struct gw_stored_response *stored,
                                              const char *item)
{
    for (size_t i = 0; i < baton_json_size(stored->messages); i++)
        if (has_id(baton_json_at(stored->messages, i), item))
            return baton_json_at(stored->messages, i);
    return NULL;
}

/* ---- items ---- */

static void name_item(char id[ITEM_ID_BYTES], const char *type)
{
    static const struct {
        const char *type, *prefix;
    } prefixes[] = {{"message", "msg"},
                    {"function_call", "fc"},
                    {"function_call_output", "fco"},
                    {"custom_tool_call", "ctc"},
                    {"custom_tool_call_output", "ctco"},
                    {"reasoning", "rs"}};
    const char *prefix = "item";
    char secret[BATON_SECRET_BYTES];
    for (size_t i = 0; i < BATON_N_OF(prefixes); i++)
        if (!strcmp(prefixes[i].type, type))
            prefix = prefixes[i].prefix;
    baton_random_secret(secret);
    (void)snprintf(id, ITEM_ID_BYTES, "%s_%s", prefix, secret);
}

/* The content of a message as parts. */
static struct baton_json *parts_of(struct gw_fields *fields, const struct baton_json *content,
                                   bool is_answer)
{
    struct baton_json *parts = baton_json_new_array(), *part = baton_json_new_object();
    gw_json_set(fields, part, "type",
                baton_json_new_string(is_answer ? "output_text" : "input_text"));
    gw_json_set(fields, part, "text", baton_json_share(content));
    if (is_answer)
        gw_json_set(fields, part, "annotations", baton_json_new_array());
    gw_json_push(fields, parts, part);
    return parts;
}

static struct baton_json *item_of(struct gw_fields *fields, const struct baton_json *given)
{
    char id[ITEM_ID_BYTES];
    const char *type = baton_json_string(baton_json_get(given, "type"), NULL);
    const struct baton_json *content = baton_json_get(given, "content");
    const struct baton_json *status = baton_json_get(given, "status");
    struct baton_json *item = baton_json_new_object();
    bool has_text = gw_json_is_string(content), has_status = gw_json_is_string(status);
    name_item(id, type ? type : "message");
    gw_json_set(fields, item, "id", baton_json_new_string(id));
    gw_json_set(fields, item, "type", baton_json_new_string(type ? type : "message"));
    gw_json_set(fields, item, "status",
                has_status ? baton_json_share(status) : baton_json_new_string("completed"));
    if (!gw_json_add_members(item, given, has_text ? "content" : NULL))
        gw_json_set(fields, item, "content", NULL);
    if (has_text)
        gw_json_set(
            fields, item, "content",
            parts_of(fields, content, baton_json_is(baton_json_get(given, "role"), "assistant")));
    return item;
}

static struct baton_json *message_of(struct gw_fields *fields, const struct baton_json *text)
{
    struct baton_json *message = gw_json_message(fields, "user");
    gw_json_set(fields, message, "content", baton_json_share(text));
    return message;
}

struct baton_json *gw_conversation_items(struct gw_fields *fields, const struct baton_json *input)
{
    struct baton_json *items = baton_json_new_array();
    struct baton_json *message = gw_json_is_string(input) ? message_of(fields, input) : NULL;
    if (message)
        gw_json_push(fields, items, item_of(fields, message));
    for (size_t i = 0; i < baton_json_size(input) && !fields->failed; i++)
        gw_json_push(fields, items, item_of(fields, baton_json_at(input, i)));
    baton_json_free(message);
    if (!fields->failed)
        return items;
    baton_json_free(items);
    return NULL;
}

/* ---- changes ---- */

/* Stores it with the items, of which it takes ownership; metadata NULL: as it is. */
static enum baton_err put(const struct gw_conversation *conversation,
                          const struct gw_stored_response *stored, struct baton_json *items)
{
    struct baton_buf body;
    baton_buf_init(&body, BODY_MAX_BYTES);
    baton_buf_append(&body, stored->body, stored->n_body);
    enum baton_err err = baton_buf_err(&body);
    if (err)
        baton_json_free(items);
    else
        err = gw_response_store_put(conversation->store, conversation->owner, conversation->id,
                                    &body, items, baton_now_ns());
    baton_buf_fini(&body);
    return err;
}

static enum baton_err put_object(const struct gw_conversation *conversation, int64_t created_s,
                                 const struct baton_json *metadata, struct baton_json *items)
{
    struct baton_buf body;
    baton_buf_init(&body, BODY_MAX_BYTES);
    struct baton_json_out out = baton_json_out(&body);
    baton_json_open(&out, NULL, '{');
    baton_json_put_string(&out, "id", conversation->id);
    baton_json_put_string(&out, "object", "conversation");
    baton_json_put_int(&out, "created_at", created_s);
    gw_metadata_put(&out, metadata);
    baton_json_close(&out, '}');
    const struct gw_stored_response made = {.body = body.data, .n_body = body.len};
    enum baton_err err = baton_buf_err(&body);
    if (err)
        baton_json_free(items);
    else
        err = put(conversation, &made, items);
    baton_buf_fini(&body);
    return err;
}

enum baton_err gw_conversation_create(const struct gw_conversation *conversation,
                                      const struct baton_json *metadata, struct baton_json *items)
{
    return put_object(conversation, (int64_t)time(NULL), metadata, items);
}

enum baton_err gw_conversation_update(const struct gw_conversation *conversation,
                                      const struct baton_json *metadata)
{
    const struct gw_stored_response *stored = gw_conversation_find(conversation);
    struct baton_json *body = NULL;
    if (!stored)
        return BATON_NOT_FOUND;
    enum baton_err err = baton_json_parse(stored->body, stored->n_body, &body, NULL);
    if (!err)
        err = put_object(conversation, baton_json_int(baton_json_get(body, "created_at")), metadata,
                         baton_json_share(stored->messages));
    baton_json_free(body);
    return err;
}

/* The stored items but for the one of that id, with the others behind them. */
static struct baton_json *changed(const struct gw_stored_response *stored, const char *without,
                                  const struct baton_json *more)
{
    struct baton_json *items = baton_json_new_array();
    bool made = items;
    for (size_t i = 0; made && i < baton_json_size(stored->messages); i++) {
        const struct baton_json *item = baton_json_at(stored->messages, i);
        if (!without || !has_id(item, without))
            made = baton_json_push(items, baton_json_share(item));
    }
    for (size_t i = 0; made && i < baton_json_size(more); i++)
        made = baton_json_push(items, baton_json_share(baton_json_at(more, i)));
    if (made)
        return items;
    baton_json_free(items);
    return NULL;
}

static enum baton_err change(const struct gw_conversation *conversation, const char *without,
                             const struct baton_json *more)
{
    const struct gw_stored_response *stored = gw_conversation_find(conversation);
    if (!stored || (without && !gw_conversation_item(stored, without)))
        return BATON_NOT_FOUND;
    struct baton_json *items = changed(stored, without, more);
    return items ? put(conversation, stored, items) : BATON_NO_MEMORY;
}

enum baton_err gw_conversation_add(const struct gw_conversation *conversation,
                                   const struct baton_json *items)
{
    return change(conversation, NULL, items);
}

enum baton_err gw_conversation_remove(const struct gw_conversation *conversation, const char *item)
{
    return change(conversation, item, NULL);
}
