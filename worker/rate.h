/* How fast something goes while it goes: the mean of the last seconds of work, idle time not
 * counted.
 *
 * Ownership: plain data; zeroed it knows nothing.
 * Threading: one thread.
 * Errors:    none.
 */
#ifndef BATON_WORKER_RATE_H
#define BATON_WORKER_RATE_H

struct baton_rate {
    double n, seconds; /* both fade alike */
    double busy_s;     /* in all */
};

/* n more were made within seconds of work. */
static inline void baton_rate_note(struct baton_rate *rate, double n, double seconds)
{
    static const double memory_s = 2;
    double kept = seconds < memory_s ? 1 - seconds / memory_s : 0;
    rate->n = rate->n * kept + n;
    rate->seconds = rate->seconds * kept + seconds;
    rate->busy_s += seconds;
}

/* 0: not known yet. */
static inline double baton_rate_per_s(const struct baton_rate *rate)
{
    return rate->seconds > 0 ? rate->n / rate->seconds : 0;
}

#endif
