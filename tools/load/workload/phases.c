#include "tools/load/workload/phases.h"

#include <math.h>
#include <string.h>

#include "common/base/clock.h"

static void add_gaps(struct ld_samples *gaps, const struct ld_record *record, int64_t from_ns,
                     int64_t to_ns)
{
    const int64_t *arrivals_ns = record->arrivals_ns;
    for (int64_t i = 1; i < record->n_arrivals; i++)
        if (arrivals_ns[i - 1] >= from_ns && arrivals_ns[i] <= to_ns)
            ld_samples_add(gaps, baton_seconds(arrivals_ns[i] - arrivals_ns[i - 1]));
}

static uint64_t count_above(const struct ld_samples *gaps, double seconds)
{
    uint64_t n = 0;
    for (size_t i = 0; i < gaps->n; i++)
        n += gaps->values[i] > seconds;
    return n;
}

enum baton_err ld_phase_make(const struct ld_records *records, const char *group, int64_t from_ns,
                             int64_t to_ns, struct ld_phase *phase)
{
    struct ld_samples gaps = {0};
    uint64_t n_begun = 0;
    for (size_t i = 0; i < records->n; i++) {
        const struct ld_record *record = records->items[i];
        if (strcmp(record->group, group) != 0)
            continue;
        add_gaps(&gaps, record, from_ns, to_ns);
        n_begun += record->start_ns >= from_ns && record->start_ns <= to_ns;
    }
    struct ld_summary itl = ld_samples_summarize(&gaps);
    *phase = (struct ld_phase){.itl = itl,
                               .max_steps = itl.p50 > 0 ? itl.max / itl.p50 : NAN,
                               .n_stalls = count_above(&gaps, LD_STALL_STEPS * itl.p50),
                               .n_readers_begun = n_begun};
    bool failed = gaps.failed;
    ld_samples_fini(&gaps);
    return failed ? BATON_NO_MEMORY : BATON_OK;
}
