#include "tools/load/http/call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"

enum { BODY_MAX_BYTES = 16 << 20, REQUEST_MAX_BYTES = 256 << 20, HTTP_OK = 200, HTTP_BUSY = 429 };

struct ld_call *ld_call_create(struct ld_setting *setting, const struct ld_workload *workload,
                               struct ld_record *record, void (*over)(struct ld_call *call),
                               void *arg)
{
    struct ld_call *call = calloc(1, sizeof *call);
    if (!call)
        return NULL;
    call->setting = setting;
    call->workload = workload;
    call->record = record;
    call->over = over;
    call->arg = arg;
    baton_http_response_init(&call->response);
    ld_sse_init(&call->sse);
    baton_buf_init(&call->body, BODY_MAX_BYTES);
    return call;
}

void ld_call_destroy(struct ld_call *call)
{
    baton_http_response_fini(&call->response);
    ld_sse_fini(&call->sse);
    baton_buf_fini(&call->body);
    free(call);
}

/* ---- the end ---- */

static void end(struct ld_call *call, enum ld_outcome outcome, bool reusable)
{
    struct ld_conn *conn = call->conn;
    call->conn = NULL;
    call->record->end_ns = baton_now_ns();
    call->record->outcome = outcome;
    if (conn && reusable)
        ld_conn_give(conn);
    else if (conn)
        ld_conn_drop(conn);
    call->over(call);
}

void ld_call_end(struct ld_call *call, enum ld_outcome outcome, const char *failure)
{
    if (outcome == LD_FAILED)
        (void)snprintf(call->record->failure, sizeof call->record->failure, "%s", failure);
    end(call, outcome, false);
}

/* Ends the call with a complete answer that is not a 200 with a stream. */
static void end_refused(struct ld_call *call, bool reusable)
{
    struct ld_record *record = call->record;
    char text[LD_FAILURE_BYTES / 2] = "";
    (void)ld_api_error_text(baton_buf_text(&call->body), call->body.len, text, sizeof text);
    if (record->status == HTTP_OK)
        (void)snprintf(record->failure, sizeof record->failure,
                       "HTTP 200 without text/event-stream");
    else
        (void)snprintf(record->failure, sizeof record->failure, "HTTP %d%s%s", record->status,
                       *text ? " " : "", text);
    record->n_refused += record->status == HTTP_BUSY;
    end(call, LD_FAILED, reusable);
}

/* Ends the call with a complete response. */
static void end_response(struct ld_call *call)
{
    bool reusable = call->response.keep_alive && call->conn;
    if (!call->response.is_events || call->response.status != HTTP_OK)
        end_refused(call, reusable);
    else if (call->ended)
        end(call, LD_DONE, reusable);
    else
        ld_call_end(call, LD_FAILED, "the stream ended before its last event");
}

/* ---- reading ---- */

/* The read whose bytes the parsers process. */
struct reading {
    struct ld_call *call;
    int64_t now_ns;
};

static bool should_leave(const struct ld_call *call)
{
    int64_t after = call->record->plan.cancel_after;
    return after && call->record->n_arrivals >= after && !call->ended;
}

static enum baton_err on_event(void *arg, const struct ld_event *event)
{
    struct reading *reading = arg;
    struct ld_call *call = reading->call;
    if (call->ended)
        return BATON_OK;
    enum baton_err err = ld_api_take_event(call->setting->api.api, event, reading->now_ns,
                                           call->record, &call->ended);
    return !err && should_leave(call) ? BATON_CANCELED : err;
}

static enum baton_err read_events(struct ld_call *call, int64_t now_ns)
{
    struct reading reading = {call, now_ns};
    enum baton_err err =
        ld_sse_feed(&call->sse, call->body.data, call->body.len, on_event, &reading);
    baton_buf_reset(&call->body);
    return err;
}

static void fail_stream(struct ld_call *call, enum baton_err err)
{
    if (err == BATON_CANCELED)
        ld_call_end(call, LD_CANCELED, NULL);
    else if (err == BATON_PEER)
        end(call, LD_FAILED, false); /* record->failure holds the reason */
    else
        ld_call_end(call, LD_FAILED, baton_err_text(err));
}

static void on_bytes(void *arg, const char *bytes, size_t n, int64_t now_ns)
{
    struct ld_call *call = arg;
    struct baton_http_response *response = &call->response;
    struct baton_why why = {"not HTTP"};
    char failure[LD_FAILURE_BYTES];
    size_t n_used = 0;
    /* From here on the answer has begun, and the request cannot be sent again. */
    call->got_bytes = true;
    enum baton_err err = baton_http_response_feed(response, bytes, n, &n_used, &call->body, &why);
    if (err && err != BATON_AGAIN) {
        (void)snprintf(failure, sizeof failure, "bad response: %.70s", why.text);
        ld_call_end(call, LD_FAILED, failure);
        return;
    }
    if (response->has_head) {
        call->record->status = response->status;
        call->record->retry_after_s = response->retry_after_s;
    }
    if (n_used < n)
        response->keep_alive = false; /* these bytes belong to no answer */
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

static void write_head(const struct ld_call *call, size_t n_body, struct baton_buf *out)
{
    const struct ld_setting *setting = call->setting;
    baton_buf_printf(out,
                     "POST %s%s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n"
                     "Accept: text/event-stream\r\nContent-Length: %zu\r\n",
                     setting->path, ld_api_path(setting->api.api), setting->authority, n_body);
    if (setting->api_key)
        baton_buf_printf(out, "Authorization: Bearer %s\r\n", setting->api_key);
    if (!setting->pool->keep_alive)
        baton_buf_puts(out, "Connection: close\r\n");
    baton_buf_puts(out, "\r\n");
}

static void send_request(struct ld_call *call)
{
    struct baton_buf body, out;
    baton_buf_init(&body, REQUEST_MAX_BYTES);
    baton_buf_init(&out, REQUEST_MAX_BYTES);
    ld_api_put_body(&call->setting->api, call->workload, &call->record->plan, &body);
    write_head(call, body.len, &out);
    baton_buf_append(&out, baton_buf_text(&body), body.len);
    if (baton_buf_err(&body) || baton_buf_err(&out))
        ld_call_end(call, LD_FAILED, "no memory for the request");
    else
        ld_conn_write(call->conn, out.data, out.len);
    baton_buf_fini(&body);
    baton_buf_fini(&out);
}

static void on_closed(void *arg, const char *reason);

static const struct ld_conn_user user = {.bytes = on_bytes, .closed = on_closed};

static void connect_and_send(struct ld_call *call, bool fresh)
{
    const struct ld_setting *setting = call->setting;
    double bytes_per_s = call->record->plan.slow ? setting->slow_bytes_per_s : 0;
    call->conn = ld_pool_take(setting->pool, fresh, bytes_per_s, &user, call);
    if (call->conn)
        send_request(call);
    else
        ld_call_end(call, LD_FAILED, "connect: no memory or file descriptors");
}

static void on_closed(void *arg, const char *reason)
{
    struct ld_call *call = arg;
    bool was_kept = call->conn->reused;
    char failure[LD_FAILURE_BYTES];
    call->conn = NULL;
    /* The server had closed the idle connection: that is no failure of this request. */
    if (was_kept && !call->got_bytes) {
        call->setting->n_reconnects++;
        connect_and_send(call, true);
        return;
    }
    /* A body without a length ends with its connection. */
    if (!reason && baton_http_response_eof(&call->response) == BATON_OK) {
        end_response(call);
        return;
    }
    (void)snprintf(failure, sizeof failure, "%s%.80s", call->got_bytes ? "cut stream: " : "",
                   reason ? reason : "closed by the server");
    ld_call_end(call, LD_FAILED, failure);
}

void ld_call_start(struct ld_call *call)
{
    baton_http_response_reset(&call->response);
    ld_sse_reset(&call->sse);
    baton_buf_reset(&call->body);
    call->got_bytes = call->ended = false;
    ld_record_begin_attempt(call->record, baton_now_ns());
    connect_and_send(call, false);
}
