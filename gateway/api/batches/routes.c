#include "gateway/api/batches/routes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/array.h"
#include "gateway/api/answer.h"
#include "gateway/api/batches/create.h"
#include "gateway/api/files/upload.h"
#include "gateway/api/listing.h"
#include "gateway/api/metadata.h"

enum { ID_AT = 2 /* in /v1/batches/{id} */, MAX_WINDOW_S = 30 * 86400 };

/* ---- the object ---- */

static void put_time(struct baton_json_out *out, const char *key, int64_t time_s)
{
    if (time_s)
        baton_json_put_int(out, key, time_s);
    else
        baton_json_put_null(out, key);
}

static void put_errors(struct baton_json_out *out, const struct baton_json *errors)
{
    if (!errors) {
        baton_json_put_null(out, "errors");
        return;
    }
    baton_json_open(out, "errors", '{');
    baton_json_put_string(out, "object", "list");
    baton_json_put_value(out, "data", errors);
    baton_json_close(out, '}');
}

static void put_batch(struct baton_json_out *out, const struct gw_batch *batch)
{
    static const struct {
        const char *key;
        enum gw_batch_status status;
    } times[] = {{"in_progress_at", GW_BATCH_in_progress}, {"finalizing_at", GW_BATCH_finalizing},
                 {"completed_at", GW_BATCH_completed},     {"failed_at", GW_BATCH_failed},
                 {"expired_at", GW_BATCH_expired},         {"cancelling_at", GW_BATCH_cancelling},
                 {"cancelled_at", GW_BATCH_cancelled}};
    bool is_over = gw_batch_is_over(batch) && !batch->run;
    baton_json_put_string(out, "id", batch->id);
    baton_json_put_string(out, "object", "batch");
    baton_json_put_string(out, "endpoint", batch->endpoint);
    put_errors(out, batch->errors);
    baton_json_put_string(out, "input_file_id", batch->input);
    baton_json_put_string(out, "completion_window", batch->window);
    baton_json_put_string(out, "status", gw_batch_status_name(gw_batch_shown_status(batch)));
    baton_json_put_string_or_null(out, "output_file_id",
                                  is_over && batch->completed ? batch->output : NULL);
    baton_json_put_string_or_null(out, "error_file_id",
                                  is_over && batch->failed ? batch->error : NULL);
    baton_json_put_int(out, "created_at", batch->created_s);
    baton_json_put_int(out, "expires_at", batch->expires_s);
    for (size_t i = 0; i < BATON_N_OF(times); i++)
        put_time(out, times[i].key, batch->at_s[times[i].status]);
    baton_json_open(out, "request_counts", '{');
    baton_json_put_uint(out, "total", batch->total);
    baton_json_put_uint(out, "completed", batch->completed);
    baton_json_put_uint(out, "failed", batch->failed);
    baton_json_close(out, '}');
    gw_metadata_put(out, batch->metadata);
}

/* ---- create ---- */

static long unit_of(char unit)
{
    return unit == 'm' ? 60 : unit == 'h' ? 3600 : unit == 'd' ? 86400 : 0;
}

/* Reads "completion_window": a number of minutes, hours or days. */
static int64_t read_window(struct gw_fields *fields, char window[GW_BATCH_WINDOW_BYTES])
{
    static const char wanted[] = "a time from \"1m\" to \"30d\", such as \"24h\"";
    size_t n = 0;
    const struct baton_json *given = gw_field_of(fields, "completion_window", GW_IS_STRING, wanted);
    const char *text = baton_json_string(given, &n);
    char *end = NULL;
    long number = text && *text >= '0' && *text <= '9' ? strtol(text, &end, 10) : 0;
    long unit_s = end ? unit_of(*end) : 0;
    if (!given)
        gw_fields_fail(fields, "completion_window", "missing_field",
                       "completion_window: must be given");
    else if (number < 1 || !unit_s || end[1] || number > MAX_WINDOW_S / unit_s ||
             n >= GW_BATCH_WINDOW_BYTES)
        gw_fields_fail(fields, "completion_window", "invalid_value",
                       "completion_window: must be %s", wanted);
    else
        (void)snprintf(window, GW_BATCH_WINDOW_BYTES, "%s", text);
    return number * unit_s;
}

static void read_endpoint(struct gw_fields *fields, char endpoint[GW_BATCH_ENDPOINT_BYTES])
{
    static const char *const endpoints[] = {"/v1/chat/completions", "/v1/completions",
                                            "/v1/embeddings", "/v1/responses"};
    int i = gw_field_word(fields, "endpoint", endpoints, BATON_N_OF(endpoints));
    if (i < 0)
        gw_fields_fail(fields, "endpoint", "missing_field", "endpoint: must be given");
    else
        (void)snprintf(endpoint, GW_BATCH_ENDPOINT_BYTES, "%s", endpoints[i]);
}

static void read_input(const struct gw_api *api, struct gw_fields *fields, struct gw_batch *batch)
{
    const char *id =
        baton_json_string(gw_field_of(fields, "input_file_id", GW_IS_STRING, "a string"), NULL);
    const struct gw_file *file =
        id && api->files ? gw_files_find(api->files, &batch->owner, id) : NULL;
    if (!id)
        gw_fields_fail(fields, "input_file_id", "missing_field", "input_file_id: must be given");
    else if (!file)
        gw_fields_fail(fields, "input_file_id", "file_not_found",
                       "input_file_id: there is no such file");
    else if (strcmp(file->purpose, "batch") != 0)
        gw_fields_fail(fields, "input_file_id", "invalid_value",
                       "input_file_id: the file's purpose must be \"batch\"");
    else
        memcpy(batch->input, file->id, sizeof batch->input);
}

void gw_openai_batches_create(struct gw_api *api, struct gw_exchange *exchange,
                              const struct baton_json *body)
{
    struct gw_fields fields = gw_fields(body);
    struct gw_batch read = {.created_s = (int64_t)time(NULL)}, *batch = NULL;
    if (!api->schema && !gw_files_are_on(api, exchange))
        return;
    fields.schema = api->schema;
    read.owner = gw_access_owner(api->access, exchange);
    read_endpoint(&fields, read.endpoint);
    read.expires_s = read.created_s + read_window(&fields, read.window);
    const struct baton_json *metadata = gw_field_metadata(&fields);
    read_input(api, &fields, &read);
    gw_answer_end_fields(&fields, exchange, api->refuses_unknown);
    if (!fields.failed && !(batch = malloc(sizeof *batch)))
        gw_fields_fail(&fields, "input_file_id", "out_of_memory", "input_file_id: out of memory");
    if (fields.failed) {
        gw_answer_problem(exchange, &fields.problem);
        return;
    }
    *batch = read;
    gw_file_name(batch->id, "batch_");
    if (metadata)
        batch->metadata = baton_json_share(metadata);
    gw_batch_create(api, exchange, batch, NULL, put_batch);
}

/* ---- the others ---- */

/* One of OpenAI's; NULL: the exchange was answered. */
static struct gw_batch *find(struct gw_api *api, struct gw_exchange *exchange)
{
    return gw_batch_named(api, exchange, false, ID_AT);
}

void gw_openai_batches_get(struct gw_api *api, struct gw_exchange *exchange,
                           const struct baton_json *none)
{
    const struct gw_batch *batch = find(api, exchange);
    (void)none;
    if (batch)
        gw_batch_answer(exchange, batch, put_batch);
}

void gw_openai_batches_cancel(struct gw_api *api, struct gw_exchange *exchange,
                              const struct baton_json *none)
{
    struct gw_batch *batch = find(api, exchange);
    (void)none;
    if (!batch)
        return;
    gw_batches_cancel(api->batches, batch);
    gw_batch_answer(exchange, batch, put_batch);
}

static void answer_page(struct gw_exchange *exchange, const struct gw_listing *page)
{
    const struct gw_batch *const *batches = page->items;
    struct gw_answer answer;
    gw_answer_open(&answer);
    baton_json_put_string(&answer.out, "object", "list");
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

void gw_openai_batches_list(struct gw_api *api, struct gw_exchange *exchange,
                            const struct baton_json *none)
{
    (void)none;
    if (!gw_files_are_on(api, exchange))
        return;
    struct gw_listing page = {
        .id_of = gw_batch_id_of, .default_limit = 20, .max_limit = 100, .after = "after"};
    const struct gw_batch **found = gw_batches_of(api, exchange, false, &page.n);
    page.items = found;
    if (!found)
        gw_answer_error(exchange, 503, "overloaded", "no memory for the list");
    else if (gw_listing_read(&page, exchange))
        answer_page(exchange, &page);
    free(found);
}
