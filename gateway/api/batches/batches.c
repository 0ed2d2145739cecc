#include "gateway/api/batches/batches.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/log.h"
#include "gateway/api/batches/run.h"

static struct gw_batch *first_open(const struct gw_batches *batches)
{
    return gw_open_batches_first(&batches->open);
}

static struct gw_batch *open_after(const struct gw_batches *batches, struct gw_batch *batch)
{
    return gw_open_batches_next(&batches->open, batch);
}

/* ---- the table ---- */

struct gw_batch *gw_batches_find(const struct gw_batches *batches, const struct gw_owner *owner,
                                 const char *id)
{
    struct gw_batch *batch = gw_batch_list_first(&batches->list);
    while (batch && (strcmp(batch->id, id) != 0 || !gw_owner_is_same(&batch->owner, owner)))
        batch = gw_batch_list_next(&batches->list, batch);
    return batch;
}

bool gw_batches_may_add(const struct gw_batches *batches, const struct gw_owner *owner)
{
    size_t n_open = batches->n_pending, n_own = n_open;
    for (struct gw_batch *batch = first_open(batches); batch; batch = open_after(batches, batch)) {
        n_open++;
        n_own += gw_owner_is_same(&batch->owner, owner);
    }
    return n_open < GW_MAX_OPEN_BATCHES && n_own < GW_MAX_OPEN_OF_KEY;
}

static void remove_file(struct gw_batches *batches, const char *id)
{
    struct gw_file *file = gw_files_find_any(batches->api->files, id);
    if (file)
        gw_files_remove(batches->api->files, file);
}

void gw_batches_remove(struct gw_batches *batches, struct gw_batch *batch)
{
    if (gw_batch_is_of_messages(batch)) { /* whose files have no names that its client knows */
        remove_file(batches, batch->input);
        remove_file(batches, batch->output);
        remove_file(batches, batch->error);
    }
    (void)!gw_disk_remove(&batches->api->files->disk, batch->id, NULL);
    gw_batch_list_remove(&batches->list, batch);
    gw_batch_free(batch);
}

/* Forgets the owner's oldest batch that is over, if it has too many. */
static void keep_bound(struct gw_batches *batches, const struct gw_owner *owner)
{
    struct gw_batch *oldest = NULL;
    size_t n = 0;
    for (struct gw_batch *batch = gw_batch_list_first(&batches->list); batch;
         batch = gw_batch_list_next(&batches->list, batch)) {
        bool is_own = gw_owner_is_same(&batch->owner, owner);
        n += is_own;
        if (is_own && !oldest && !batch->run)
            oldest = batch;
    }
    if (n > GW_MAX_BATCHES_OF_KEY && oldest)
        gw_batches_remove(batches, oldest);
}

static void hide(const struct gw_batches *batches, const char *id)
{
    struct gw_file *file = gw_files_find_any(batches->api->files, id);
    if (file)
        file->is_hidden = true;
}

static void list(struct gw_batches *batches, struct gw_batch *batch)
{
    struct gw_batch *next = gw_batch_list_first(&batches->list);
    while (next && next->created_s <= batch->created_s)
        next = gw_batch_list_next(&batches->list, next);
    gw_batch_list_insert_before(&batches->list, batch, next);
}

/* Lets it run. Without memory it waits for the next gateway. */
static void run(struct gw_batches *batches, struct gw_batch *batch)
{
    batch->run = gw_batch_run_create(batches, batch);
    if (batch->run)
        gw_open_batches_push_back(&batches->open, batch);
    else
        baton_log(BATON_LOG_ERROR, "batch_waits", BATON_S("reason", "out of memory"));
}

void gw_batches_add(struct gw_batches *batches, struct gw_batch *batch)
{
    struct gw_owner owner = batch->owner;
    list(batches, batch);
    hide(batches, batch->output);
    hide(batches, batch->error);
    if (gw_batch_is_of_messages(batch))
        hide(batches, batch->input);
    run(batches, batch);
    keep_bound(batches, &owner);
}

void gw_batches_cancel(struct gw_batches *batches, struct gw_batch *batch)
{
    (void)batches;
    if (batch->run)
        gw_batch_run_stop(batch->run, GW_BATCH_cancelled, NULL);
}

/* ---- the end of a batch ---- */

/* Shows a file of answers, or removes it if it has none. */
static void show_file(struct gw_batches *batches, const char *id)
{
    struct gw_file *file = gw_files_find_any(batches->api->files, id);
    if (file && file->bytes)
        file->is_hidden = false;
    else if (file)
        gw_files_remove(batches->api->files, file);
}

void gw_batches_finish(struct gw_batches *batches, struct gw_batch *batch)
{
    char shown[BATON_SECRET_SHOWN_BYTES + 1];
    (void)snprintf(shown, sizeof shown, "%s", strchr(batch->id, '_') + 1);
    baton_log(BATON_LOG_INFO, "batch_over", BATON_S("batch", shown),
              BATON_S("status", gw_batch_status_name(batch->status)),
              BATON_I("requests", batch->total), BATON_I("completed", batch->completed),
              BATON_I("failed", batch->failed));
    if (!gw_batch_is_of_messages(batch)) {
        show_file(batches, batch->output);
        show_file(batches, batch->error);
    }
    gw_open_batches_remove(&batches->open, batch);
    gw_batch_run_free(batch->run);
    batch->run = NULL;
}

/* ---- lines ---- */

static size_t n_in_flight_of(const struct gw_batches *batches, const struct gw_owner *owner)
{
    size_t n = 0;
    for (struct gw_batch *batch = first_open(batches); batch; batch = open_after(batches, batch))
        if (batch->run->n_in_flight && gw_owner_is_same(&batch->owner, owner))
            n += batch->run->n_in_flight;
    return n;
}

/* The batch whose line is sent next: the first one of the key with the fewest on their way. */
static struct gw_batch *choose(const struct gw_batches *batches, int64_t now_ns)
{
    struct gw_batch *best = NULL;
    size_t least = SIZE_MAX;
    for (struct gw_batch *batch = first_open(batches); batch; batch = open_after(batches, batch)) {
        if (!gw_batch_run_ready(batch->run, now_ns) ||
            (best && gw_owner_is_same(&best->owner, &batch->owner)))
            continue;
        size_t n = n_in_flight_of(batches, &batch->owner);
        if (n < least) {
            best = batch;
            least = n;
        }
    }
    return best;
}

static void send_lines(struct gw_batches *batches, int64_t now_ns)
{
    struct gw_batch *batch;
    while (baton_pace_may_begin(&batches->pace) && (batch = choose(batches, now_ns)))
        gw_batch_run_send(batch->run, gw_batch_run_ready(batch->run, now_ns));
}

/* ---- ticks ---- */

/* Gives the pool one step; the batches take turns. */
static void step(struct gw_batches *batches)
{
    struct gw_batch *batch = batches->is_stepping ? NULL : first_open(batches);
    while (batch && !gw_batch_run_wants_step(batch->run))
        batch = open_after(batches, batch);
    if (!batch)
        return;
    gw_open_batches_remove(&batches->open, batch);
    gw_open_batches_push_back(&batches->open, batch);
    gw_batch_run_step(batch->run);
}

void gw_batches_tick(struct gw_batches *batches, int64_t now_ns)
{
    int64_t now_s = (int64_t)time(NULL);
    for (struct gw_batch *batch = first_open(batches); batch; batch = open_after(batches, batch))
        if (batch->expires_s <= now_s && !batches->is_stopping)
            gw_batch_run_stop(batch->run, GW_BATCH_expired, NULL);
    step(batches);
    if (!batches->is_stopping)
        send_lines(batches, now_ns);
}

void gw_batches_stop(struct gw_batches *batches)
{
    if (batches->is_stopping)
        return;
    batches->is_stopping = true;
    for (struct gw_batch *batch = first_open(batches); batch; batch = open_after(batches, batch))
        gw_batch_run_drop_lines(batch->run);
}

/* ---- create ---- */

static void load(void *arg, const char *name)
{
    struct gw_batches *batches = arg;
    struct gw_batch *batch = gw_batch_load(&batches->api->files->disk, name);
    if (!batch) {
        baton_log(BATON_LOG_WARN, "file_skipped", BATON_S("reason", "a batch is damaged"));
        return;
    }
    list(batches, batch);
    if (!gw_batch_is_over(batch) || gw_batch_is_of_messages(batch)) {
        hide(batches, batch->output);
        hide(batches, batch->error);
    }
    if (gw_batch_is_of_messages(batch))
        hide(batches, batch->input);
    if (!gw_batch_is_over(batch))
        run(batches, batch);
}

struct gw_batches *gw_batches_create(struct gw_api *api, int n_lines)
{
    struct gw_batches *batches = calloc(1, sizeof *batches);
    if (!batches)
        return NULL;
    batches->api = api;
    batches->pace = baton_pace_of(n_lines);
    gw_batch_list_init(&batches->list);
    gw_open_batches_init(&batches->open);
    gw_disk_each(&api->files->disk, "batch_", load, batches);
    gw_disk_each(&api->files->disk, "msgbatch_", load, batches);
    return batches;
}

void gw_batches_destroy(struct gw_batches *batches)
{
    if (!batches)
        return;
    for (struct gw_batch *batch; (batch = gw_batch_list_pop_front(&batches->list));) {
        gw_batch_run_free(batch->run);
        gw_batch_free(batch);
    }
    free(batches);
}
