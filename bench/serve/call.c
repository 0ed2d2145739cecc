#include "bench/serve/call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"

enum { BODY_MAX_BYTES = 16 << 20, REQUEST_MAX_BYTES = 256 << 20, HTTP_OK = 200, HTTP_BUSY = 429 };

struct sv_call *sv_call_create(struct sv_setting *setting, const struct sv_workload *workload,
                               struct sv_record *record, void (*over)(struct sv_call *call),
                               void *arg)
{
    struct sv_call *call = calloc(1, sizeof *call);
    if (!call)
        return NULL;
    call->setting = setting;
    call->workload = workload;
    call->record = record;
    call->over = over;
    call->arg = arg;
    sv_response_init(&call->response);
    sv_sse_init(&call->sse);
    baton_buf_init(&call->body, BODY_MAX_BYTES);
    return call;
}

void sv_call_destroy(struct sv_call *call)
{
    sv_response_fini(&call->response);
    sv_sse_fini(&call->sse);
    baton_buf_fini(&call->body);
    free(call);
}

/* ---- the end ---- */

static void end(struct sv_call *call, enum sv_outcome outcome, bool reusable)
{
    struct sv_conn *conn = call->conn;
    call->conn = NULL;
    call->record->end_ns = baton_now_ns();
    call->record->outcome = outcome;
    if (conn && reusable)
        sv_conn_give(conn);
    else if (conn)
        sv_conn_drop(conn);
    call->over(call);
}

void sv_call_end(struct sv_call *call, enum sv_outcome outcome, const char *failure)
{
    if (outcome == SV_FAILED)
        (void)snprintf(call->record->failure, sizeof call->record->failure, "%s", failure);
    end(call, outcome, false);
}

/* An answer other than 200's stream came whole. */
static void end_refused(struct sv_call *call, bool reusable)
{
    struct sv_record *record = call->record;
    char text[SV_FAILURE_BYTES / 2] = "";
    (void)sv_api_error_text(baton_buf_text(&call->body), call->body.len, text, sizeof text);
    if (record->status == HTTP_OK)
        (void)snprintf(record->failure, sizeof record->failure,
                       "HTTP 200 without text/event-stream");
    else
        (void)snprintf(record->failure, sizeof record->failure, "HTTP %d%s%s", record->status,
                       *text ? " " : "", text);
    record->n_refused += record->status == HTTP_BUSY;
    end(call, SV_FAILED, reusable);
}

/* The response is whole. */
static void end_response(struct sv_call *call)
{
    bool reusable = call->response.keep_alive && call->conn;
    if (!call->response.is_events || call->response.status != HTTP_OK)
        end_refused(call, reusable);
    else if (call->ended)
        end(call, SV_DONE, reusable);
    else
        sv_call_end(call, SV_FAILED, "the stream ended before its last event");
}

/* ---- reading ---- */

/* What one read brought, on its way through the parsers. */
struct reading {
    struct sv_call *call;
    int64_t now_ns;
};

static bool should_leave(const struct sv_call *call)
{
    int64_t after = call->record->plan.cancel_after;
    return after && call->record->n_arrivals >= after && !call->ended;
}

static enum baton_err on_event(void *arg, const struct sv_event *event)
{
    struct reading *reading = arg;
    struct sv_call *call = reading->call;
    if (call->ended)
        return BATON_OK;
    enum baton_err err = sv_api_take_event(call->setting->api.api, event, reading->now_ns,
                                           call->record, &call->ended);
    return !err && should_leave(call) ? BATON_CANCELED : err;
}

static enum baton_err read_events(struct sv_call *call, int64_t now_ns)
{
    struct reading reading = {call, now_ns};
    enum baton_err err =
        sv_sse_feed(&call->sse, call->body.data, call->body.len, on_event, &reading);
    baton_buf_reset(&call->body);
    return err;
}

static void fail_stream(struct sv_call *call, enum baton_err err)
{
    if (err == BATON_CANCELED)
        sv_call_end(call, SV_CANCELED, NULL);
    else if (err == BATON_PEER)
        end(call, SV_FAILED, false); /* the reason is in the record */
    else
        sv_call_end(call, SV_FAILED, baton_err_text(err));
}

static void on_bytes(void *arg, const char *bytes, size_t n, int64_t now_ns)
{
    struct sv_call *call = arg;
    struct sv_response *response = &call->response;
    struct baton_why why = {"not HTTP"};
    char failure[SV_FAILURE_BYTES];
    size_t n_used = 0;
    call->got_bytes = true;
    enum baton_err err = sv_response_feed(response, bytes, n, &n_used, &call->body, &why);
    if (err && err != BATON_AGAIN) {
        (void)snprintf(failure, sizeof failure, "bad response: %.70s", why.text);
        sv_call_end(call, SV_FAILED, failure);
        return;
    }
    if (response->has_head) {
        call->record->status = response->status;
        call->record->retry_after_s = response->retry_after_s;
    }
    if (n_used < n)
        response->keep_alive = false; /* bytes that answer nothing */
    if (response->has_head && response->is_events && response->status == HTTP_OK) {
        enum baton_err stream_err = call->body.len ? read_events(call, now_ns) : BATON_OK;
        if (stream_err) {
            fail_stream(call, stream_err);
            return;
        }
    }
    if (err == BATON_OK)
        end_response(call);
}

/* ---- sending ---- */

static void write_head(const struct sv_call *call, size_t n_body, struct baton_buf *out)
{
    const struct sv_setting *setting = call->setting;
    baton_buf_printf(out,
                     "POST %s%s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n"
                     "Accept: text/event-stream\r\nContent-Length: %zu\r\n",
                     setting->path, sv_api_path(setting->api.api), setting->authority, n_body);
    if (setting->api_key)
        baton_buf_printf(out, "Authorization: Bearer %s\r\n", setting->api_key);
    if (!setting->pool->keep_alive)
        baton_buf_puts(out, "Connection: close\r\n");
    baton_buf_puts(out, "\r\n");
}

static void send_request(struct sv_call *call)
{
    struct baton_buf body, out;
    baton_buf_init(&body, REQUEST_MAX_BYTES);
    baton_buf_init(&out, REQUEST_MAX_BYTES);
    sv_api_put_body(&call->setting->api, call->workload, &call->record->plan, &body);
    write_head(call, body.len, &out);
    baton_buf_append(&out, baton_buf_text(&body), body.len);
    if (baton_buf_err(&body) || baton_buf_err(&out))
        sv_call_end(call, SV_FAILED, "no memory for the request");
    else
        sv_conn_write(call->conn, out.data, out.len);
    baton_buf_fini(&body);
    baton_buf_fini(&out);
}

static void on_closed(void *arg, const char *reason);

static const struct sv_conn_user user = {.bytes = on_bytes, .closed = on_closed};

static void connect_and_send(struct sv_call *call, bool fresh)
{
    const struct sv_setting *setting = call->setting;
    double bytes_per_s = call->record->plan.slow ? setting->slow_bytes_per_s : 0;
    call->conn = sv_pool_take(setting->pool, fresh, bytes_per_s, &user, call);
    if (call->conn)
        send_request(call);
    else
        sv_call_end(call, SV_FAILED, "connect: no memory or file descriptors");
}

static void on_closed(void *arg, const char *reason)
{
    struct sv_call *call = arg;
    bool was_kept = call->conn->reused;
    char failure[SV_FAILURE_BYTES];
    call->conn = NULL;
    if (was_kept && !call->got_bytes) {
        call->setting->n_reconnects++;
        connect_and_send(call, true);
        return;
    }
    if (!reason && sv_response_eof(&call->response) == BATON_OK) {
        end_response(call);
        return;
    }
    (void)snprintf(failure, sizeof failure, "%s%.80s", call->got_bytes ? "cut stream: " : "",
                   reason ? reason : "closed by the server");
    sv_call_end(call, SV_FAILED, failure);
}

void sv_call_start(struct sv_call *call)
{
    sv_response_reset(&call->response);
    sv_sse_reset(&call->sse);
    baton_buf_reset(&call->body);
    call->got_bytes = call->ended = false;
    sv_record_begin_attempt(call->record, baton_now_ns());
    connect_and_send(call, false);
}
