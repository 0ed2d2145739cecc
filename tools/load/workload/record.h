/* One request: the times of its events, and what the server reported about itself.
 *
 * Ownership: records belong to their table; arrivals to the record.
 * Threading: the loop's.
 * Errors:    NULL or false when memory is out.
 */
#ifndef BATON_TOOLS_LOAD_WORKLOAD_RECORD_H
#define BATON_TOOLS_LOAD_WORKLOAD_RECORD_H

#include "common/obs/stage.h"
#include "tools/load/workload/workload.h"

enum ld_outcome {
    LD_PENDING,
    LD_DONE,     /* the whole answer came */
    LD_FAILED,   /* it did not; `failure` says why */
    LD_CANCELED, /* we left, as planned */
    LD_CUT,      /* we left because the run was over */
    LD_N_OUTCOMES
};

enum { LD_FAILURE_BYTES = 96, LD_FINISH_BYTES = 16 };

/* Negative: not said. */
struct ld_server_view {
    int64_t prompt_tokens, output_tokens, cached_tokens;
    double ttft_s, e2el_s, tpot_s;
    double stages_s[BATON_N_STAGES];
    char finish[LD_FINISH_BYTES];
};

/* Times are of the monotonic clock; 0: did not happen. */
struct ld_record {
    struct ld_plan plan;
    int run;              /* which one of the command */
    const char *group;    /* its source's name */
    int64_t start_ns;     /* when it was due: what a user waits from */
    int64_t sent_ns;      /* when its last attempt was begun: a connection taken or asked for */
    int64_t first_ns;     /* first token */
    int64_t finished_ns;  /* the event that says that generation is over */
    int64_t end_ns;       /* of the answer, or when the client gave up */
    int64_t *arrivals_ns; /* of events with text, one or more tokens each */
    int64_t n_arrivals, cap_arrivals;
    int64_t n_coalesced;       /* of those, the ones that one read brought with the one before */
    int n_attempts, n_refused; /* attempts; of these, 429s */
    int status;                /* HTTP, of the last attempt; 0: none came */
    double retry_after_s;      /* the last answer's; < 0: none */
    enum ld_outcome outcome;
    char failure[LD_FAILURE_BYTES];
    struct ld_server_view server;
};

struct ld_records {
    struct ld_record **items;
    size_t n, cap;
};

/* A new record at the end of the table. */
struct ld_record *ld_records_add(struct ld_records *records);
void ld_records_fini(struct ld_records *records);

/* Forgets what the last attempt brought. */
void ld_record_begin_attempt(struct ld_record *record, int64_t now_ns);
/* An event with text came at now_ns. */
bool ld_record_arrival(struct ld_record *record, int64_t now_ns);

/* Tokens of the answer: as the server counted, else events. */
int64_t ld_record_output_tokens(const struct ld_record *record);
/* As the server counted, else as planned; 0: unknown. */
int64_t ld_record_prompt_tokens(const struct ld_record *record);
const char *ld_outcome_name(enum ld_outcome outcome);

/* Seconds, NAN when there is none. */
double ld_record_ttft_s(const struct ld_record *record);
double ld_record_e2el_s(const struct ld_record *record);
double ld_record_tpot_s(const struct ld_record *record);
/* Greatest gap between two arrivals; 0 with fewer than two. */
double ld_record_max_gap_s(const struct ld_record *record);

#endif
