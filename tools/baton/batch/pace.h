/* How many requests of a batch are in flight: as many as the server takes.
 *
 *     refused (429, 503)  no more than those beside it, that the server did take
 *     answered            1 / limit more, up to the most
 *
 * Additive increase as in TCP (RFC 5681). A refused request itself waits for its Retry-After.
 *
 * Pure.
 */
#ifndef BATON_TOOLS_BATON_BATCH_PACE_H
#define BATON_TOOLS_BATON_BATCH_PACE_H

#include <stdbool.h>

struct bt_pace {
    int n_most, n_in_flight;
    double limit;
};

/* n_most >= 1. */
struct bt_pace bt_pace_of(int n_most);

/* Whether one more may be sent; begin counts it. */
bool bt_pace_may_begin(const struct bt_pace *pace);
void bt_pace_begin(struct bt_pace *pace);

/* One is over: it was answered, refused, or neither (the connection failed). */
void bt_pace_answered(struct bt_pace *pace);
void bt_pace_refused(struct bt_pace *pace);
void bt_pace_failed(struct bt_pace *pace);

/* How long to wait before a try: retry_after_s as the server said, else (< 0) 1 s at first and
 * twice as long each time. At most 60 s. */
double bt_pace_wait_s(double retry_after_s, int n_tries);

#endif
