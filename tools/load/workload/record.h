/* One request: the times of its events, and the figures that the server reported.
 *
 * Ownership: records belong to their table; arrivals to the record.
 * Threading: the loop's.
 * Errors:    NULL or false without memory.
 */
#ifndef BATON_TOOLS_LOAD_WORKLOAD_RECORD_H
#define BATON_TOOLS_LOAD_WORKLOAD_RECORD_H

#include "common/obs/stage.h"
#include "tools/load/workload/workload.h"

enum ld_outcome {
    LD_PENDING,
    LD_DONE,     /* the whole answer arrived */
    LD_FAILED,   /* it did not arrive; `failure` holds the reason */
    LD_CANCELED, /* we left, as planned */
    LD_CUT,      /* we left because the run was over */
    LD_N_OUTCOMES
};

enum { LD_FAILURE_BYTES = 96, LD_FINISH_BYTES = 16 };

/* The server's figures. Negative: not reported. */
struct ld_server_view {
    int64_t prompt_tokens, output_tokens, cached_tokens;
    double ttft_s, e2el_s, tpot_s, overlap_s;
    double stages_s[BATON_N_STAGES];
    char finish[LD_FINISH_BYTES];
};

/* Times are of the monotonic clock; 0: the event did not happen. */
struct ld_record {
    struct ld_plan plan;
    int run;              /* number of the run */
    const char *group;    /* name of its source */
    int64_t start_ns;     /* when it was due: a user's wait begins here */
    int64_t sent_ns;      /* begin of its last attempt, when a connection was taken or requested */
    int64_t first_ns;     /* first token */
    int64_t finished_ns;  /* the event that reports the end of the generation */
    int64_t end_ns;       /* end of the answer, or when the client gave up */
    int64_t *arrivals_ns; /* of events with text, one or more tokens each */
    int64_t n_arrivals;
    size_t cap_arrivals;
    int64_t n_coalesced;       /* arrivals that came in one read with the one before */
    int n_attempts, n_refused; /* n_attempts includes n_refused, the 429s */
    int status;                /* HTTP status of the last attempt; 0: none arrived */
    double retry_after_s;      /* from the last answer; < 0: none */
    enum ld_outcome outcome;
    char failure[LD_FAILURE_BYTES];
    struct ld_server_view server;
};

struct ld_records {
    struct ld_record **items;
    size_t n, cap;
};

/* Adds a record at the end of the table. */
struct ld_record *ld_records_add(struct ld_records *records);
void ld_records_fini(struct ld_records *records);

/* Clears the results of the last attempt. */
void ld_record_begin_attempt(struct ld_record *record, int64_t now_ns);
/* Adds an event with text that arrived at now_ns. */
bool ld_record_arrival(struct ld_record *record, int64_t now_ns);

/* Returns the tokens of the answer as the server counted them, otherwise the number of events. */
int64_t ld_record_output_tokens(const struct ld_record *record);
/* Returns the prompt's tokens as the server counted them, otherwise as planned; 0: unknown. */
int64_t ld_record_prompt_tokens(const struct ld_record *record);
const char *ld_outcome_name(enum ld_outcome outcome);

/* These return seconds; NAN when there is no such time. */
double ld_record_ttft_s(const struct ld_record *record);
double ld_record_e2el_s(const struct ld_record *record);
double ld_record_tpot_s(const struct ld_record *record);
/* Returns the greatest gap between two arrivals; 0 with fewer than two. */
double ld_record_max_gap_s(const struct ld_record *record);

#endif
