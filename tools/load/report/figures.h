/* The figures of one run, computed from its records.
 *
 * Times are of requests that are done. Rates count the events within the window, from the first
 * start to the last end, or for --duration.
 *
 * Ownership: plain values.
 * Threading: the main thread.
 * Errors:    NO_MEMORY.
 */
#ifndef BATON_TOOLS_LOAD_REPORT_FIGURES_H
#define BATON_TOOLS_LOAD_REPORT_FIGURES_H

#include "tools/load/workload/record.h"
#include "tools/load/workload/samples.h"
#include "tools/load/workload/slo.h"

enum { LD_MAX_FAILURES = 32 };

struct ld_failure {
    char text[LD_FAILURE_BYTES];
    uint64_t n;
};

/* Each figure: its name, its title in the report, and its meaning. */
#define LD_TIMES(X)                                                                                \
    X(ttft, "TTFT", "due to first token")                                                          \
    X(itl, "ITL", "between two events with text")                                                  \
    X(first_gap, "first gap", "first event with text to second")                                   \
    X(tpot, "TPOT", "(end - first token) / (tokens - 1)")                                          \
    X(e2el, "E2EL", "due to end")                                                                  \
    X(late, "late", "due to sent, which the figures above include")                                \
    X(ttft_cold, "TTFT cold", "of requests without cached tokens")                                 \
    X(ttft_warm, "TTFT warm", "of those with")                                                     \
    X(server_ttft, "server TTFT", "as it says (llama.cpp: its prompt's)")                          \
    X(server_tpot, "server TPOT", "as it says")                                                    \
    X(server_e2el, "server E2EL", "as it says")                                                    \
    X(server_overlap, "server overlap", "that two of its stages count")                            \
    X(over_ttft, "TTFT beyond", "sent to first token, less the server's")                          \
    X(over_tpot, "TPOT beyond", "less the server's")                                               \
    X(over_e2el, "E2EL beyond", "sent to end, less the server's")                                  \
    X(step, "engine step", "the decode stage / (tokens - 1)")                                      \
    X(over_step, "step to token", "TPOT less the engine's step")

enum ld_time {
#define X(name, title, help) LD_TIME_##name,
    LD_TIMES(X)
#undef X
        LD_N_TIMES
};

/* Return "ttft" and "TTFT". */
const char *ld_time_key(enum ld_time time);
const char *ld_time_title(enum ld_time time);

struct ld_figures {
    double window_s;
    uint64_t n_sent, n_by_outcome[LD_N_OUTCOMES];
    uint64_t n_attempts, n_refused;           /* refused: 429s */
    uint64_t n_short;                         /* done with fewer tokens than planned */
    uint64_t n_clipped;                       /* by --max-total-tokens */
    uint64_t n_cold, n_warm;                  /* done, by the server's cached_tokens */
    uint64_t prompt_tokens, cached_tokens;    /* of requests that got a first token */
    uint64_t output_tokens;                   /* of all */
    uint64_t n_events, n_merged, n_coalesced; /* merged: tokens without their own event */
    double output_per_s, prompt_per_s, requests_per_s;
    uint64_t n_good; /* done within the SLO */
    double good_per_s;
    struct ld_summary times[LD_N_TIMES]; /* seconds */
    struct ld_summary stages[BATON_N_STAGES];
    struct ld_failure failures[LD_MAX_FAILURES]; /* most frequent first */
    int n_failures;
};

/* Computes the figures of one group's records. from_ns..to_ns is the window. */
enum baton_err ld_figures_make(const struct ld_records *records, const char *group, int64_t from_ns,
                               int64_t to_ns, const struct ld_slo *slo,
                               struct ld_figures *figures) BATON_MUST_CHECK;

/* True when a request is done within the bounds. */
bool ld_is_good(const struct ld_record *record, const struct ld_slo *slo);

#endif
