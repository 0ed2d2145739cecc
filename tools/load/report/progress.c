#include "tools/load/report/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "common/base/clock.h"

enum { PERIOD_MS = 250 };

static uint64_t count_tokens(const struct ld_load *load)
{
    uint64_t n = load->n_over_tokens;
    for (struct ld_call *call = ld_call_list_first(&load->running); call;
         call = ld_call_list_next(&load->running, call))
        n += (uint64_t)call->record->n_arrivals;
    return n;
}

static void on_timer(uv_timer_t *timer)
{
    struct ld_progress *progress = timer->data;
    const struct ld_load *load = progress->load;
    int64_t now_ns = baton_now_ns();
    uint64_t n_tokens = count_tokens(load), n_planned = 0;
    double seconds = baton_seconds(now_ns - progress->at_ns);
    for (int i = 0; i < load->n_sources; i++)
        n_planned += (uint64_t)load->sources[i].n_requests;
    (void)fprintf(stderr, "\r\x1b[K%s: %.0f s, %" PRIu64, progress->title,
                  baton_seconds(now_ns - load->began_ns), load->n_by_outcome[LD_DONE]);
    if (n_planned)
        (void)fprintf(stderr, " of %" PRIu64, n_planned);
    (void)fprintf(stderr, " done, %zu under way, %zu waiting, %" PRIu64 " failed, %.0f tokens/s",
                  load->running.n, load->waiting.n, load->n_by_outcome[LD_FAILED],
                  (double)(n_tokens - progress->n_tokens) / seconds);
    (void)fflush(stderr);
    progress->n_tokens = n_tokens;
    progress->at_ns = now_ns;
}

void ld_progress_start(struct ld_progress *progress, const struct ld_load *load, const char *title,
                       bool quiet)
{
    *progress = (struct ld_progress){.load = load,
                                     .title = title,
                                     .shown = !quiet && isatty(STDERR_FILENO),
                                     .at_ns = baton_now_ns()};
    if (!progress->shown)
        return;
    (void)uv_timer_init(load->loop, &progress->timer);
    progress->timer.data = progress;
    (void)uv_timer_start(&progress->timer, on_timer, PERIOD_MS, PERIOD_MS);
}

void ld_progress_stop(struct ld_progress *progress)
{
    if (!progress->shown)
        return;
    (void)fprintf(stderr, "\r\x1b[K");
    uv_close((uv_handle_t *)&progress->timer, NULL);
}
