#include "common/obs/hist.h"

const double baton_hist_bounds_s[BATON_HIST_BUCKETS] = {
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05,
    0.1,    0.25,    0.5,    1,     2.5,    5,     10,   30,    60};

void baton_hist_observe(struct baton_hist *hist, double seconds)
{
    /* Also true for NaN, which would spoil the sum for good. */
    if (!(seconds > 0))
        seconds = 0;
    int i = 0;
    while (i < BATON_HIST_BUCKETS && seconds > baton_hist_bounds_s[i])
        i++;
    hist->counts[i]++;
    hist->n++;
    hist->sum_s += seconds;
}
