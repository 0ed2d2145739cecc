/* Decides how many requests of a batch are in flight: as many as the server accepts.
 *
 *     refused (429, 503)  limit = the number of the other requests in flight, which were accepted
 *     answered            limit grows by 1 / limit, up to the most
 *
 * This is the additive increase of TCP (RFC 5681). A refused request itself waits for its
 * Retry-After.
 *
 * Pure.
 */
#ifndef BATON_COMMON_BATCH_PACE_H
#define BATON_COMMON_BATCH_PACE_H

#include <stdbool.h>

struct baton_pace {
    int n_most, n_in_flight;
    double limit;
};

/* n_most >= 1. */
struct baton_pace baton_pace_of(int n_most);

/* True when one more request may be sent; begin counts it. */
bool baton_pace_may_begin(const struct baton_pace *pace);
void baton_pace_begin(struct baton_pace *pace);

/* Ends one request: it was answered, refused, or failed with its connection. */
void baton_pace_answered(struct baton_pace *pace);
void baton_pace_refused(struct baton_pace *pace);
void baton_pace_failed(struct baton_pace *pace);

/* Returns the wait before a try: retry_after_s if the server gave it (>= 0), otherwise 1 s at first
 * and twice as long each time. At most 60 s. */
double baton_pace_wait_s(double retry_after_s, int n_tries);

#endif
