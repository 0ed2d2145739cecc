/* The part of a batch that reads and writes its files, on libuv's pool, a step at a time.
 *
 *     step: open the files, unless they are open: check the requests, find those with an answer
 *           append answers; the rest of the lines, if it stops; the journal
 *           force them to the disk
 *           read further lines
 *
 * Ownership: a work owns its lines until the loop takes them.
 * Threading: the loop's, but the pool's during a step.
 * Errors:    in err and why; requests that are not valid are in errors.
 */
#ifndef BATON_GATEWAY_API_BATCHES_WORK_H
#define BATON_GATEWAY_API_BATCHES_WORK_H

#include <uv.h>

#include "common/batch/lines.h"
#include "common/batch/request.h"
#include "gateway/api/batches/batch.h"

/* A request on its way. */
struct gw_batch_line {
    struct baton_node in_list;
    struct gw_batch *batch;
    struct baton_batch_request request;
    struct gw_exchange *exchange; /* NULL: it waits */
    int n_tries;
    int64_t not_before_ns;
    int status; /* of the answer, with its id and its body */
    char request_id[BATON_BATCH_ID_BYTES];
    struct baton_buf answer;
};

BATON_LIST(gw_batch_lines, struct gw_batch_line, in_list)

struct gw_batch_work {
    uv_work_t work;
    struct gw_batch *batch;
    const struct gw_disk *disk;

    /* in */
    struct gw_batch_lines answers;
    struct baton_buf journal;
    const char *rest_reason; /* lines without an answer get this error; NULL: none yet */
    size_t n_wanted;
    bool is_over; /* nothing is left to do but the journal */

    /* out */
    struct gw_batch_lines read;
    uint64_t total, completed, failed, left; /* as of batch */
    uint64_t output_bytes, error_bytes;      /* of the files' contents */
    struct baton_json *errors;               /* NULL: none */
    enum baton_err err;
    struct baton_why why;
    bool has_read_all;

    /* the pool's */
    bool is_open;
    struct gw_disk_file input, output, error, log;
    struct baton_lines *lines;
    uint8_t *done; /* a bit for each line */
};

/* NULL: no memory. */
struct gw_batch_work *gw_batch_work_create(struct gw_batch *batch, const struct gw_disk *disk);
void gw_batch_work_free(struct gw_batch_work *work);
/* The pool's function; work->data is a struct gw_batch_work. */
void gw_batch_work_step(uv_work_t *work);

void gw_batch_line_free(struct gw_batch_line *line);

#endif
