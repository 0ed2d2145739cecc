#include "gateway/api/responses/conversations.h"

#include <stdio.h>

#include "gateway/api/answer.h"
#include "gateway/api/listing.h"
#include "gateway/api/metadata.h"
#include "gateway/api/responses/conversation.h"
#include "gateway/api/responses/input.h"
#include "gateway/api/responses/input_items.h"

enum { ID_AT = 2, ITEM_AT = 4 }; /* in /v1/conversations/{id}/items/{item} */

/* The conversation that a path names, of its client. */
struct named {
    struct gw_owner owner;
    char id[GW_URL_PART_BYTES];
    struct gw_conversation conversation;
};

static void name(struct named *named, struct gw_api *api, const struct gw_exchange *exchange)
{
    named->owner = gw_access_owner(api->access, exchange);
    named->conversation = (struct gw_conversation){api->responses, &named->owner,
                                                   gw_path_segment(exchange, ID_AT, named->id)};
}

static void refuse_missing(struct gw_exchange *exchange)
{
    gw_answer_error(exchange, 404, "conversation_not_found",
                    "there is no such conversation: it was not stored, is too old or was evicted, "
                    "or belongs to another API key");
}

static void refuse_missing_item(struct gw_exchange *exchange)
{
    gw_answer_error(exchange, 404, "item_not_found", "the conversation has no such item");
}

/* NULL: the exchange was answered. */
static const struct gw_stored_response *find(struct named *named, struct gw_api *api,
                                             struct gw_exchange *exchange)
{
    name(named, api, exchange);
    const struct gw_stored_response *stored = gw_conversation_find(&named->conversation);
    if (!stored)
        refuse_missing(exchange);
    return stored;
}

static void answer_object(struct gw_exchange *exchange, const struct gw_conversation *conversation)
{
    const struct gw_stored_response *stored = gw_conversation_find(conversation);
    if (stored)
        gw_exchange_respond(exchange, 200, "application/json", "", stored->body, stored->n_body);
    else
        refuse_missing(exchange);
}

static void refuse_store(struct gw_exchange *exchange, enum baton_err err)
{
    if (err == BATON_LIMIT)
        gw_answer_error(exchange, 400, "out_of_range",
                        "the conversation is larger than the memory for stored responses "
                        "(--stored-response-bytes), or the gateway stores none");
    else
        gw_answer_error(exchange, 503, "overloaded", "no memory for the conversation");
}

/* ---- fields ---- */

static struct gw_fields fields_of(const struct gw_api *api, const struct baton_json *body)
{
    struct gw_fields fields = gw_fields(body);
    fields.schema = api->schema;
    return fields;
}

/* Reads "items". NULL: they are absent, or a problem. */
static struct baton_json *read_items(const struct gw_api *api, struct gw_fields *fields,
                                     const struct gw_owner *owner)
{
    char wanted[64];
    const struct gw_responses_kept kept = {.store = api->responses, .owner = owner};
    (void)snprintf(wanted, sizeof wanted, "an array of at most %d items", GW_MAX_RESPONSE_ITEMS);
    const struct baton_json *given = gw_field_of(fields, "items", GW_IS_ARRAY, wanted);
    if (baton_json_size(given) > GW_MAX_RESPONSE_ITEMS)
        gw_fields_fail(fields, "items", "out_of_range", "items: must be %s", wanted);
    gw_responses_check_items(fields, "items", &kept, given);
    return given && !fields->failed ? gw_conversation_items(fields, given) : NULL;
}

/* Whether the body is valid; else it was answered. */
static bool end_fields(const struct gw_api *api, struct gw_exchange *exchange,
                       struct gw_fields *fields)
{
    gw_answer_end_fields(fields, exchange, api->refuses_unknown);
    if (fields->failed)
        gw_answer_problem(exchange, &fields->problem);
    return !fields->failed && exchange;
}

/* ---- conversations ---- */

void gw_conversations_create(struct gw_api *api, struct gw_exchange *exchange,
                             const struct baton_json *body)
{
    char id[GW_CONVERSATION_ID_BYTES];
    struct gw_fields fields = fields_of(api, body);
    struct gw_owner owner = gw_access_owner(api->access, exchange);
    const struct gw_conversation conversation = {api->responses, &owner, id};
    const struct baton_json *metadata = gw_field_metadata(&fields);
    struct baton_json *items = read_items(api, &fields, &owner);
    if (!end_fields(api, exchange, &fields)) {
        baton_json_free(items);
        return;
    }
    gw_conversation_name(id);
    enum baton_err err =
        gw_conversation_create(&conversation, metadata, items ? items : baton_json_new_array());
    if (err)
        refuse_store(exchange, err);
    else
        answer_object(exchange, &conversation);
}

void gw_conversations_get(struct gw_api *api, struct gw_exchange *exchange,
                          const struct baton_json *none)
{
    struct named named;
    (void)none;
    name(&named, api, exchange);
    answer_object(exchange, &named.conversation);
}

void gw_conversations_update(struct gw_api *api, struct gw_exchange *exchange,
                             const struct baton_json *body)
{
    struct gw_fields fields = fields_of(api, body);
    struct named named;
    const struct baton_json *metadata = gw_field_metadata(&fields);
    if (!end_fields(api, exchange, &fields) || !find(&named, api, exchange))
        return;
    enum baton_err err = gw_conversation_update(&named.conversation, metadata);
    if (err)
        refuse_store(exchange, err);
    else
        answer_object(exchange, &named.conversation);
}

void gw_conversations_delete(struct gw_api *api, struct gw_exchange *exchange,
                             const struct baton_json *none)
{
    struct named named;
    struct gw_answer answer;
    (void)none;
    if (!find(&named, api, exchange))
        return;
    (void)gw_response_store_remove(api->responses, &named.owner, named.id);
    gw_answer_open(&answer);
    baton_json_put_string(&answer.out, "id", named.id);
    baton_json_put_string(&answer.out, "object", "conversation.deleted");
    baton_json_put_bool(&answer.out, "deleted", true);
    gw_answer_close(&answer, exchange, 200);
}

/* ---- items ---- */

static void add_items(struct gw_exchange *exchange, const struct named *named, size_t n_before,
                      const struct baton_json *items)
{
    size_t n = n_before + baton_json_size(items);
    char message[96];
    (void)snprintf(message, sizeof message, "items: the conversation has %zu; at most %d fit",
                   n_before, GW_MAX_RESPONSE_ITEMS);
    enum baton_err err =
        n <= GW_MAX_RESPONSE_ITEMS ? gw_conversation_add(&named->conversation, items) : BATON_OK;
    if (err)
        refuse_store(exchange, err);
    else if (n > GW_MAX_RESPONSE_ITEMS)
        gw_answer_error(exchange, 400, "out_of_range", message);
    else
        gw_input_items_answer_all(exchange, items);
}

void gw_conversations_add_items(struct gw_api *api, struct gw_exchange *exchange,
                                const struct baton_json *body)
{
    struct gw_fields fields = fields_of(api, body);
    struct named named;
    struct gw_owner owner = gw_access_owner(api->access, exchange);
    struct baton_json *items = read_items(api, &fields, &owner);
    if (!items)
        gw_fields_fail(&fields, "items", "missing_field", "items: must be given");
    if (end_fields(api, exchange, &fields)) {
        const struct gw_stored_response *stored = find(&named, api, exchange);
        if (stored)
            add_items(exchange, &named, baton_json_size(stored->messages), items);
    }
    baton_json_free(items);
}

void gw_conversations_list_items(struct gw_api *api, struct gw_exchange *exchange,
                                 const struct baton_json *none)
{
    struct named named;
    const struct gw_stored_response *stored = find(&named, api, exchange);
    (void)none;
    if (stored)
        gw_input_items_answer(exchange, stored->messages);
}

void gw_conversations_get_item(struct gw_api *api, struct gw_exchange *exchange,
                               const struct baton_json *none)
{
    struct named named;
    char id[GW_URL_PART_BYTES];
    struct baton_buf body;
    const struct gw_stored_response *stored = find(&named, api, exchange);
    (void)none;
    if (!stored)
        return;
    const struct baton_json *item =
        gw_conversation_item(stored, gw_path_segment(exchange, ITEM_AT, id));
    if (!item) {
        refuse_missing_item(exchange);
        return;
    }
    baton_buf_init(&body, GW_ANSWER_MAX_BYTES);
    struct baton_json_out out = baton_json_out(&body);
    baton_json_put_value(&out, NULL, item);
    gw_answer_json(exchange, 200, &body);
    baton_buf_fini(&body);
}

void gw_conversations_delete_item(struct gw_api *api, struct gw_exchange *exchange,
                                  const struct baton_json *none)
{
    struct named named;
    char id[GW_URL_PART_BYTES];
    (void)none;
    if (!find(&named, api, exchange))
        return;
    enum baton_err err =
        gw_conversation_remove(&named.conversation, gw_path_segment(exchange, ITEM_AT, id));
    if (err == BATON_NOT_FOUND)
        refuse_missing_item(exchange);
    else if (err)
        refuse_store(exchange, err);
    else
        answer_object(exchange, &named.conversation);
}
