#include "gateway/api/batches/messages.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "gateway/api/answer.h"
#include "gateway/api/batches/check.h"
#include "gateway/api/batches/create.h"
#include "gateway/api/batches/results.h"
#include "gateway/api/files/upload.h"
#include "gateway/api/json_util.h"
#include "gateway/api/listing.h"

#define ENDPOINT "/v1/messages"

enum {
    ID_AT = 3, /* in /v1/messages/batches/{id} */
    WINDOW_S = 86400,
    MAX_ID_BYTES = 64,
    REQUESTS_MAX_BYTES = 1 << 30,
    TIME_BYTES = 32
};

/* ---- the object ---- */

static void put_time(struct baton_json_out *out, const char *key, int64_t time_s)
{
    char text[TIME_BYTES] = "";
    time_t seconds = (time_t)time_s;
    struct tm t;
    if (time_s && gmtime_r(&seconds, &t))
        (void)strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &t);
    baton_json_put_string_or_null(out, key, *text ? text : NULL);
}

static int64_t ended_at(const struct gw_batch *batch)
{
    return batch->at_s[batch->status];
}

static void put_counts(struct baton_json_out *out, const struct gw_batch *batch, bool is_over)
{
    bool expired = batch->status == GW_BATCH_expired;
    baton_json_open(out, "request_counts", '{');
    baton_json_put_uint(out, "processing", is_over ? 0 : batch->total);
    baton_json_put_uint(out, "succeeded", is_over ? batch->completed : 0);
    baton_json_put_uint(out, "errored", is_over ? batch->failed - batch->left : 0);
    baton_json_put_uint(out, "canceled", is_over && !expired ? batch->left : 0);
    baton_json_put_uint(out, "expired", is_over && expired ? batch->left : 0);
    baton_json_close(out, '}');
}

static void put_batch(struct baton_json_out *out, const struct gw_batch *batch)
{
    char results[sizeof "/v1/messages/batches//results" + GW_FILE_ID_BYTES];
    bool is_over = gw_batch_is_over(batch) && !batch->run;
    bool cancels = batch->at_s[GW_BATCH_cancelling];
    (void)snprintf(results, sizeof results, "/v1/messages/batches/%s/results", batch->id);
    baton_json_put_string(out, "id", batch->id);
    baton_json_put_string(out, "type", "message_batch");
    baton_json_put_string(out, "processing_status",
                          is_over   ? "ended"
                          : cancels ? "canceling"
                                    : "in_progress");
    put_counts(out, batch, is_over);
    put_time(out, "ended_at", is_over ? ended_at(batch) : 0);
    put_time(out, "created_at", batch->created_s);
    put_time(out, "expires_at", batch->expires_s);
    baton_json_put_null(out, "archived_at");
    put_time(out, "cancel_initiated_at", batch->at_s[GW_BATCH_cancelling]);
    baton_json_put_string_or_null(out, "results_url", is_over ? results : NULL);
}

/* ---- create ---- */

/* Checks a request, and appends it as a line of a batch. */
static void add_request(struct gw_fields *fields, const struct baton_json *request, size_t i,
                        struct gw_id_set *ids, struct baton_buf *lines)
{
    const struct baton_json *params = baton_json_get(request, "params");
    size_t n = 0;
    bool no_memory = false;
    const char *id = baton_json_string(baton_json_get(request, "custom_id"), &n);
    if (!id || !n || n > MAX_ID_BYTES)
        gw_fields_fail(fields, "requests", "invalid_value",
                       "requests[%zu].custom_id: must be a string of 1 to 64 bytes", i);
    else if (!gw_json_is_object(params))
        gw_fields_fail(fields, "requests", "invalid_type",
                       "requests[%zu].params: must be an object", i);
    else if (baton_json_bool(baton_json_get(params, "stream")))
        gw_fields_fail(fields, "requests", "invalid_value",
                       "requests[%zu].params.stream: a batch takes whole answers only", i);
    else if (!gw_id_set_add(ids, id, n, &no_memory))
        gw_fields_fail(fields, "requests", no_memory ? "out_of_memory" : "invalid_value",
                       "requests[%zu].custom_id: %s", i,
                       no_memory ? "out of memory" : "another request has the same");
    if (fields->failed)
        return;
    struct baton_json_out out = baton_json_out(lines);
    baton_json_open(&out, NULL, '{');
    baton_json_put_text(&out, "custom_id", id, n);
    baton_json_put_string(&out, "method", "POST");
    baton_json_put_string(&out, "url", ENDPOINT);
    baton_json_put_value(&out, "body", params);
    baton_json_close(&out, '}');
    baton_buf_putc(lines, '\n');
}

static size_t read_requests(struct gw_fields *fields, struct baton_buf *lines)
{
    char wanted[64];
    struct gw_id_set ids = {0};
    (void)snprintf(wanted, sizeof wanted, "an array of 1 to %d requests", GW_BATCH_MAX_LINES);
    const struct baton_json *requests = gw_field_of(fields, "requests", GW_IS_ARRAY, wanted);
    size_t n = baton_json_size(requests);
    if (!n || n > GW_BATCH_MAX_LINES)
        gw_fields_fail(fields, "requests", requests ? "invalid_value" : "missing_field",
                       "requests: must be %s", wanted);
    for (size_t i = 0; i < n && !fields->failed; i++)
        add_request(fields, baton_json_at(requests, i), i, &ids, lines);
    if (baton_buf_err(lines))
        gw_fields_fail(fields, "requests", "out_of_memory", "requests: out of memory");
    gw_id_set_fini(&ids);
    return n;
}

static struct gw_batch *make(const struct gw_api *api, const struct gw_exchange *exchange,
                             size_t n_requests)
{
    struct gw_batch *batch = calloc(1, sizeof *batch);
    if (!batch)
        return NULL;
    batch->owner = gw_access_owner(api->access, exchange);
    batch->created_s = (int64_t)time(NULL);
    batch->expires_s = batch->created_s + WINDOW_S;
    batch->total = n_requests;
    gw_file_name(batch->id, "msgbatch_");
    (void)snprintf(batch->endpoint, sizeof batch->endpoint, ENDPOINT);
    (void)snprintf(batch->window, sizeof batch->window, "24h");
    return batch;
}

void gw_messages_batches_create(struct gw_api *api, struct gw_exchange *exchange,
                                const struct baton_json *body)
{
    struct gw_fields fields = gw_fields(body);
    struct baton_buf lines;
    struct gw_batch *batch = NULL;
    if (!api->schema && !gw_files_are_on(api, exchange))
        return;
    fields.schema = api->schema;
    baton_buf_init(&lines, REQUESTS_MAX_BYTES);
    size_t n = read_requests(&fields, &lines);
    gw_answer_end_fields(&fields, exchange, api->refuses_unknown);
    if (!fields.failed && !(batch = make(api, exchange, n)))
        gw_fields_fail(&fields, "requests", "out_of_memory", "requests: out of memory");
    if (fields.failed) {
        baton_buf_fini(&lines);
        gw_answer_problem(exchange, &fields.problem);
        return;
    }
    gw_batch_create(api, exchange, batch, &lines, put_batch);
}

/* ---- the others ---- */

static struct gw_batch *find(struct gw_api *api, struct gw_exchange *exchange)
{
    return gw_batch_named(api, exchange, true, ID_AT);
}

void gw_messages_batches_get(struct gw_api *api, struct gw_exchange *exchange,
                             const struct baton_json *none)
{
    const struct gw_batch *batch = find(api, exchange);
    (void)none;
    if (batch)
        gw_batch_answer(exchange, batch, put_batch);
}

void gw_messages_batches_cancel(struct gw_api *api, struct gw_exchange *exchange,
                                const struct baton_json *none)
{
    struct gw_batch *batch = find(api, exchange);
    (void)none;
    if (!batch)
        return;
    gw_batches_cancel(api->batches, batch);
    gw_batch_answer(exchange, batch, put_batch);
}

/* One that has ended; NULL: the exchange was answered. */
static struct gw_batch *find_ended(struct gw_api *api, struct gw_exchange *exchange)
{
    struct gw_batch *batch = find(api, exchange);
    if (!batch || !batch->run)
        return batch;
    gw_answer_error(exchange, 400, "batch_not_over", "the batch has not ended yet");
    return NULL;
}

void gw_messages_batches_results(struct gw_api *api, struct gw_exchange *exchange,
                                 const struct baton_json *none)
{
    const struct gw_batch *batch = find_ended(api, exchange);
    (void)none;
    if (!batch)
        return;
    const struct gw_download_source source = gw_batch_results(&api->files->disk, batch);
    if (source.arg)
        gw_download(api, exchange, "application/x-jsonl", &source);
    else
        gw_answer_error(exchange, 503, "overloaded", "the results cannot be read");
}

void gw_messages_batches_delete(struct gw_api *api, struct gw_exchange *exchange,
                                const struct baton_json *none)
{
    struct gw_answer answer;
    struct gw_batch *batch = find_ended(api, exchange);
    (void)none;
    if (!batch)
        return;
    gw_answer_open(&answer);
    baton_json_put_string(&answer.out, "id", batch->id);
    baton_json_put_string(&answer.out, "type", "message_batch_deleted");
    gw_batches_remove(api->batches, batch);
    gw_answer_close(&answer, exchange, 200);
}

static void answer_page(struct gw_exchange *exchange, const struct gw_listing *page)
{
    const struct gw_batch *const *batches = page->items;
    struct gw_answer answer;
    gw_answer_open(&answer);
    baton_json_open(&answer.out, "data", '[');
    for (size_t i = 0; i < page->n_page; i++) {
        baton_json_open(&answer.out, NULL, '{');
        put_batch(&answer.out, batches[gw_listing_at(page, i)]);
        baton_json_close(&answer.out, '}');
    }
    baton_json_close(&answer.out, ']');
    gw_listing_put_edges(page, &answer.out);
    gw_answer_close(&answer, exchange, 200);
}

void gw_messages_batches_list(struct gw_api *api, struct gw_exchange *exchange,
                              const struct baton_json *none)
{
    (void)none;
    if (!gw_files_are_on(api, exchange))
        return;
    struct gw_listing page = {.id_of = gw_batch_id_of,
                              .default_limit = 20,
                              .max_limit = 1000,
                              .after = "after_id",
                              .before = "before_id"};
    const struct gw_batch **found = gw_batches_of(api, exchange, true, &page.n);
    page.items = found;
    if (!found)
        gw_answer_error(exchange, 503, "overloaded", "no memory for the list");
    else if (gw_listing_read(&page, exchange))
        answer_page(exchange, &page);
    free(found);
}
