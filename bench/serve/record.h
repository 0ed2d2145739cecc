/* What is known of one request: when what came, and what the server said about itself.
 *
 * Ownership: records belong to their table; arrivals to the record.
 * Threading: the loop's.
 * Errors:    NULL or false when memory is out.
 */
#ifndef BATON_BENCH_SERVE_RECORD_H
#define BATON_BENCH_SERVE_RECORD_H

#include "bench/serve/workload.h"
#include "common/obs/stage.h"

enum sv_outcome {
    SV_PENDING,
    SV_DONE,     /* the whole answer came */
    SV_FAILED,   /* it did not; `failure` says why */
    SV_CANCELED, /* we left, as planned */
    SV_CUT,      /* we left because the run was over */
    SV_N_OUTCOMES
};

enum { SV_FAILURE_BYTES = 96, SV_FINISH_BYTES = 16 };

/* Negative: not said. */
struct sv_server_view {
    int64_t prompt_tokens, output_tokens, cached_tokens;
    double ttft_s, e2el_s, tpot_s;
    double stages_s[BATON_N_STAGES];
    char finish[SV_FINISH_BYTES];
};

/* Times are of the monotonic clock; 0: did not happen. */
struct sv_record {
    struct sv_plan plan;
    int run;              /* which one of the command */
    const char *group;    /* its source's name */
    int64_t start_ns;     /* when it was due: what a user waits from */
    int64_t sent_ns;      /* when its last attempt was begun: a connection taken or asked for */
    int64_t first_ns;     /* first token */
    int64_t finished_ns;  /* the event that says that generation is over */
    int64_t end_ns;       /* of the answer, or of our patience */
    int64_t *arrivals_ns; /* of events with text, one or more tokens each */
    int64_t n_arrivals, cap_arrivals;
    int64_t n_coalesced;       /* of those, the ones that one read brought with the one before */
    int n_attempts, n_refused; /* attempts; of these, 429s */
    int status;                /* HTTP, of the last attempt; 0: none came */
    double retry_after_s;      /* the last answer's; < 0: none */
    enum sv_outcome outcome;
    char failure[SV_FAILURE_BYTES];
    struct sv_server_view server;
};

struct sv_records {
    struct sv_record **items;
    size_t n, cap;
};

/* A new record at the end of the table. */
struct sv_record *sv_records_add(struct sv_records *records);
void sv_records_fini(struct sv_records *records);

/* Forgets what the last attempt brought. */
void sv_record_begin_attempt(struct sv_record *record, int64_t now_ns);
/* An event with text came at now_ns. */
bool sv_record_arrival(struct sv_record *record, int64_t now_ns);

/* Tokens of the answer: as the server counted, else events. */
int64_t sv_record_output_tokens(const struct sv_record *record);
/* As the server counted, else as planned; 0: unknown. */
int64_t sv_record_prompt_tokens(const struct sv_record *record);
const char *sv_outcome_name(enum sv_outcome outcome);

/* Seconds, NAN when there is none. */
double sv_record_ttft_s(const struct sv_record *record);
double sv_record_e2el_s(const struct sv_record *record);
double sv_record_tpot_s(const struct sv_record *record);
/* Greatest gap between two arrivals; 0 with fewer than two. */
double sv_record_max_gap_s(const struct sv_record *record);

#endif
