#include "gateway/observe/feed.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/json.h"
#include "gateway/http/sse.h"

enum { ID_BYTES = sizeof "0123456789abcdef", STATE_BYTES = 16 };

void gw_feed_init(struct gw_feed *feed)
{
    feed->is_read = false;
    baton_buf_init(&feed->batch, GW_FEED_BATCH_BYTES);
    baton_buf_init(&feed->event, GW_FEED_FLEET_BYTES);
}

void gw_feed_fini(struct gw_feed *feed)
{
    baton_buf_fini(&feed->batch);
    baton_buf_fini(&feed->event);
}

void gw_feed_next(struct gw_feed *feed)
{
    baton_buf_reset(&feed->batch);
}

bool gw_feed_has_lost(const struct gw_feed *feed)
{
    return baton_buf_err(&feed->batch) != BATON_OK;
}

/* ---- the JSON of an event ---- */

/* Readers place events by t_us: only differences have a meaning. */
static struct baton_json_out open_event(struct gw_feed *feed)
{
    baton_buf_reset(&feed->event);
    struct baton_json_out out = baton_json_out(&feed->event);
    baton_json_open(&out, NULL, '{');
    baton_json_put_uint(&out, "t_us", (uint64_t)(baton_now_ns() / 1000));
    return out;
}

static void close_event(struct gw_feed *feed, struct baton_json_out *json, const char *name,
                        struct baton_buf *out)
{
    baton_json_close(json, '}');
    if (baton_buf_err(&feed->event)) /* a batch that lacks it is lost as well */
        out->err = baton_buf_err(&feed->event);
    else
        gw_sse_event(out, name, feed->event.data, feed->event.len);
}

/* ---- requests ---- */

static void put_name(struct baton_json_out *out, const char *key, const char *name)
{
    baton_json_put_string_or_null(out, key, *name ? name : NULL);
}

static void put_id(struct baton_json_out *out, const struct gw_request *request)
{
    char id[ID_BYTES];
    (void)snprintf(id, sizeof id, "%016" PRIx64, request->id);
    baton_json_put_string(out, "request", id);
}

static void put_state(struct baton_json_out *out, enum gw_state state)
{
    char text[STATE_BYTES];
    size_t n = 0;
    for (const char *name = gw_state_name(state); *name && n < sizeof text - 1; name++)
        text[n++] = (char)tolower((unsigned char)*name);
    text[n] = '\0';
    baton_json_put_string(out, "state", text);
}

static void put_request(struct baton_json_out *out, const struct gw_request *request)
{
    const struct gw_attempt *attempt = &request->attempt;
    put_id(out, request);
    put_state(out, request->state);
    baton_json_put_string(out, "priority", baton_priority_name(request->params.priority));
    baton_json_put_bool(out, "embeds", request->params.pooling != BATON_POOLING_NONE);
    baton_json_put_uint(out, "attempt", attempt->number);
    baton_json_put_uint(out, "migrations", request->migration.n);
    put_name(out, "prefill", attempt->prefill_id);
    put_name(out, "decode", attempt->decode_id);
    baton_json_put_uint(out, "prompt_tokens", request->params.prompt.n);
    baton_json_put_uint(out, "cached_tokens", attempt->cached_tokens);
    baton_json_put_uint(out, "output_tokens", request->output.tokens.n);
    baton_json_put_int(out, "max_tokens", request->params.max_new_tokens);
}

void gw_feed_request(struct gw_feed *feed, const struct gw_request *request, const char *reason)
{
    if (!feed->is_read)
        return;
    struct baton_json_out out = open_event(feed);
    put_request(&out, request);
    baton_json_put_string(&out, "reason", reason);
    close_event(feed, &out, "request", &feed->batch);
}

void gw_feed_handoff(struct gw_feed *feed, const struct gw_request *request)
{
    const struct gw_attempt *attempt = &request->attempt;
    const struct gw_handoff *handoff = &attempt->handoff;
    if (!feed->is_read || !handoff->n_bytes)
        return;
    struct baton_json_out out = open_event(feed);
    put_id(&out, request);
    put_name(&out, "from", attempt->is_moved ? "" : attempt->prefill_id);
    baton_json_put_string(&out, "to", attempt->decode_id);
    baton_json_put_uint(&out, "bytes", handoff->n_bytes);
    baton_json_put_uint(&out, "shared_bytes", handoff->n_shared_bytes);
    baton_json_put_real(&out, "transfer_s", handoff->transfer_s);
    baton_json_put_real(&out, "overlap_s", handoff->overlap_s);
    baton_json_put_real(&out, "exposed_s", handoff->exposed_s);
    close_event(feed, &out, "handoff", &feed->batch);
}

/* ---- workers ---- */

static double rate_of(const struct gw_worker *worker)
{
    bool is_prefill = worker->role == BATON__V1__ROLE__ROLE_PREFILL;
    double rate = is_prefill ? gw_worker_prompt_rate(worker) : worker->status.tokens_per_s;
    return rate > 0 ? rate : NAN;
}

static void put_worker(struct baton_json_out *out, const struct gw_worker *worker)
{
    const Baton__V1__Status *status = &worker->status;
    baton_json_put_string(out, "id", worker->id);
    baton_json_put_string(out, "role", gw_worker_role_name(worker->role));
    baton_json_put_string(out, "state", gw_worker_state_name(worker->state));
    baton_json_put_uint(out, "cores", worker->n_cores);
    baton_json_put_uint(out, "queued", status->n_queued);
    baton_json_put_uint(out, "running", status->n_running);
    baton_json_put_uint(out, "kv_blocks_total", status->kv_blocks_total);
    baton_json_put_uint(out, "kv_blocks_free", status->kv_blocks_free);
    baton_json_put_uint(out, "kv_blocks_cached", status->kv_blocks_cached);
    baton_json_put_real(out, "last_step_s", status->last_step_s);
    baton_json_put_real(out, "rate", rate_of(worker));
    baton_json_put_real(out, "busy_s", status->busy_s);
}

void gw_feed_worker_gone(struct gw_feed *feed, const struct gw_worker *worker, const char *reason)
{
    if (!feed->is_read)
        return;
    struct baton_json_out out = open_event(feed);
    baton_json_put_string(&out, "id", worker->id);
    baton_json_put_string(&out, "role", gw_worker_role_name(worker->role));
    baton_json_put_string(&out, "reason", reason);
    close_event(feed, &out, "worker_gone", &feed->batch);
}

static void write_worker(struct gw_feed *feed, const struct gw_worker *worker)
{
    struct baton_json_out out = open_event(feed);
    put_worker(&out, worker);
    close_event(feed, &out, "worker", &feed->batch);
}

static void put_steps(struct baton_json_out *out, const struct gw_worker *worker)
{
    baton_json_open(out, NULL, '{');
    baton_json_put_string(out, "id", worker->id);
    baton_json_put_uint(out, "steps", worker->now.n_steps - worker->told.n_steps);
    baton_json_put_uint(out, "tokens", worker->now.n_tokens - worker->told.n_tokens);
    baton_json_close(out, '}');
}

static void write_steps(struct gw_feed *feed, const struct gw_fleet *fleet)
{
    struct baton_json_out out = open_event(feed);
    baton_json_open(&out, "workers", '[');
    for (struct gw_worker *worker = gw_worker_list_first(&fleet->workers); worker;
         worker = gw_worker_list_next(&fleet->workers, worker))
        if (worker->now.n_steps != worker->told.n_steps)
            put_steps(&out, worker);
    baton_json_close(&out, ']');
    close_event(feed, &out, "steps", &feed->batch);
}

void gw_feed_beat(struct gw_feed *feed, struct gw_fleet *fleet)
{
    bool any_steps = false;
    if (!feed->is_read)
        return;
    for (struct gw_worker *worker = gw_worker_list_first(&fleet->workers); worker;
         worker = gw_worker_list_next(&fleet->workers, worker)) {
        any_steps |= worker->now.n_steps != worker->told.n_steps;
        if (worker->now.n_changes != worker->told.n_changes)
            write_worker(feed, worker);
    }
    if (any_steps)
        write_steps(feed, fleet);
    for (struct gw_worker *worker = gw_worker_list_first(&fleet->workers); worker;
         worker = gw_worker_list_next(&fleet->workers, worker))
        worker->told = worker->now;
}

/* ---- the whole fleet ---- */

/* Puts open requests until there are GW_FEED_REQUESTS, *n so far. */
static void put_open_requests(struct baton_json_out *out, const struct gw_requests *requests,
                              size_t *n)
{
    for (int state = GW_PREEMPTED; state >= GW_QUEUED; state--) /* first those that came first */
        for (struct gw_request *request = gw_request_list_first(&requests->by_state[state]);
             request && *n < GW_FEED_REQUESTS;
             request = gw_request_list_next(&requests->by_state[state], request)) {
            baton_json_open(out, NULL, '{');
            put_request(out, request);
            baton_json_close(out, '}');
            ++*n;
        }
}

static void put_workers(struct baton_json_out *out, const struct gw_fleet *fleet)
{
    for (struct gw_worker *worker = gw_worker_list_first(&fleet->workers); worker;
         worker = gw_worker_list_next(&fleet->workers, worker)) {
        baton_json_open(out, NULL, '{');
        put_worker(out, worker);
        baton_json_close(out, '}');
    }
}

void gw_feed_put_fleet(struct gw_feed *feed, const struct gw_feed_part *parts, size_t n,
                       struct baton_buf *out)
{
    struct baton_json_out json = open_event(feed);
    size_t n_requests = 0;
    baton_json_open(&json, "workers", '[');
    for (size_t i = 0; i < n; i++)
        put_workers(&json, parts[i].fleet);
    baton_json_close(&json, ']');
    baton_json_open(&json, "requests", '[');
    for (size_t i = 0; i < n; i++)
        put_open_requests(&json, parts[i].requests, &n_requests);
    baton_json_close(&json, ']');
    close_event(feed, &json, "fleet", out);
}
