/* A trace that is taken has rows in order, lengths in range and hashes that are there. */
#include "tests/fuzz/fuzz.h"

#include "tools/load/workload/lengths.h"
#include "tools/load/workload/trace.h"

static void check_trace(const struct ld_trace *trace)
{
    double last_s = 0;
    for (size_t i = 0; i < trace->n; i++) {
        const struct ld_trace_row *row = &trace->rows[i];
        check(row->arrival_s >= last_s && row->input_tokens >= 1 && row->output_tokens >= 1 &&
              row->input_tokens <= LD_MAX_TOKENS && row->output_tokens <= LD_MAX_TOKENS &&
              row->first_hash + row->n_hashes <= trace->n_hashes);
        last_s = row->arrival_s;
    }
    check(trace->n && trace->rows[0].arrival_s <= 0);
}

FUZZ(data, size)
{
    struct ld_trace trace = {.n = 0};
    struct baton_why why;
    if (ld_trace_parse("fuzz", (const char *)data, size, &trace, &why)) {
        check(!trace.n);
        return;
    }
    check_trace(&trace);
    ld_trace_fini(&trace);
}
