#include "gateway/observe/arrivals.h"

#include <math.h>

#include "common/base/clock.h"

/* Fewer requests than this have no mean. A faded request counts as a fraction. */
enum { MIN_REQUESTS = 6 };

static const double memory_s = 30;

static double kept_after(int64_t ns)
{
    return exp(-baton_seconds(ns) / memory_s);
}

static void fade(struct gw_arrivals *arrivals, int64_t now_ns)
{
    if (!arrivals->since_ns)
        arrivals->since_ns = arrivals->seen_ns = now_ns;
    double kept = kept_after(now_ns - arrivals->seen_ns);
    arrivals->seen_ns = now_ns;
    arrivals->n_arrived *= kept;
    arrivals->n_prompts *= kept;
    arrivals->n_finished *= kept;
    arrivals->prefill_tokens *= kept;
    arrivals->output_tokens *= kept;
    arrivals->context_tokens *= kept;
}

void gw_arrivals_arrived(struct gw_arrivals *arrivals, int64_t now_ns)
{
    fade(arrivals, now_ns);
    arrivals->n_arrived++;
}

void gw_arrivals_prompt(struct gw_arrivals *arrivals, double n_tokens, int64_t now_ns)
{
    fade(arrivals, now_ns);
    arrivals->n_prompts++;
    arrivals->prefill_tokens += n_tokens;
}

void gw_arrivals_finished(struct gw_arrivals *arrivals, double n_output, double n_context,
                          int64_t now_ns)
{
    fade(arrivals, now_ns);
    arrivals->n_finished++;
    arrivals->output_tokens += n_output;
    arrivals->context_tokens += n_context;
}

bool gw_arrivals_mean(const struct gw_arrivals *arrivals, int64_t now_ns,
                      struct gw_arrivals_mean *mean)
{
    struct gw_arrivals now = *arrivals; /* a reader must not change the sums */
    fade(&now, now_ns);
    /* The integral of the weights since the first event: memory_s after a long time, and about the
     * elapsed time at first, so that a rate is right from the start. */
    double remembered_s = memory_s * (1 - kept_after(now_ns - now.since_ns));
    if (now.n_prompts < MIN_REQUESTS || now.n_finished < MIN_REQUESTS || !(remembered_s > 0))
        return false;
    *mean = (struct gw_arrivals_mean){.rate_per_s = now.n_arrived / remembered_s,
                                      .prefill_tokens = now.prefill_tokens / now.n_prompts,
                                      .output_tokens = now.output_tokens / now.n_finished,
                                      .context_tokens = now.context_tokens / now.n_finished};
    return true;
}
