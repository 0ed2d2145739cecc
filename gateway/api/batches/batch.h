/* A batch: a file of requests that the gateway sends to itself, and the files of their answers.
 *
 *     VALIDATING --a line is wrong--> FAILED
 *       +--> IN_PROGRESS --every line is answered--> FINALIZING --> COMPLETED
 *              +--its client cancels it--> CANCELLING --> CANCELLED
 *              +--its window is over-----> FINALIZING --> EXPIRED
 *
 * Its file on the disk (disk.h) is named as the batch: the header says what was asked for, and each
 * line of its contents a status that began. Which lines are answered stands in the answers' files
 * alone. So a gateway that dies and comes back continues: a line has one answer there, or none yet.
 *
 * Ownership: a batch belongs to the table of all (batches.h).
 * Threading: loop thread.
 * Errors:    load: INVALID.
 */
#ifndef BATON_GATEWAY_API_BATCHES_BATCH_H
#define BATON_GATEWAY_API_BATCHES_BATCH_H

#include "gateway/api/files/files.h"

#define GW_BATCH_STATUSES(X)                                                                       \
    X(validating)                                                                                  \
    X(failed)                                                                                      \
    X(in_progress) X(finalizing) X(completed) X(expired) X(cancelling) X(cancelled)

enum gw_batch_status {
#define X(name) GW_BATCH_##name,
    GW_BATCH_STATUSES(X)
#undef X
        GW_N_BATCH_STATUSES
};

enum { GW_BATCH_MAX_LINES = 50000, GW_BATCH_ENDPOINT_BYTES = 64, GW_BATCH_WINDOW_BYTES = 16 };

struct gw_batch_run;

struct gw_batch {
    struct baton_node in_batches;
    struct gw_owner owner;
    char id[GW_FILE_ID_BYTES];
    char input[GW_FILE_ID_BYTES], output[GW_FILE_ID_BYTES], error[GW_FILE_ID_BYTES];
    char endpoint[GW_BATCH_ENDPOINT_BYTES], window[GW_BATCH_WINDOW_BYTES];
    struct baton_json *metadata; /* NULL: none */
    int64_t created_s, expires_s;

    enum gw_batch_status status;
    int64_t at_s[GW_N_BATCH_STATUSES]; /* when each began; 0: it did not */
    struct baton_json *errors;         /* why it failed, an array; NULL: it did not */
    uint64_t total, completed, failed; /* lines; failed: those in the file of errors */
    uint64_t left;                     /* of failed: canceled or expired without an answer */

    struct gw_batch_run *run;  /* NULL: it is over */
    struct baton_node in_open; /* while it has a run */
};

BATON_LIST(gw_batch_list, struct gw_batch, in_batches)
BATON_LIST(gw_open_batches, struct gw_batch, in_open)

const char *gw_batch_status_name(enum gw_batch_status status);
bool gw_batch_is_over(const struct gw_batch *batch);
/* What clients are told: the last status once it is on the disk. */
enum gw_batch_status gw_batch_shown_status(const struct gw_batch *batch);
/* Whether it is one of Anthropic's. */
bool gw_batch_is_of_messages(const struct gw_batch *batch);
void gw_batch_free(struct gw_batch *batch);

/* Sets the status, and appends the line that says so to the journal. */
void gw_batch_set(struct gw_batch *batch, enum gw_batch_status status, struct baton_buf *journal);

/* The header of its file. */
void gw_batch_put_header(struct baton_buf *header, const struct gw_batch *batch);
/* Reads its file. NULL: it is damaged, or there is no memory. */
struct gw_batch *gw_batch_load(const struct gw_disk *disk, const char *name);

#endif
