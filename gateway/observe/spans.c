#include "gateway/observe/spans.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/json.h"
#include "common/obs/prom.h"
#include "gateway/http/server.h"

/* Enums of trace.proto. */
enum { KIND_INTERNAL = 1, KIND_SERVER = 2, STATUS_ERROR = 2, FLAG_SAMPLED = 1 };

enum { LINE_MAX_BYTES = 64 << 10 };

enum baton_err gw_spans_open(struct gw_spans *spans, const char *path, const char *gateway,
                             struct baton_why *why)
{
    *spans = (struct gw_spans){.fd = -1, .name = gateway};
    if (!*path)
        return BATON_OK;
    spans->fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0640);
    return spans->fd >= 0 ? BATON_OK
                          : baton_fail(why, BATON_IO, "otlp-file: %s: %s", path, strerror(errno));
}

void gw_spans_close(struct gw_spans *spans)
{
    if (spans->fd >= 0)
        (void)close(spans->fd);
    spans->fd = -1;
}

/* ---- values ---- */

/* OTLP's JSON writes 64-bit integers as strings. */
static void put_int64(struct baton_json_out *out, const char *key, int64_t value)
{
    char digits[24];
    (void)snprintf(digits, sizeof digits, "%" PRId64, value);
    baton_json_put_string(out, key, digits);
}

static void put_attribute(struct baton_json_out *out, const char *key, const char *text)
{
    if (!text || !*text)
        return;
    baton_json_open(out, NULL, '{');
    baton_json_put_string(out, "key", key);
    baton_json_open(out, "value", '{');
    baton_json_put_string(out, "stringValue", text);
    baton_json_close(out, '}');
    baton_json_close(out, '}');
}

static void put_count(struct baton_json_out *out, const char *key, int64_t n)
{
    baton_json_open(out, NULL, '{');
    baton_json_put_string(out, "key", key);
    baton_json_open(out, "value", '{');
    put_int64(out, "intValue", n);
    baton_json_close(out, '}');
    baton_json_close(out, '}');
}

/* What the wall clock says when ours says at_ns. */
static int64_t unix_ns(int64_t at_ns)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    int64_t wall_ns = now.tv_sec * BATON_SECOND + now.tv_nsec;
    return wall_ns - (baton_now_ns() - at_ns);
}

/* ---- a line ---- */

struct line {
    struct baton_buf buf;
    struct baton_json_out out;
};

/* To the place where spans follow. */
static void begin_line(struct line *line, const struct gw_spans *spans)
{
    baton_buf_init(&line->buf, LINE_MAX_BYTES);
    line->out = baton_json_out(&line->buf);
    struct baton_json_out *out = &line->out;
    baton_json_open(out, NULL, '{');
    baton_json_open(out, "resourceSpans", '[');
    baton_json_open(out, NULL, '{');
    baton_json_open(out, "resource", '{');
    baton_json_open(out, "attributes", '[');
    put_attribute(out, "service.name", "baton");
    put_attribute(out, "service.instance.id", spans->name);
    baton_json_close(out, ']');
    baton_json_close(out, '}');
    baton_json_open(out, "scopeSpans", '[');
    baton_json_open(out, NULL, '{');
    baton_json_open(out, "scope", '{');
    baton_json_put_string(out, "name", "baton");
    baton_json_close(out, '}');
    baton_json_open(out, "spans", '[');
}

static void end_line(struct line *line, struct gw_spans *spans)
{
    struct baton_json_out *out = &line->out;
    for (const char *bracket = "]}]}]}"; *bracket; bracket++)
        baton_json_close(out, *bracket);
    baton_buf_putc(&line->buf, '\n');
    ssize_t written =
        baton_buf_err(&line->buf) ? -1 : write(spans->fd, line->buf.data, line->buf.len);
    bool is_whole = written == (ssize_t)line->buf.len;
    spans->n_written += is_whole;
    spans->n_dropped += !is_whole;
    baton_buf_fini(&line->buf);
}

/* To the place where attributes follow. */
static void begin_span(struct baton_json_out *out, const struct gw_trace *trace,
                       const char *parent_id, const char *name, int kind, int64_t start_ns,
                       int64_t end_ns)
{
    baton_json_open(out, NULL, '{');
    baton_json_put_string(out, "traceId", trace->id);
    baton_json_put_string(out, "spanId", trace->span_id);
    if (*parent_id)
        baton_json_put_string(out, "parentSpanId", parent_id);
    baton_json_put_int(out, "flags", FLAG_SAMPLED);
    baton_json_put_string(out, "name", name);
    baton_json_put_int(out, "kind", kind);
    put_int64(out, "startTimeUnixNano", start_ns);
    put_int64(out, "endTimeUnixNano", end_ns);
    baton_json_open(out, "attributes", '[');
}

static void end_span(struct baton_json_out *out, const char *error)
{
    baton_json_close(out, ']');
    if (error) {
        baton_json_open(out, "status", '{');
        baton_json_put_int(out, "code", STATUS_ERROR);
        baton_json_put_string(out, "message", error);
        baton_json_close(out, '}');
    }
    baton_json_close(out, '}');
}

/* ---- what is told ---- */

void gw_spans_tell_answer(struct gw_spans *spans, const struct gw_exchange *exchange)
{
    const struct gw_trace *trace = gw_exchange_trace(exchange);
    const struct gw_exchange_note *note = gw_exchange_note_of(exchange);
    bool is_wanted = *trace->parent_id || note->model; /* probes and scrapes begin no trace */
    int status = gw_exchange_status(exchange);
    struct line line;
    char name[128];
    if (spans->fd < 0 || !trace->is_sampled || !is_wanted)
        return;
    int64_t now_ns = baton_now_ns();
    int64_t end_ns = unix_ns(now_ns);
    (void)snprintf(name, sizeof name, "%s %s", gw_exchange_method(exchange),
                   gw_exchange_path(exchange));
    begin_line(&line, spans);
    begin_span(&line.out, trace, trace->parent_id, name, KIND_SERVER,
               end_ns - (now_ns - gw_exchange_arrived_ns(exchange)), end_ns);
    put_attribute(&line.out, "http.request.method", gw_exchange_method(exchange));
    put_attribute(&line.out, "url.path", gw_exchange_path(exchange));
    put_count(&line.out, "http.response.status_code", status);
    put_attribute(&line.out, "client.address", gw_exchange_peer(exchange));
    put_attribute(&line.out, "baton.request.id", gw_exchange_id(exchange));
    put_attribute(&line.out, "gen_ai.response.model", note->model);
    end_span(&line.out, status >= 500 ? "the answer is an error" : NULL);
    end_line(&line, spans);
}

static void put_stages(struct baton_json_out *out, const struct gw_trace *parent,
                       int64_t arrived_ns, const struct gw_stage_span stages[BATON_N_STAGES])
{
    for (int i = 0; i < BATON_N_STAGES; i++) {
        if (!stages[i].worker)
            continue;
        struct gw_trace trace = *parent;
        double end_s = stages[i].start_s + stages[i].duration_s;
        gw_span_id(trace.span_id);
        begin_span(out, &trace, parent->span_id, baton_stage_name((enum baton_stage)i),
                   KIND_INTERNAL, arrived_ns + (int64_t)(stages[i].start_s * (double)BATON_SECOND),
                   arrived_ns + (int64_t)(end_s * (double)BATON_SECOND));
        put_attribute(out, "baton.worker", stages[i].worker);
        end_span(out, NULL);
    }
}

void gw_spans_tell_request(struct gw_spans *spans, const struct gw_request *request,
                           const char *outcome, const char *reason,
                           const struct gw_stage_span stages[BATON_N_STAGES])
{
    struct gw_trace trace = request->trace;
    struct line line;
    if (!spans || spans->fd < 0 || !trace.is_sampled)
        return;
    int64_t arrived_ns = unix_ns(request->times.arrived_ns);
    gw_span_id(trace.span_id);
    begin_line(&line, spans);
    begin_span(&line.out, &trace, request->trace.span_id, "generation", KIND_INTERNAL, arrived_ns,
               arrived_ns + (request->times.end_ns - request->times.arrived_ns));
    put_count(&line.out, "gen_ai.usage.input_tokens", (int64_t)request->params.prompt.n);
    put_count(&line.out, "gen_ai.usage.output_tokens", (int64_t)request->output.tokens.n);
    put_attribute(&line.out, "baton.outcome", outcome);
    put_count(&line.out, "baton.migrations", request->migration.n);
    end_span(&line.out, !strcmp(outcome, "failed") ? reason : NULL);
    put_stages(&line.out, &trace, arrived_ns, stages);
    end_line(&line, spans);
}

void gw_spans_write_metrics(const struct gw_spans *spans, struct baton_buf *out)
{
    baton_prom_family(out, "baton_span_lines_total", "counter",
                      "Lines of spans for the file of --otlp-file, by what became of them.");
    baton_prom_sample(out, "baton_span_lines_total", (double)spans->n_written, "outcome", "written",
                      NULL);
    baton_prom_sample(out, "baton_span_lines_total", (double)spans->n_dropped, "outcome", "dropped",
                      NULL);
}
