#include "gateway/api/responses/replay.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gateway/api/answer.h"
#include "gateway/api/listing.h"
#include "gateway/api/streams/resume.h"
#include "gateway/http/sse.h"

static void refuse(struct gw_exchange *exchange, int status, const char *code, const char *param,
                   const char *message)
{
    gw_exchange_respond_error(
        exchange,
        &(struct gw_error){.status = status, .code = code, .message = message, .param = param});
}

/* ---- the query ---- */

static bool read_number(const char *text, uint64_t *number)
{
    enum { MOST_DIGITS = 18 }; /* cannot overflow an uint64_t */
    size_t n = strspn(text, "0123456789");
    *number = n && n <= MOST_DIGITS ? strtoull(text, NULL, 10) : 0;
    return n && n <= MOST_DIGITS && !text[n];
}

bool gw_replay_read(struct gw_replay *replay, struct gw_exchange *exchange)
{
    char stream[GW_URL_PART_BYTES], after[GW_URL_PART_BYTES];
    *replay = (struct gw_replay){0};
    (void)gw_query_value(exchange, "stream", stream);
    replay->is_stream = !strcmp(stream, "true");
    if (*stream && !replay->is_stream && strcmp(stream, "false") != 0) {
        refuse(exchange, 400, "invalid_value", "stream", "stream: must be true or false");
        return false;
    }
    if (!*gw_query_value(exchange, "starting_after", after))
        return true;
    if (replay->is_stream && read_number(after, &replay->n_had)) {
        replay->n_had++; /* sequence numbers count from 0 */
        return true;
    }
    refuse(exchange, 400, "invalid_value", "starting_after",
           "starting_after: must be the sequence_number of an event, and needs stream=true");
    return false;
}

/* ---- a response whose events are gone ---- */

static const char *end_of(const struct baton_json *response)
{
    const struct baton_json *status = baton_json_get(response, "status");
    return baton_json_is(status, "completed") ? "response.completed"
           : baton_json_is(status, "failed")  ? "response.failed"
                                              : "response.incomplete";
}

static void put_event(struct baton_buf *out, const char *name, uint64_t number,
                      const struct baton_json *response)
{
    struct baton_buf data;
    baton_buf_init(&data, GW_ANSWER_MAX_BYTES);
    struct baton_json_out json = baton_json_out(&data);
    baton_json_open(&json, NULL, '{');
    baton_json_put_string(&json, "type", name);
    baton_json_put_uint(&json, "sequence_number", number);
    baton_json_put_value(&json, "response", response);
    baton_json_close(&json, '}');
    gw_sse_event(out, name, data.data, data.len);
    if (baton_buf_err(&data))
        out->err = baton_buf_err(&data);
    baton_buf_fini(&data);
}

/* Writes the first event, as it was before there was an answer. */
static bool put_begin(struct baton_buf *out, const struct gw_stored_response *stored)
{
    struct baton_json *begun = NULL;
    bool made = !baton_json_parse(stored->body, stored->n_body, &begun, NULL) &&
                baton_json_set(begun, "status", baton_json_new_string("in_progress")) &&
                baton_json_set(begun, "output", baton_json_new_array());
    if (made)
        put_event(out, "response.created", 0, begun);
    baton_json_free(begun);
    return made;
}

static bool put_kept(struct baton_buf *out, const struct gw_stored_response *stored, uint64_t n_had)
{
    struct baton_json *response = NULL;
    bool made = (n_had || put_begin(out, stored)) &&
                !baton_json_parse(stored->body, stored->n_body, &response, NULL);
    if (made)
        put_event(out, end_of(response), n_had ? n_had : 1, response);
    baton_json_free(response);
    return made && !baton_buf_err(out);
}

static void answer_events(struct gw_exchange *exchange, const struct baton_buf *events)
{
    gw_exchange_respond(exchange, 200, "text/event-stream", GW_STREAM_HEADERS,
                        baton_buf_text(events), events->len);
}

static void answer_kept(struct gw_exchange *exchange, const struct gw_stored_response *stored,
                        uint64_t n_had)
{
    struct baton_buf events;
    baton_buf_init(&events, GW_ANSWER_MAX_BYTES);
    if (put_kept(&events, stored, n_had))
        answer_events(exchange, &events);
    else
        gw_answer_error(exchange, 503, "overloaded", "no memory for the answer");
    baton_buf_fini(&events);
}

/* ---- a response that has a stream ---- */

static void refuse_gone(struct gw_exchange *exchange, const struct gw_stream *stream)
{
    uint64_t first = gw_stream_first_kept(stream); /* counts from 1, and is not the very first */
    char message[192];
    (void)snprintf(message, sizeof message,
                   "starting_after: must be in %" PRIu64 "..%" PRIu64
                   " now: earlier events made room for later ones (--resume-bytes)",
                   first - 2, stream->n_events - 1);
    refuse(exchange, 410, "events_gone", "starting_after", message);
}

static void refuse_number(struct gw_exchange *exchange, const struct gw_stream *stream)
{
    char message[128];
    (void)snprintf(message, sizeof message,
                   "starting_after: must be in 0..%" PRIu64 ", the last event so far",
                   stream->n_events - 1);
    refuse(exchange, 400, "out_of_range", "starting_after", message);
}

static void answer_stream(const struct gw_replay *replay, struct gw_exchange *exchange,
                          const struct gw_stored_response *stored, struct gw_stream *stream,
                          bool is_running)
{
    struct baton_buf none = {0};
    switch (gw_stream_has_after(stream, replay->n_had)) {
    case GW_STREAM_HAS:
        gw_stream_resume(exchange, stream, replay->n_had);
        break;
    case GW_STREAM_HAS_ALL: /* not 204: OpenAI's clients expect a stream */
        answer_events(exchange, &none);
        break;
    case GW_STREAM_HAD:
        if (is_running)
            refuse_gone(exchange, stream);
        else
            answer_kept(exchange, stored, replay->n_had);
        break;
    case GW_STREAM_NEVER_HAD:
        refuse_number(exchange, stream);
        break;
    }
}

void gw_replay_answer(const struct gw_replay *replay, struct gw_exchange *exchange,
                      const struct gw_stored_response *stored, struct gw_stream *stream,
                      bool is_running)
{
    if (stream)
        answer_stream(replay, exchange, stored, stream, is_running);
    else if (!is_running)
        answer_kept(exchange, stored, replay->n_had);
    else
        refuse(exchange, 400, "invalid_value", "stream",
               "stream: the response was not made with stream: true; ask for it again without it "
               "until its status is not queued");
}
