/* A batch that is not over: its lines on the way, and what its files are to get.
 *
 * Ownership: a run belongs to its batch until finish.
 * Threading: loop thread.
 * Errors:    its batch fails.
 */
#ifndef BATON_GATEWAY_API_BATCHES_RUN_H
#define BATON_GATEWAY_API_BATCHES_RUN_H

#include "gateway/api/batches/batches.h"
#include "gateway/api/batches/work.h"

enum gw_batch_phase { GW_BATCH_RUNS, GW_BATCH_ENDS, GW_BATCH_HAS_ENDED };

struct gw_batch_run {
    struct gw_batches *batches;
    struct gw_batch *batch;
    struct gw_batch_work *work;
    struct gw_batch_lines lines; /* that wait or are on their way */
    struct gw_batch_lines answered;
    struct baton_buf journal;
    enum gw_batch_phase phase;
    enum gw_batch_status ends_as; /* the last status */
    bool must_stop;               /* no further line is sent */
    bool is_stepping;
    size_t n_in_flight;
};

/* NULL: no memory. */
struct gw_batch_run *gw_batch_run_create(struct gw_batches *batches, struct gw_batch *batch);
void gw_batch_run_free(struct gw_batch_run *run);

/* Its first line that may be sent now, NULL: none; sends it. */
struct gw_batch_line *gw_batch_run_ready(const struct gw_batch_run *run, int64_t now_ns);
void gw_batch_run_send(struct gw_batch_run *run, struct gw_batch_line *line);

/* Ends the lines that are on their way, and forgets those that wait. */
void gw_batch_run_drop_lines(struct gw_batch_run *run);

/* Ends it before its time. Takes ownership of the errors, which may be NULL. */
void gw_batch_run_stop(struct gw_batch_run *run, enum gw_batch_status ends_as,
                       struct baton_json *errors);

/* Whether libuv's pool has something to do for it; gives it to the pool. */
bool gw_batch_run_wants_step(const struct gw_batch_run *run);
void gw_batch_run_step(struct gw_batch_run *run);

#endif
