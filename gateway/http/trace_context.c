#include "gateway/http/trace_context.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/base/random.h"
#include "common/base/request_tag.h"

static bool is_hex(const char *text, size_t n)
{
    return strspn(text, "0123456789abcdef") >= n;
}

void gw_span_id(char id[GW_SPAN_ID_BYTES])
{
    (void)snprintf(id, GW_SPAN_ID_BYTES, "%016" PRIx64, baton_random_id());
}

/* Version 00 ends after the flags; a later version may continue after another dash. */
static bool is_traceparent(const char *text)
{
    size_t n = strlen(text);
    if (n < GW_TRACEPARENT_BYTES - 1 || !is_hex(text, 2) || !strncmp(text, "ff", 2))
        return false;
    bool ends = n == GW_TRACEPARENT_BYTES - 1;
    if (!ends && (!strncmp(text, "00", 2) || text[GW_TRACEPARENT_BYTES - 1] != '-'))
        return false;
    return text[2] == '-' && text[35] == '-' && text[52] == '-' && is_hex(text + 3, 32) &&
           is_hex(text + 36, 16) && strspn(text + 36, "0") < 16 && is_hex(text + 53, 2);
}

void gw_trace_read(struct gw_trace *trace, const char *traceparent)
{
    *trace = (struct gw_trace){.id = ""};
    if (!is_traceparent(traceparent))
        return;
    (void)snprintf(trace->id, sizeof trace->id, "%.32s", traceparent + 3);
    (void)snprintf(trace->parent_id, sizeof trace->parent_id, "%.16s", traceparent + 36);
    if (!baton_is_trace_id(trace->id))
        *trace = (struct gw_trace){.id = ""};
    trace->is_sampled = *trace->id && strchr("13579bdf", traceparent[54]);
    gw_span_id(trace->span_id);
}

void gw_trace_begin(struct gw_trace *trace)
{
    *trace = (struct gw_trace){.is_sampled = true};
    (void)snprintf(trace->id, sizeof trace->id, "%016" PRIx64 "%016" PRIx64, baton_random_id(),
                   baton_random_id());
    gw_span_id(trace->span_id);
}

const char *gw_trace_put(const struct gw_trace *trace, char text[GW_TRACEPARENT_BYTES])
{
    (void)snprintf(text, GW_TRACEPARENT_BYTES, "00-%s-%s-0%d", trace->id, trace->span_id,
                   trace->is_sampled);
    return text;
}
