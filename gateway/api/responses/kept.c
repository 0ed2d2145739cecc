#include <string.h>

#include "gateway/api/answer.h"
#include "gateway/api/listing.h"
#include "gateway/api/responses/input_items.h"
#include "gateway/api/responses/replay.h"
#include "gateway/api/responses/responses.h"
#include "gateway/api/responses/writer.h"
#include "gateway/api/streams/streams.h"

enum { ID_AT = 2 }; /* in /v1/responses/{id} */

/* The client's response of the path; NULL: there is none, and the exchange was answered. */
static const struct gw_stored_response *find(struct gw_api *api, struct gw_exchange *exchange)
{
    char id[GW_URL_PART_BYTES];
    struct gw_owner owner = gw_access_owner(api->access, exchange);
    const struct gw_stored_response *stored =
        gw_response_store_get(api->responses, &owner, gw_path_segment(exchange, ID_AT, id));
    if (stored && (gw_response_is_conversation(id) || gw_response_is_thread(id)))
        stored = NULL;
    if (!stored)
        gw_answer_error(exchange, 404, "response_not_found",
                        "there is no such response: it was not stored, is too old or was evicted, "
                        "or belongs to another API key");
    return stored;
}

/* The completion of a response that goes on in the background; NULL: none. */
static struct gw_completion *running(const struct gw_api *api,
                                     const struct gw_stored_response *stored)
{
    const char *dash = strchr(stored->id, '-');
    return dash ? gw_completions_find(api->completions, dash + 1) : NULL;
}

/* The stream of a response that was made in the background as one; NULL: none. */
static struct gw_stream *stream_of(const struct gw_api *api, struct gw_exchange *exchange,
                                   const struct gw_stored_response *stored)
{
    struct gw_owner owner = gw_access_owner(api->access, exchange);
    const char *dash = strchr(stored->id, '-');
    return dash ? gw_streams_find(api->streams, &owner, dash + 1) : NULL;
}

static void answer_stored(struct gw_exchange *exchange, const struct gw_stored_response *stored)
{
    gw_exchange_respond(exchange, 200, "application/json", "", stored->body, stored->n_body);
}

void gw_responses_get(struct gw_api *api, struct gw_exchange *exchange,
                      const struct baton_json *none)
{
    struct gw_replay replay;
    (void)none;
    if (!gw_replay_read(&replay, exchange))
        return;
    const struct gw_stored_response *stored = find(api, exchange);
    if (stored && replay.is_stream)
        gw_replay_answer(&replay, exchange, stored, stream_of(api, exchange, stored),
                         running(api, stored) != NULL);
    else if (stored)
        answer_stored(exchange, stored);
}

/* ---- DELETE ---- */

static void answer_deleted(struct gw_exchange *exchange, const char *id)
{
    struct gw_answer answer;
    gw_answer_open(&answer);
    baton_json_put_string(&answer.out, "id", id);
    baton_json_put_string(&answer.out, "object", "response.deleted");
    baton_json_put_bool(&answer.out, "deleted", true);
    gw_answer_close(&answer, exchange, 200);
}

void gw_responses_delete(struct gw_api *api, struct gw_exchange *exchange,
                         const struct baton_json *none)
{
    char id[GW_URL_PART_BYTES];
    struct gw_owner owner = gw_access_owner(api->access, exchange);
    const struct gw_stored_response *stored = find(api, exchange);
    struct gw_stream *stream = stored ? stream_of(api, exchange, stored) : NULL;
    (void)none;
    if (!stored)
        return;
    if (running(api, stored))
        gw_response_cancel(running(api, stored));
    if (stream)
        gw_streams_drop(api->streams, stream, "its response was deleted");
    (void)gw_response_store_remove(api->responses, &owner, gw_path_segment(exchange, ID_AT, id));
    answer_deleted(exchange, id);
}

/* ---- cancel ---- */

static bool was_in_background(const struct gw_stored_response *stored)
{
    struct baton_json *body = NULL;
    bool was = !baton_json_parse(stored->body, stored->n_body, &body, NULL) &&
               baton_json_bool(baton_json_get(body, "background"));
    baton_json_free(body);
    return was;
}

void gw_responses_cancel(struct gw_api *api, struct gw_exchange *exchange,
                         const struct baton_json *none)
{
    const struct gw_stored_response *stored = find(api, exchange);
    (void)none;
    if (!stored)
        return;
    if (running(api, stored)) {
        gw_response_cancel(running(api, stored));
        stored = find(api, exchange);
        if (!stored)
            return;
    }
    if (was_in_background(stored))
        answer_stored(exchange, stored);
    else
        gw_answer_error(exchange, 400, "not_in_background",
                        "only a response that was made with background: true can be canceled");
}

/* ---- input items ---- */

void gw_responses_input_items(struct gw_api *api, struct gw_exchange *exchange,
                              const struct baton_json *none)
{
    const struct gw_stored_response *stored = find(api, exchange);
    struct baton_json *items;
    (void)none;
    if (!stored)
        return;
    if (!baton_json_size(stored->messages)) {
        gw_answer_error(exchange, 400, "response_not_over",
                        "the response has no answer yet, or failed: its input is not stored");
        return;
    }
    items = gw_input_items(stored);
    if (items)
        gw_input_items_answer(exchange, items);
    else
        gw_answer_error(exchange, 503, "overloaded", "no memory for the answer");
    baton_json_free(items);
}
