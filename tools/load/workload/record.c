#include "tools/load/workload/record.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "common/base/clock.h"

struct ld_record *ld_records_add(struct ld_records *records)
{
    if (BATON_RESERVE(records->items, records->cap, records->n + 1))
        return NULL;
    struct ld_record *record = calloc(1, sizeof *record);
    if (record)
        records->items[records->n++] = record;
    return record;
}

void ld_records_fini(struct ld_records *records)
{
    for (size_t i = 0; i < records->n; i++) {
        free(records->items[i]->arrivals_ns);
        free(records->items[i]);
    }
    free(records->items);
    *records = (struct ld_records){0};
}

void ld_record_begin_attempt(struct ld_record *record, int64_t now_ns)
{
    record->sent_ns = now_ns;
    record->first_ns = record->finished_ns = record->end_ns = 0;
    record->n_arrivals = record->n_coalesced = 0;
    record->status = 0;
    record->retry_after_s = -1;
    record->failure[0] = 0;
    record->n_attempts++;
    record->server = (struct ld_server_view){.prompt_tokens = -1,
                                             .output_tokens = -1,
                                             .cached_tokens = -1,
                                             .ttft_s = -1,
                                             .e2el_s = -1,
                                             .tpot_s = -1,
                                             .overlap_s = -1};
    for (int i = 0; i < BATON_N_STAGES; i++)
        record->server.stages_s[i] = -1;
}

bool ld_record_arrival(struct ld_record *record, int64_t now_ns)
{
    if (BATON_RESERVE(record->arrivals_ns, record->cap_arrivals, (size_t)record->n_arrivals + 1))
        return false;
    /* Events of one read share its time, and would show as gaps of 0. */
    if (record->n_arrivals && record->arrivals_ns[record->n_arrivals - 1] == now_ns)
        record->n_coalesced++;
    record->arrivals_ns[record->n_arrivals++] = now_ns;
    return true;
}

int64_t ld_record_output_tokens(const struct ld_record *record)
{
    return record->server.output_tokens >= 0 ? record->server.output_tokens : record->n_arrivals;
}

int64_t ld_record_prompt_tokens(const struct ld_record *record)
{
    if (record->server.prompt_tokens >= 0)
        return record->server.prompt_tokens;
    return record->plan.prompt_tokens;
}

const char *ld_outcome_name(enum ld_outcome outcome)
{
    static const char *const names[] = {"pending", "done", "failed", "canceled", "cut"};
    return names[outcome];
}

static double between(int64_t from_ns, int64_t to_ns)
{
    return to_ns ? baton_seconds(to_ns - from_ns) : NAN;
}

double ld_record_ttft_s(const struct ld_record *record)
{
    return between(record->start_ns, record->first_ns);
}

double ld_record_e2el_s(const struct ld_record *record)
{
    return between(record->start_ns, record->finished_ns);
}

double ld_record_tpot_s(const struct ld_record *record)
{
    int64_t n = ld_record_output_tokens(record);
    if (n < 2 || !record->first_ns || !record->finished_ns)
        return NAN;
    return between(record->first_ns, record->finished_ns) / (double)(n - 1);
}

double ld_record_max_gap_s(const struct ld_record *record)
{
    int64_t max_ns = 0;
    for (int64_t i = 1; i < record->n_arrivals; i++)
        if (record->arrivals_ns[i] - record->arrivals_ns[i - 1] > max_ns)
            max_ns = record->arrivals_ns[i] - record->arrivals_ns[i - 1];
    return baton_seconds(max_ns);
}
