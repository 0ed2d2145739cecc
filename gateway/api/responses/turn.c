#include "gateway/api/responses/turn.h"

#include <stdio.h>
#include <string.h>

#include "common/base/array.h"
#include "gateway/api/access/access.h"
#include "gateway/api/json_util.h"
#include "gateway/api/responses/input.h"
#include "gateway/http/sse.h"

/* ECHO_MAX_BYTES is small, because every event with the response object repeats the echo. */
enum { ECHO_MAX_BYTES = 1 << 20, EVENTS_MAX_BYTES = 512 << 20, ITEMS_MAX_BYTES = 256 << 20 };

/* ---- the echo ---- */

static const struct {
    const char *name, *otherwise;
} repeated[] = {
    {"background", "false"},
    {"instructions", "null"},
    {"metadata", "{}"},
    {"parallel_tool_calls", "true"},
    {"previous_response_id", "null"},
    {"reasoning", "{\"effort\":null,\"summary\":null}"},
    {"service_tier", "\"default\""},
    {"text", "{\"format\":{\"type\":\"text\"}}"},
    {"tool_choice", "\"auto\""},
    {"tools", "[]"},
    {"truncation", "\"disabled\""},
    {"user", NULL},
};

static void put_repeated(struct baton_buf *echo, const struct baton_json *body)
{
    struct baton_json_out out = baton_json_out(echo);
    for (size_t i = 0; i < BATON_N_OF(repeated); i++) {
        const struct baton_json *given = baton_json_get(body, repeated[i].name);
        if (baton_json_kind(given) != BATON_JSON_NULL)
            baton_json_put_value(&out, repeated[i].name, given);
        else if (repeated[i].otherwise)
            baton_json_put_raw(&out, repeated[i].name, repeated[i].otherwise,
                               strlen(repeated[i].otherwise));
    }
}

static void write_echo(struct gw_turn *turn, const struct baton_json *body)
{
    put_repeated(&turn->echo, body);
    if (!baton_buf_err(&turn->echo))
        return;
    baton_buf_reset(&turn->echo); /* too long to be repeated: the defaults stand in for it */
    put_repeated(&turn->echo, NULL);
}

/* ---- the conversation ---- */

static const struct baton_json *read_previous(const struct gw_api *api, struct gw_fields *fields,
                                              const struct gw_owner *owner)
{
    const struct baton_json *id =
        gw_field_of(fields, "previous_response_id", GW_IS_STRING, "a string");
    const char *text = baton_json_string(id, NULL);
    if (!id)
        return NULL;
    const struct gw_stored_response *stored =
        text && !gw_response_is_conversation(text) && !gw_response_is_thread(text)
            ? gw_response_store_get(api->responses, owner, text)
            : NULL;
    if (!stored)
        gw_fields_fail(fields, "previous_response_id", "previous_response_not_found",
                       "previous_response_id: response \"%.140s\" does not exist: it was not "
                       "stored, is too old or was evicted; send the conversation as input",
                       text);
    if (stored && !baton_json_size(stored->messages))
        gw_fields_fail(fields, "previous_response_id", "response_not_over",
                       "previous_response_id: response \"%.140s\" has no answer yet, or failed",
                       text);
    return stored ? stored->messages : NULL;
}

/* The items of the stored conversation that the body names, or NULL. */
static const struct baton_json *read_conversation(const struct gw_api *api,
                                                  struct gw_fields *fields, struct gw_turn *turn)
{
    const struct baton_json *given =
        gw_field_of(fields, "conversation", GW_IS_STRING | GW_IS_OBJECT,
                    "a string or an object {\"id\": string}");
    const char *id = baton_json_string(
        baton_json_kind(given) == BATON_JSON_OBJECT ? baton_json_get(given, "id") : given, NULL);
    const struct gw_conversation conversation = {api->responses, &turn->owner, id ? id : ""};
    if (!given)
        return NULL;
    if (gw_field(fields, "previous_response_id") || gw_field(fields, "messages"))
        gw_fields_fail(fields, "conversation", "invalid_value",
                       "conversation: not together with previous_response_id or messages");
    const struct gw_stored_response *stored = gw_conversation_find(&conversation);
    if (!stored) {
        gw_fields_fail(fields, "conversation", "conversation_not_found",
                       "conversation: \"%.140s\" does not exist: it was not stored, is too old or "
                       "was evicted, or belongs to another API key",
                       conversation.id);
        return NULL;
    }
    (void)snprintf(turn->conversation_id, sizeof turn->conversation_id, "%s", id);
    if (baton_json_size(stored->messages) + baton_json_size(baton_json_get(fields->body, "input")) >
        GW_MAX_RESPONSE_ITEMS)
        gw_fields_fail(fields, "conversation", "out_of_range",
                       "conversation: has %zu items; with the input at most %d are accepted",
                       baton_json_size(stored->messages), GW_MAX_RESPONSE_ITEMS);
    return stored->messages;
}

static void check_kinds(struct gw_fields *fields)
{
    (void)gw_field_of(fields, "instructions", GW_IS_STRING, "a string");
    (void)gw_field_of(fields, "metadata", GW_IS_OBJECT, "an object");
}

void gw_turn_init(struct gw_turn *turn, const struct gw_api *api,
                  const struct gw_exchange *exchange, struct gw_fields *fields)
{
    *turn = (struct gw_turn){0};
    baton_buf_init(&turn->echo, ECHO_MAX_BYTES);
    baton_buf_init(&turn->events, EVENTS_MAX_BYTES);
    baton_buf_init(&turn->items, ITEMS_MAX_BYTES);
    turn->owner = gw_access_owner(api->access, exchange);
    turn->stores = true;
    gw_field_bool(fields, "store", &turn->stores);
    turn->stores = turn->stores && gw_response_store_is_on(api->responses);
    check_kinds(fields);
    const struct baton_json *before = read_previous(api, fields, &turn->owner);
    const struct gw_responses_kept kept = {.store = api->responses,
                                           .owner = &turn->owner,
                                           .items = read_conversation(api, fields, turn)};
    turn->conversation = gw_responses_conversation(fields, &kept, before);
    if (*turn->conversation_id && !fields->failed)
        turn->new_items = gw_conversation_items(fields, gw_field(fields, "input"));
    if (baton_json_get(fields->body, "tools"))
        turn->tools = baton_json_share(baton_json_get(fields->body, "tools"));
    if (!fields->failed)
        write_echo(turn, fields->body);
}

void gw_turn_fini(void *arg)
{
    struct gw_turn *turn = arg;
    baton_json_free(turn->conversation);
    baton_json_free(turn->new_items);
    baton_json_free(turn->tools);
    baton_json_free(turn->calls);
    baton_buf_fini(&turn->echo);
    baton_buf_fini(&turn->events);
    baton_buf_fini(&turn->items);
}

void gw_turn_restart(struct gw_turn *turn)
{
    baton_buf_reset(&turn->items);
    baton_json_free(turn->calls);
    turn->calls = NULL;
    turn->lost_call = false;
}

/* ---- events ---- */

void gw_turn_event_begin(struct gw_turn_event *event, struct gw_turn *turn, const char *name)
{
    baton_buf_init(&event->data, ITEMS_MAX_BYTES);
    event->out = baton_json_out(&event->data);
    event->name = name;
    baton_json_open(&event->out, NULL, '{');
    baton_json_put_string(&event->out, "type", name);
    baton_json_put_uint(&event->out, "sequence_number", turn->n_events++);
}

void gw_turn_event_end(struct gw_turn_event *event, struct gw_turn *turn)
{
    baton_json_close(&event->out, '}');
    if (baton_buf_err(&event->data))
        turn->events.err = baton_buf_err(&event->data);
    gw_sse_event(&turn->events, event->name, event->data.data, event->data.len);
    baton_buf_fini(&event->data);
}
