#include "gateway/observe/spans.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/json.h"
#include "common/base/version.h"
#include "common/obs/prom.h"
#include "gateway/http/server.h"

/* Enums of trace.proto. */
enum { KIND_INTERNAL = 1, KIND_SERVER = 2, STATUS_ERROR = 2, FLAG_SAMPLED = 1 };

enum { SPANS_MAX_BYTES = 64 << 10, HEAD_MAX_BYTES = 4 << 10 };

/* The end of an ExportTraceServiceRequest after its spans. */
static const char tail[] = "]}]}]}\n";

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

/* The wall clock's time at at_ns of baton_now_ns. Computed anew each time, so that a clock that is
 * set later does not shift all spans until the process ends. */
static int64_t unix_ns(int64_t at_ns)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    int64_t wall_ns = now.tv_sec * BATON_SECOND + now.tv_nsec;
    return wall_ns - (baton_now_ns() - at_ns);
}

/* ---- open and close ---- */

static enum baton_err make_head(struct baton_buf *head, const char *gateway)
{
    baton_buf_init(head, HEAD_MAX_BYTES);
    struct baton_json_out out = baton_json_out(head);
    baton_json_open(&out, NULL, '{');
    baton_json_open(&out, "resourceSpans", '[');
    baton_json_open(&out, NULL, '{');
    baton_json_open(&out, "resource", '{');
    baton_json_open(&out, "attributes", '[');
    put_attribute(&out, "service.name", "baton");
    put_attribute(&out, "service.instance.id", gateway);
    put_attribute(&out, "service.version", baton_release);
    baton_json_close(&out, ']');
    baton_json_close(&out, '}');
    baton_json_open(&out, "scopeSpans", '[');
    baton_json_open(&out, NULL, '{');
    baton_json_open(&out, "scope", '{');
    baton_json_put_string(&out, "name", "baton");
    baton_json_close(&out, '}');
    baton_json_open(&out, "spans", '[');
    return baton_buf_err(head);
}

static enum baton_err open_file(struct gw_spans *spans, const char *path, struct baton_why *why)
{
    spans->fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0640);
    return spans->fd >= 0 ? BATON_OK
                          : baton_fail(why, BATON_IO, "otlp-file: %s: %s", path, strerror(errno));
}

static enum baton_err open_endpoint(struct gw_spans *spans, const struct gw_spans_options *options,
                                    struct baton_why *why)
{
    struct gw_otlp_endpoint endpoint;
    enum baton_err err = gw_otlp_endpoint_parse(&endpoint, options->endpoint, options->headers_file,
                                                options->cafile, why);
    if (!err)
        err = gw_span_exporter_start(&endpoint, spans->head.data, tail, &spans->exporter, why);
    if (err)
        gw_otlp_endpoint_fini(&endpoint);
    return err;
}

enum baton_err gw_spans_open(struct gw_spans *spans, const struct gw_spans_options *options,
                             struct baton_why *why)
{
    *spans = (struct gw_spans){.fd = -1};
    if (!*options->endpoint && (*options->headers_file || *options->cafile))
        return baton_fail(why, BATON_INVALID, "%s: is of no use without otlp-endpoint",
                          *options->headers_file ? "otlp-headers-file" : "otlp-cafile");
    enum baton_err err = make_head(&spans->head, options->gateway);
    if (!err && *options->file)
        err = open_file(spans, options->file, why);
    if (!err && *options->endpoint)
        err = open_endpoint(spans, options, why);
    return err;
}

void gw_spans_close(struct gw_spans *spans)
{
    if (spans->fd >= 0)
        (void)close(spans->fd);
    spans->fd = -1;
    gw_span_exporter_stop(spans->exporter);
    spans->exporter = NULL;
    baton_buf_fini(&spans->head);
}

bool gw_spans_are_wanted(const struct gw_spans *spans)
{
    return spans->fd >= 0 || spans->exporter;
}

/* ---- groups of spans, which are written together ---- */

struct group {
    struct baton_buf buf;
    struct baton_json_out out;
    size_t n;
};

static void begin_group(struct group *group)
{
    baton_buf_init(&group->buf, SPANS_MAX_BYTES);
    group->out = baton_json_out(&group->buf);
    group->n = 0;
}

static void write_line(struct gw_spans *spans, const struct baton_buf *group)
{
    const struct iovec parts[] = {{spans->head.data, spans->head.len},
                                  {group->data, group->len},
                                  {(void *)(uintptr_t)tail, sizeof tail - 1}};
    ssize_t n = (ssize_t)(spans->head.len + group->len + sizeof tail - 1);
    /* One writev, because with O_APPEND it keeps lines of several gateways apart. */
    bool is_whole = !baton_buf_err(group) && writev(spans->fd, parts, 3) == n;
    spans->n_written += is_whole;
    spans->n_dropped += !is_whole;
}

static void end_group(struct group *group, struct gw_spans *spans)
{
    if (spans->fd >= 0)
        write_line(spans, &group->buf);
    size_t n_bytes = baton_buf_err(&group->buf) ? SIZE_MAX : group->buf.len; /* else too large */
    if (spans->exporter)
        gw_span_exporter_put(spans->exporter, group->buf.data, n_bytes, group->n);
    baton_buf_fini(&group->buf);
}

/* Writes a span up to the place where its attributes follow. */
static void begin_span(struct group *group, const struct gw_trace *trace, const char *parent_id,
                       const char *name, int kind, int64_t start_ns, int64_t end_ns)
{
    struct baton_json_out *out = &group->out;
    group->n++;
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

/* ---- answers and requests ---- */

void gw_spans_export_answer(struct gw_spans *spans, const struct gw_exchange *exchange)
{
    const struct gw_trace *trace = gw_exchange_trace(exchange);
    const struct gw_exchange_note *note = gw_exchange_note_of(exchange);
    /* Probes and scrapes, which name neither a parent nor a model, would fill a collector. */
    bool is_wanted = *trace->parent_id || note->model;
    int status = gw_exchange_status(exchange);
    struct group group;
    char path[GW_SHOWN_PATH_BYTES], name[GW_SHOWN_PATH_BYTES + 16];
    if (!gw_spans_are_wanted(spans) || !trace->is_sampled || !is_wanted)
        return;
    int64_t now_ns = baton_now_ns();
    int64_t end_ns = unix_ns(now_ns);
    gw_exchange_show_path(exchange, path);
    (void)snprintf(name, sizeof name, "%s %s", gw_exchange_method(exchange), path);
    begin_group(&group);
    begin_span(&group, trace, trace->parent_id, name, KIND_SERVER,
               end_ns - (now_ns - gw_exchange_arrived_ns(exchange)), end_ns);
    put_attribute(&group.out, "http.request.method", gw_exchange_method(exchange));
    put_attribute(&group.out, "url.path", path);
    put_count(&group.out, "http.response.status_code", status);
    put_attribute(&group.out, "client.address", gw_exchange_peer(exchange));
    put_attribute(&group.out, "baton.request.id", gw_exchange_id(exchange));
    put_attribute(&group.out, "gen_ai.response.model", note->model);
    end_span(&group.out, status >= 500 ? "the answer is an error" : NULL);
    end_group(&group, spans);
}

static void put_stages(struct group *group, const struct gw_trace *parent, int64_t arrived_ns,
                       const struct gw_stage_span stages[BATON_N_STAGES])
{
    for (int i = 0; i < BATON_N_STAGES; i++) {
        if (!stages[i].worker)
            continue;
        struct gw_trace trace = *parent;
        double end_s = stages[i].start_s + stages[i].duration_s;
        gw_span_id(trace.span_id);
        begin_span(group, &trace, parent->span_id, baton_stage_name((enum baton_stage)i),
                   KIND_INTERNAL, arrived_ns + (int64_t)(stages[i].start_s * (double)BATON_SECOND),
                   arrived_ns + (int64_t)(end_s * (double)BATON_SECOND));
        put_attribute(&group->out, "baton.worker", stages[i].worker);
        end_span(&group->out, NULL);
    }
}

void gw_spans_export_request(struct gw_spans *spans, const struct gw_request *request,
                             const char *outcome, const char *reason,
                             const struct gw_stages *stages)
{
    struct gw_trace trace = request->trace;
    struct group group;
    if (!spans || !gw_spans_are_wanted(spans) || !trace.is_sampled)
        return;
    int64_t arrived_ns = unix_ns(request->times.arrived_ns);
    gw_span_id(trace.span_id);
    begin_group(&group);
    begin_span(&group, &trace, request->trace.span_id, "generation", KIND_INTERNAL, arrived_ns,
               arrived_ns + (request->times.end_ns - request->times.arrived_ns));
    put_count(&group.out, "gen_ai.usage.input_tokens", (int64_t)request->params.prompt.n);
    put_count(&group.out, "gen_ai.usage.output_tokens", (int64_t)request->output.tokens.n);
    put_attribute(&group.out, "baton.outcome", outcome);
    put_count(&group.out, "baton.migrations", request->migration.n);
    end_span(&group.out, !strcmp(outcome, "failed") ? reason : NULL);
    put_stages(&group, &trace, arrived_ns, stages->spans);
    end_group(&group, spans);
}

/* Writes zeros without an exporter, so that the series exist. */
static void write_exporter(const struct gw_span_exporter *exporter, struct baton_buf *out)
{
    static const char *const outcomes[] = {
#define X(name) #name,
        GW_SPAN_OUTCOMES(X)
#undef X
    };
    baton_prom_family(out, "baton_otlp_spans_total", "counter",
                      "Spans for the endpoint of --otlp-endpoint, by outcome.");
    for (int i = 0; i < GW_N_SPAN_OUTCOMES; i++)
        baton_prom_sample(out, "baton_otlp_spans_total",
                          (double)gw_span_exporter_count(exporter, (enum gw_span_outcome)i),
                          "outcome", outcomes[i], NULL);
    baton_prom_family(out, "baton_otlp_posts_total", "counter",
                      "Attempts to send spans to the endpoint of --otlp-endpoint.");
    baton_prom_sample(out, "baton_otlp_posts_total", (double)gw_span_exporter_n_posts(exporter),
                      NULL);
    baton_prom_family(out, "baton_otlp_queue_bytes", "gauge",
                      "Bytes of spans that wait to be sent to the endpoint of --otlp-endpoint.");
    baton_prom_sample(out, "baton_otlp_queue_bytes",
                      (double)gw_span_exporter_queued_bytes(exporter), NULL);
}

void gw_spans_write_metrics(const struct gw_spans *spans, struct baton_buf *out)
{
    baton_prom_family(out, "baton_span_lines_total", "counter",
                      "Lines of spans for the file of --otlp-file, by outcome.");
    baton_prom_sample(out, "baton_span_lines_total", (double)spans->n_written, "outcome", "written",
                      NULL);
    baton_prom_sample(out, "baton_span_lines_total", (double)spans->n_dropped, "outcome", "dropped",
                      NULL);
    write_exporter(spans->exporter, out);
}
