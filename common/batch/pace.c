#include "common/batch/pace.h"

#include <math.h>

enum { MOST_WAIT_S = 60, MOST_DOUBLINGS = 6 };

struct baton_pace baton_pace_of(int n_most)
{
    return (struct baton_pace){.n_most = n_most, .limit = n_most};
}

bool baton_pace_may_begin(const struct baton_pace *pace)
{
    return pace->n_in_flight + 1 <= pace->limit;
}

void baton_pace_begin(struct baton_pace *pace)
{
    pace->n_in_flight++;
}

void baton_pace_answered(struct baton_pace *pace)
{
    pace->n_in_flight--;
    pace->limit = fmin(pace->limit + 1 / pace->limit, pace->n_most);
}

void baton_pace_refused(struct baton_pace *pace)
{
    pace->n_in_flight--;
    /* The server accepted those that are still in flight, so their number is what it can hold. */
    pace->limit = fmax(fmin(pace->limit, pace->n_in_flight), 1);
}

void baton_pace_failed(struct baton_pace *pace)
{
    pace->n_in_flight--;
}

double baton_pace_wait_s(double retry_after_s, int n_tries)
{
    /* retry_after_s is negative if the server gave none. */
    double backoff_s = ldexp(1, n_tries < MOST_DOUBLINGS ? n_tries : MOST_DOUBLINGS);
    return fmin(retry_after_s >= 0 ? retry_after_s : backoff_s, MOST_WAIT_S);
}
