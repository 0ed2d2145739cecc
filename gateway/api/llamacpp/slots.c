#include "gateway/api/llamacpp/slots.h"

#include <stdlib.h>
#include <string.h>

#include "gateway/api/answer.h"
#include "gateway/api/choose_model.h"
#include "gateway/api/listing.h"

enum { SLOTS_MAX_BYTES = 16 << 20 };

/* The requests that decode workers have, in the order of the workers' tags. */
struct decoding {
    const struct gw_request **requests;
    size_t n;
};

static int by_worker(const void *a, const void *b)
{
    const struct gw_request *const *x = a, *const *y = b;
    uint32_t of_x = (*x)->attempt.decode->tag, of_y = (*y)->attempt.decode->tag;
    return (of_x > of_y) - (of_x < of_y);
}

static bool gather(struct gw_requests *requests, struct decoding *decoding)
{
    struct gw_request_list *list = &requests->by_state[GW_DECODING];
    decoding->n = 0;
    decoding->requests = calloc(list->n + 1, sizeof(const struct gw_request *));
    if (!decoding->requests)
        return false;
    for (struct gw_request *request = gw_request_list_first(list); request;
         request = gw_request_list_next(list, request))
        if (request->attempt.decode)
            decoding->requests[decoding->n++] = request;
    qsort(decoding->requests, decoding->n, sizeof(const struct gw_request *), by_worker);
    return true;
}

/* The index of the worker's first request in the sorted list. */
static size_t first_of(const struct decoding *decoding, const struct gw_worker *worker)
{
    size_t low = 0, high = decoding->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (decoding->requests[middle]->attempt.decode->tag < worker->tag)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool is_of(const struct decoding *decoding, size_t at, const struct gw_worker *worker)
{
    return at < decoding->n && decoding->requests[at]->attempt.decode == worker;
}

static void put_next_token(struct baton_json_out *out, const struct gw_request *request)
{
    int64_t n = (int64_t)request->output.tokens.n;
    baton_json_open(out, "next_token", '[');
    baton_json_open(out, NULL, '{');
    baton_json_put_bool(out, "has_next_token", true);
    baton_json_put_int(out, "n_remain", request->params.max_new_tokens - n);
    baton_json_put_int(out, "n_decoded", n);
    baton_json_close(out, '}');
    baton_json_close(out, ']');
}

/* request NULL: the slot is free. */
static void put_slot(struct baton_json_out *out, int64_t id, const struct gw_api *api,
                     const struct gw_worker *worker, const struct gw_request *request)
{
    baton_json_open(out, NULL, '{');
    baton_json_put_int(out, "id", id);
    baton_json_put_string(out, "worker", worker->id);
    baton_json_put_int(out, "n_ctx", gw_fleet_context_tokens(api->fleet));
    baton_json_put_bool(out, "is_processing", request);
    if (request)
        put_next_token(out, request);
    baton_json_close(out, '}');
}

/* Returns the number of free slots; the first one gets the number *id. */
static size_t put_slots(struct baton_json_out *out, const struct gw_api *api,
                        const struct decoding *decoding, int64_t *id)
{
    struct gw_worker_list *workers = &api->fleet->workers;
    size_t n_free = 0;
    for (struct gw_worker *worker = gw_worker_list_first(workers); worker;
         worker = gw_worker_list_next(workers, worker)) {
        size_t at = first_of(decoding, worker);
        if (worker->role != BATON__V1__ROLE__ROLE_DECODE || !gw_worker_is_there(worker))
            continue;
        for (uint32_t i = 0; i < worker->status.step_max_rows; i++, at++) {
            bool taken = is_of(decoding, at, worker);
            put_slot(out, (*id)++, api, worker, taken ? decoding->requests[at] : NULL);
            n_free += !taken;
        }
    }
    return n_free;
}

/* Adds the number of free slots of a model. False: no memory. */
static bool put_slots_of(struct baton_json_out *out, const struct gw_api *api, int64_t *id,
                         size_t *n_free)
{
    struct decoding decoding;
    if (!gather(api->requests, &decoding))
        return false;
    *n_free += put_slots(out, api, &decoding, id);
    free(decoding.requests);
    return true;
}

static bool fails_when_full(const struct gw_exchange *exchange)
{
    char value[GW_URL_PART_BYTES];
    return !strcmp(gw_query_value(exchange, "fail_on_no_slot", value), "1");
}

void gw_llamacpp_slots(struct gw_api *api, struct gw_exchange *exchange,
                       const struct baton_json *unused)
{
    struct gw_served models;
    struct baton_buf body;
    int64_t id = 0;
    size_t n_free = 0;
    bool ok = true;
    (void)unused;
    gw_models_asked_for(api, exchange, &models);
    baton_buf_init(&body, SLOTS_MAX_BYTES);
    struct baton_json_out out = baton_json_out(&body);
    baton_json_open(&out, NULL, '[');
    for (size_t i = 0; i < models.n && ok; i++)
        ok = put_slots_of(&out, models.models[i], &id, &n_free);
    baton_json_close(&out, ']');
    if (!ok)
        gw_answer_error(exchange, 503, "overloaded", "no memory for the answer");
    else if (!n_free && fails_when_full(exchange))
        gw_answer_error(exchange, 503, "overloaded", "no slot is free");
    else
        gw_answer_json(exchange, 200, &body);
    baton_buf_fini(&body);
}
