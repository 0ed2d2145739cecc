/* Recent arrivals: the rate of requests, and the mean work of a request.
 *
 * Every sum fades with the same time constant, half a minute. A mean is one sum divided by another,
 * and a rate is a count divided by the time that is remembered.
 *
 * Ownership: plain data; zeroed it has seen nothing.
 * Threading: pure functions of their arguments; times are baton_now_ns's.
 * Errors:    none.
 */
#ifndef BATON_GATEWAY_OBSERVE_ARRIVALS_H
#define BATON_GATEWAY_OBSERVE_ARRIVALS_H

#include <stdbool.h>
#include <stdint.h>

struct gw_arrivals {
    int64_t since_ns, seen_ns; /* 0: nothing was seen yet */
    double n_arrived, n_prompts, n_finished;
    double prefill_tokens;                /* of prompts, computed by prefill workers */
    double output_tokens, context_tokens; /* of finished requests; context: prompt and output */
};

/* Recent means per request. */
struct gw_arrivals_mean {
    double rate_per_s, prefill_tokens, output_tokens, context_tokens;
};

void gw_arrivals_arrived(struct gw_arrivals *arrivals, int64_t now_ns);
/* A prompt was computed; n_tokens of it by a prefill worker. */
void gw_arrivals_prompt(struct gw_arrivals *arrivals, double n_tokens, int64_t now_ns);
void gw_arrivals_finished(struct gw_arrivals *arrivals, double n_output, double n_context,
                          int64_t now_ns);

/* False, and *mean unchanged, if too few requests were seen. */
bool gw_arrivals_mean(const struct gw_arrivals *arrivals, int64_t now_ns,
                      struct gw_arrivals_mean *mean);

#endif
