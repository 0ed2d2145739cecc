/* All batches, and their lines on the way: as many at a time as the fleet takes (pace.h), at most
 * n_lines. A line is a request of batch priority. The next one is of the API key that has the
 * fewest on their way.
 *
 *     refused (429, 503)  the line is sent again, after its Retry-After
 *     500, 502            again, three times in all
 *     anything else       its answer
 *
 * Ownership: the table owns its batches; one that is found is borrowed until it is removed.
 * Threading: loop thread; files are read and written by libuv's pool, one step at a time.
 * Errors:    a batch whose files fail ends as failed.
 */
#ifndef BATON_GATEWAY_API_BATCHES_BATCHES_H
#define BATON_GATEWAY_API_BATCHES_BATCHES_H

#include "common/batch/pace.h"
#include "gateway/api/api.h"
#include "gateway/api/batches/batch.h"

enum {
    GW_MAX_OPEN_BATCHES = 128,   /* not over, of all keys */
    GW_MAX_OPEN_OF_KEY = 32,     /* of one key, if there are keys */
    GW_MAX_BATCHES_OF_KEY = 256, /* beyond it the oldest that is over is forgotten */
};

struct gw_batches {
    struct gw_api *api;
    struct gw_batch_list list;   /* the oldest first */
    struct gw_open_batches open; /* those that are not over, in the order of their turns */
    size_t n_pending;            /* whose files are being written */
    struct baton_pace pace;
    bool is_stepping, is_stopping;
};

/* Loads the batches of the disk; those that are not over go on. api->files is open. NULL: no
 * memory. */
struct gw_batches *gw_batches_create(struct gw_api *api, int n_lines);
/* Ends all lines on their way, which the next gateway sends again. Answers are still written. */
void gw_batches_stop(struct gw_batches *batches);
/* After the loop's end. NULL is fine. */
void gw_batches_destroy(struct gw_batches *batches);

/* Starts a batch whose files were written. Takes ownership. */
void gw_batches_add(struct gw_batches *batches, struct gw_batch *batch);
/* The owner's batch with that id; NULL: none. */
struct gw_batch *gw_batches_find(const struct gw_batches *batches, const struct gw_owner *owner,
                                 const char *id);
/* Whether the owner may begin another one. */
bool gw_batches_may_add(const struct gw_batches *batches, const struct gw_owner *owner);
/* Cancels one that is not over. */
void gw_batches_cancel(struct gw_batches *batches, struct gw_batch *batch);
/* Forgets one that is over; the files of one of Anthropic's go with it. */
void gw_batches_remove(struct gw_batches *batches, struct gw_batch *batch);

/* For run.c: the batch is over, and its last status is on the disk. */
void gw_batches_finish(struct gw_batches *batches, struct gw_batch *batch);

/* Sends lines, and ends batches whose window is over. */
void gw_batches_tick(struct gw_batches *batches, int64_t now_ns);

#endif
