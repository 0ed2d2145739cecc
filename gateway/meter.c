#include "gateway/meter.h"

#include "common/base/clock.h"

enum { MIN_MARKS = 4 };

static const double lately_s = 4, moment_s = 4.0 / GW_METER_MARKS;

void gw_meter_pass(struct gw_meter *meter, int64_t now_ns)
{
    if (meter->n_open && now_ns > meter->seen_ns)
        meter->clock_s += baton_seconds(now_ns - meter->seen_ns);
    meter->seen_ns = now_ns;
}

void gw_meter_begin(struct gw_meter *meter, int64_t now_ns)
{
    gw_meter_pass(meter, now_ns);
    meter->n_open++;
}

void gw_meter_end(struct gw_meter *meter, int64_t now_ns)
{
    gw_meter_pass(meter, now_ns);
    meter->n_open--;
}

/* What comes within a moment is one mark, so that the marks reach back far enough. */
void gw_meter_note(struct gw_meter *meter, double done, int64_t now_ns)
{
    size_t last = (meter->n_marks - 1) % GW_METER_MARKS;
    gw_meter_pass(meter, now_ns);
    meter->done += done;
    if (!meter->n_marks || meter->clock_s - meter->marks[last].clock_s > moment_s) {
        last = meter->n_marks++ % GW_METER_MARKS;
        meter->marks[last].clock_s = meter->clock_s;
    }
    meter->marks[last].done = meter->done;
}

/* From the first mark that is old enough, or the oldest there is. */
double gw_meter_per_unit_s(const struct gw_meter *meter)
{
    double clock_s = 0, done = 0;
    for (uint64_t i = 1; i <= meter->n_marks && i <= GW_METER_MARKS; i++) {
        size_t at = (meter->n_marks - i) % GW_METER_MARKS;
        clock_s = meter->marks[at].clock_s;
        done = meter->marks[at].done;
        if (i > MIN_MARKS && meter->clock_s - clock_s >= lately_s)
            break;
        if (i == meter->n_marks)
            clock_s = done = 0; /* since the beginning */
    }
    done = meter->done - done;
    return (meter->clock_s - clock_s) / (done > 1 ? done : 1);
}
