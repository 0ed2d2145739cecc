#include "tools/load/workload/source.h"

static int64_t ns_of(double seconds)
{
    return (int64_t)(seconds * 1e9);
}

bool ld_source_is_open(const struct ld_source *source)
{
    return source->arrivals != LD_CLOSED;
}

bool ld_source_has_more(const struct ld_source *source)
{
    if (source->ended)
        return false;
    if (source->arrivals == LD_TRACE && source->n_due >= source->workload.trace->n)
        return false;
    return !source->n_requests || source->n_due < (uint64_t)source->n_requests;
}

bool ld_source_is_exhausted(const struct ld_source *source, int64_t now_ns)
{
    if (!ld_source_has_more(source))
        return true;
    if (ld_source_is_open(source))
        return source->next_due_ns >= source->stop_ns;
    return now_ns >= source->stop_ns;
}

/* ---- arrivals of an open source ---- */

static int64_t gap_ns(const struct ld_source *source)
{
    struct ld_rng rng = ld_rng(source->workload.seed, LD_STREAM_ARRIVAL, source->n_due);
    double mean_s = 1 / source->rate_per_s;
    return ns_of(source->arrivals == LD_POISSON ? mean_s * ld_rng_exponential(&rng) : mean_s);
}

/* Returns the next arrival. Periodic requests begin at once, Poisson's after a first gap. */
static int64_t arrival_ns(const struct ld_source *source)
{
    const struct ld_trace *trace = source->workload.trace;
    bool first = !source->next_due_ns;
    int64_t from_ns = first ? source->begin_ns : source->next_due_ns;
    /* The end of the trace must be checked before its row is read. */
    if (!ld_source_has_more(source))
        return INT64_MAX;
    if (source->arrivals == LD_TRACE)
        return source->begin_ns + ns_of(trace->rows[source->n_due].arrival_s / source->trace_speed);
    return first && source->arrivals == LD_PERIODIC ? from_ns : from_ns + gap_ns(source);
}

static bool is_full(const struct ld_source *source)
{
    return source->n_in_flight >= source->max_in_flight;
}

/* Skips requests that were held back until no more may be sent. */
static void skip_late(struct ld_source *source, int64_t now_ns)
{
    while (now_ns >= source->stop_ns && is_full(source) && ld_source_has_more(source) &&
           source->next_due_ns < source->stop_ns) {
        source->n_due++;
        source->next_due_ns = arrival_ns(source);
    }
}

static bool is_open_due(struct ld_source *source, int64_t now_ns, int64_t *due_ns)
{
    if (!source->next_due_ns && source->begin_ns != INT64_MAX)
        source->next_due_ns = arrival_ns(source);
    skip_late(source, now_ns);
    *due_ns = source->next_due_ns;
    if (!*due_ns || *due_ns > now_ns || *due_ns >= source->stop_ns || !ld_source_has_more(source))
        return false;
    if (is_full(source)) {
        source->full_ns = now_ns;
        return false;
    }
    /* It was due while the source was full, so it starts late. */
    source->n_held += *due_ns <= source->full_ns;
    return true;
}

/* ---- both kinds ---- */

bool ld_source_is_due(struct ld_source *source, int64_t now_ns, int64_t *due_ns)
{
    if (ld_source_is_open(source))
        return is_open_due(source, now_ns, due_ns);
    *due_ns = now_ns;
    return source->n_in_flight < source->concurrency && now_ns >= source->begin_ns &&
           now_ns < source->stop_ns && ld_source_has_more(source);
}

struct ld_plan ld_source_take(struct ld_source *source)
{
    struct ld_plan plan = ld_plan_make(&source->workload, source->n_due);
    source->n_due++;
    source->n_started++;
    source->n_in_flight++;
    if (ld_source_is_open(source))
        source->next_due_ns = arrival_ns(source);
    return plan;
}

int64_t ld_source_next_ns(const struct ld_source *source, int64_t now_ns)
{
    bool open = ld_source_is_open(source);
    int64_t next_ns = open && !is_full(source) ? source->next_due_ns : INT64_MAX;
    if (!open && source->begin_ns > now_ns)
        next_ns = source->begin_ns;
    if (source->stop_ns > now_ns && source->stop_ns < next_ns)
        next_ns = source->stop_ns;
    return next_ns > now_ns ? next_ns : INT64_MAX;
}
