#include "tools/load/report/figures.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"

struct gathering {
    struct ld_figures *figures;
    const struct ld_slo *slo;
    int64_t from_ns, to_ns;
    double tokens_in, prompts_in, done_in, good_in; /* within the window */
    struct ld_samples times[LD_N_TIMES], stages[BATON_N_STAGES];
};

const char *ld_time_key(enum ld_time time)
{
    static const char *const keys[] = {
#define X(name, title, help) #name,
        LD_TIMES(X)
#undef X
    };
    return keys[time];
}

const char *ld_time_title(enum ld_time time)
{
    static const char *const titles[] = {
#define X(name, title, help) title,
        LD_TIMES(X)
#undef X
    };
    return titles[time];
}

static void add(struct gathering *g, enum ld_time time, double seconds)
{
    if (!isnan(seconds))
        ld_samples_add(&g->times[time], seconds);
}

static bool is_within(const struct gathering *g, int64_t at_ns)
{
    return at_ns >= g->from_ns && at_ns <= g->to_ns;
}

bool ld_is_good(const struct ld_record *record, const struct ld_slo *slo)
{
    double tpot_s = ld_record_tpot_s(record);
    if (record->outcome != LD_DONE)
        return false;
    if (slo->ttft_s > 0 && !(ld_record_ttft_s(record) <= slo->ttft_s))
        return false;
    if (slo->itl_s > 0 && !(ld_record_max_gap_s(record) <= slo->itl_s))
        return false;
    if (slo->tpot_s > 0 && tpot_s > slo->tpot_s)
        return false;
    return !(slo->e2el_s > 0) || ld_record_e2el_s(record) <= slo->e2el_s;
}

/* ---- counts ---- */

static void count_failure(struct ld_figures *figures, const char *text)
{
    struct ld_failure *failures = figures->failures;
    int i = 0;
    while (i < figures->n_failures && strcmp(failures[i].text, text) != 0)
        i++;
    if (i == LD_MAX_FAILURES) {
        i--; /* the rest are counted together */
        (void)snprintf(failures[i].text, sizeof failures[i].text, "others");
    } else if (i == figures->n_failures) {
        figures->n_failures++;
        (void)snprintf(failures[i].text, sizeof failures[i].text, "%s", text);
    }
    failures[i].n++;
}

static void count_cache(struct ld_figures *figures, const struct ld_record *record)
{
    int64_t cached = record->server.cached_tokens;
    if (record->outcome != LD_DONE || cached < 0)
        return;
    figures->cached_tokens += (uint64_t)cached;
    if (cached)
        figures->n_warm++;
    else
        figures->n_cold++;
}

static void count(struct gathering *g, const struct ld_record *record)
{
    struct ld_figures *figures = g->figures;
    uint64_t n_tokens = (uint64_t)ld_record_output_tokens(record);
    uint64_t n_events = (uint64_t)record->n_arrivals;
    figures->n_sent++;
    figures->n_by_outcome[record->outcome]++;
    figures->n_attempts += (uint64_t)record->n_attempts;
    figures->n_refused += (uint64_t)record->n_refused;
    figures->n_clipped += record->plan.clipped;
    figures->n_short +=
        record->outcome == LD_DONE && n_tokens < (uint64_t)record->plan.output_tokens;
    figures->output_tokens += n_tokens;
    figures->n_events += n_events;
    /* A server may put several tokens into one event. */
    figures->n_merged += n_tokens > n_events ? n_tokens - n_events : 0;
    figures->n_coalesced += (uint64_t)record->n_coalesced;
    if (record->first_ns)
        figures->prompt_tokens += (uint64_t)ld_record_prompt_tokens(record);
    count_cache(figures, record);
    if (record->outcome == LD_FAILED)
        count_failure(figures, record->failure);
}

/* Counts the figures of the window. Tokens without their own event are spread over the events. */
static void count_window(struct gathering *g, const struct ld_record *record)
{
    double n_tokens = (double)ld_record_output_tokens(record);
    double per_event = record->n_arrivals ? n_tokens / (double)record->n_arrivals : 0;
    bool done_in = record->outcome == LD_DONE && is_within(g, record->finished_ns);
    for (int64_t i = 0; i < record->n_arrivals; i++)
        g->tokens_in += is_within(g, record->arrivals_ns[i]) ? per_event : 0;
    if (!record->n_arrivals && done_in)
        g->tokens_in += n_tokens;
    if (record->first_ns && is_within(g, record->first_ns))
        g->prompts_in += (double)ld_record_prompt_tokens(record);
    g->done_in += done_in;
    if (ld_is_good(record, g->slo)) {
        g->figures->n_good++;
        g->good_in += done_in;
    }
}

/* ---- times ---- */

static void add_gaps(struct gathering *g, const struct ld_record *record)
{
    const int64_t *arrivals_ns = record->arrivals_ns;
    for (int64_t i = 1; i < record->n_arrivals; i++)
        add(g, LD_TIME_itl, baton_seconds(arrivals_ns[i] - arrivals_ns[i - 1]));
    if (record->n_arrivals > 1)
        add(g, LD_TIME_first_gap, baton_seconds(arrivals_ns[1] - arrivals_ns[0]));
}

/* Returns the server's figure, or NAN if it gave none. */
static double reported(double seconds)
{
    return seconds >= 0 ? seconds : NAN;
}

static void add_server(struct gathering *g, const struct ld_record *record)
{
    const struct ld_server_view *server = &record->server;
    double sent_to_first_s = baton_seconds(record->first_ns - record->sent_ns);
    double sent_to_end_s = baton_seconds(record->finished_ns - record->sent_ns);
    double n_steps = (double)(ld_record_output_tokens(record) - 1);
    double step_s = n_steps > 0 ? reported(server->stages_s[BATON_STAGE_decode]) / n_steps : NAN;
    double tpot_s = ld_record_tpot_s(record);
    add(g, LD_TIME_server_ttft, reported(server->ttft_s));
    add(g, LD_TIME_server_tpot, reported(server->tpot_s));
    add(g, LD_TIME_server_e2el, reported(server->e2el_s));
    add(g, LD_TIME_server_overlap, reported(server->overlap_s));
    if (record->first_ns)
        add(g, LD_TIME_over_ttft, sent_to_first_s - reported(server->ttft_s));
    add(g, LD_TIME_over_tpot, tpot_s - reported(server->tpot_s));
    add(g, LD_TIME_over_e2el, sent_to_end_s - reported(server->e2el_s));
    add(g, LD_TIME_step, step_s);
    add(g, LD_TIME_over_step, tpot_s - step_s);
    for (int i = 0; i < BATON_N_STAGES; i++)
        if (server->stages_s[i] >= 0)
            ld_samples_add(&g->stages[i], server->stages_s[i]);
}

static void add_done(struct gathering *g, const struct ld_record *record)
{
    double ttft_s = ld_record_ttft_s(record);
    int64_t cached = record->server.cached_tokens;
    add(g, LD_TIME_ttft, ttft_s);
    add(g, LD_TIME_tpot, ld_record_tpot_s(record));
    add(g, LD_TIME_e2el, ld_record_e2el_s(record));
    add(g, LD_TIME_late, baton_seconds(record->sent_ns - record->start_ns));
    if (cached >= 0)
        add(g, cached ? LD_TIME_ttft_warm : LD_TIME_ttft_cold, ttft_s);
    add_gaps(g, record);
    add_server(g, record);
}

/* ---- the sum of all ---- */

static int compare_failures(const void *a, const void *b)
{
    const struct ld_failure *x = a, *y = b;
    return (x->n < y->n) - (x->n > y->n);
}

static enum baton_err summarize(struct gathering *g)
{
    struct ld_figures *figures = g->figures;
    bool failed = false;
    for (int i = 0; i < LD_N_TIMES; i++) {
        figures->times[i] = ld_samples_summarize(&g->times[i]);
        failed |= g->times[i].failed;
        ld_samples_fini(&g->times[i]);
    }
    for (int i = 0; i < BATON_N_STAGES; i++) {
        figures->stages[i] = ld_samples_summarize(&g->stages[i]);
        failed |= g->stages[i].failed;
        ld_samples_fini(&g->stages[i]);
    }
    qsort(figures->failures, (size_t)figures->n_failures, sizeof figures->failures[0],
          compare_failures);
    return failed ? BATON_NO_MEMORY : BATON_OK;
}

static void set_rates(struct gathering *g)
{
    struct ld_figures *figures = g->figures;
    double seconds = baton_seconds(g->to_ns - g->from_ns);
    figures->window_s = seconds;
    if (!(seconds > 0))
        return;
    figures->output_per_s = g->tokens_in / seconds;
    figures->prompt_per_s = g->prompts_in / seconds;
    figures->requests_per_s = g->done_in / seconds;
    figures->good_per_s = g->good_in / seconds;
}

enum baton_err ld_figures_make(const struct ld_records *records, const char *group, int64_t from_ns,
                               int64_t to_ns, const struct ld_slo *slo, struct ld_figures *figures)
{
    struct gathering g = {.figures = figures, .slo = slo, .from_ns = from_ns, .to_ns = to_ns};
    *figures = (struct ld_figures){.window_s = 0};
    for (size_t i = 0; i < records->n; i++) {
        const struct ld_record *record = records->items[i];
        if (strcmp(record->group, group) != 0)
            continue;
        count(&g, record);
        count_window(&g, record);
        if (record->outcome == LD_DONE)
            add_done(&g, record);
    }
    set_rates(&g);
    return summarize(&g);
}
