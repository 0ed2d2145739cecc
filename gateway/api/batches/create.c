#include "gateway/api/batches/create.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "gateway/api/answer.h"
#include "gateway/api/files/upload.h"
#include "gateway/api/listing.h"

/* A batch whose files are being written. */
struct making {
    struct gw_other_user user; /* first: its exchange's data is this */
    uv_work_t work;
    struct gw_api *api;
    struct gw_exchange *exchange; /* NULL: its client left */
    struct gw_batch *batch;
    struct gw_file input, output, error;
    struct baton_buf requests; /* of a new input */
    bool has_requests;
    void (*put)(struct baton_json_out *out, const struct gw_batch *batch);
    enum baton_err err;
    struct baton_why why;
};

/* ---- on the pool ---- */

static enum baton_err write_file(struct making *making, struct gw_file *file,
                                 const struct baton_buf *contents)
{
    struct baton_buf header;
    baton_buf_init(&header, GW_DISK_HEADER_MAX_BYTES);
    gw_file_put_header(&header, file);
    enum baton_err err =
        gw_disk_create(&making->api->files->disk, file->id, &header, contents ? contents->data : "",
                       contents ? contents->len : 0, &file->begin, &making->why);
    file->bytes = contents ? contents->len : 0;
    baton_buf_fini(&header);
    return err;
}

/* The batch's own file comes last: without it the others are files that nothing refers to. */
static enum baton_err write_batch(struct making *making)
{
    struct baton_buf header;
    uint64_t begin;
    baton_buf_init(&header, GW_DISK_HEADER_MAX_BYTES);
    gw_batch_put_header(&header, making->batch);
    enum baton_err err = gw_disk_create(&making->api->files->disk, making->batch->id, &header, "",
                                        0, &begin, &making->why);
    baton_buf_fini(&header);
    return err;
}

static void write_on_pool(uv_work_t *work)
{
    struct making *making = work->data;
    making->err =
        making->has_requests ? write_file(making, &making->input, &making->requests) : BATON_OK;
    if (!making->err)
        making->err = write_file(making, &making->output, NULL);
    if (!making->err)
        making->err = write_file(making, &making->error, NULL);
    if (!making->err)
        making->err = write_batch(making);
}

/* ---- on the loop ---- */

static void gone(struct gw_other_user *self)
{
    ((struct making *)self)->exchange = NULL;
}

static bool add_files(const struct making *making)
{
    struct gw_files *files = making->api->files;
    return (!making->has_requests || gw_files_add(files, &making->input)) &&
           gw_files_add(files, &making->output) && gw_files_add(files, &making->error);
}

void gw_batch_answer(struct gw_exchange *exchange, const struct gw_batch *batch,
                     void (*put)(struct baton_json_out *out, const struct gw_batch *batch))
{
    struct gw_answer answer;
    gw_answer_open(&answer);
    put(&answer.out, batch);
    gw_answer_close(&answer, exchange, 200);
}

static void forget(struct making *making)
{
    gw_batch_free(making->batch);
    baton_buf_fini(&making->requests);
    free(making);
}

static void written(uv_work_t *work, int status)
{
    struct making *making = work->data;
    struct gw_batch *batch = making->batch;
    struct gw_exchange *exchange = making->exchange;
    (void)status; /* nothing cancels the work */
    making->api->batches->n_pending--;
    making->api->files->pending_bytes -= making->requests.len;
    if (exchange)
        gw_exchange_set_data(exchange, NULL);
    if (making->err || !add_files(making)) {
        baton_log(BATON_LOG_WARN, "file_not_stored", BATON_S("reason", making->why.text));
        if (exchange)
            gw_answer_error(exchange, 503, "overloaded", "the files of the batch are not written");
    } else {
        making->batch = NULL;
        gw_batches_add(making->api->batches, batch);
        if (exchange)
            gw_batch_answer(exchange, batch, making->put);
    }
    forget(making);
}

static void name_file(struct gw_file *file, char id[GW_FILE_ID_BYTES], const struct gw_batch *batch,
                      const char *what, const char *purpose)
{
    file->owner = batch->owner;
    file->created_s = batch->created_s;
    gw_file_name(file->id, "file-");
    memcpy(id, file->id, GW_FILE_ID_BYTES);
    (void)snprintf(file->filename, sizeof file->filename, "%s_%s.jsonl", batch->id, what);
    (void)snprintf(file->purpose, sizeof file->purpose, "%s", purpose);
}

static bool begin(struct making *making)
{
    making->user = (struct gw_other_user){.user = GW_USER_OTHER, .gone = gone};
    making->work.data = making;
    if (uv_queue_work(making->api->loop, &making->work, write_on_pool, written))
        return false;
    gw_exchange_set_data(making->exchange, making);
    making->api->batches->n_pending++;
    making->api->files->pending_bytes += making->requests.len;
    return true;
}

static struct making *make(struct gw_api *api, struct gw_exchange *exchange, struct gw_batch *batch,
                           struct baton_buf *requests)
{
    struct making *making = calloc(1, sizeof *making);
    if (!making) {
        gw_batch_free(batch);
        if (requests)
            baton_buf_fini(requests);
        return NULL;
    }
    making->api = api;
    making->exchange = exchange;
    making->batch = batch;
    if (requests) {
        making->requests = *requests;
        making->has_requests = true;
        name_file(&making->input, batch->input, batch, "input", "batch");
    } else {
        baton_buf_init(&making->requests, 0);
    }
    name_file(&making->output, batch->output, batch, "output", "batch_output");
    name_file(&making->error, batch->error, batch, "error", "batch_output");
    return making;
}

void gw_batch_create(struct gw_api *api, struct gw_exchange *exchange, struct gw_batch *batch,
                     struct baton_buf *requests,
                     void (*put)(struct baton_json_out *out, const struct gw_batch *batch))
{
    struct gw_owner owner = batch->owner;
    struct making *making = make(api, exchange, batch, requests);
    bool begun = false;
    if (making) {
        making->put = put;
        if (!gw_batches_may_add(api->batches, &owner))
            gw_answer_error(exchange, 429, "too_many_batches",
                            "too many batches are not over: wait for others");
        else if (!gw_files_may_grow(api->files, &owner, making->requests.len))
            gw_answer_error(exchange, 413, "files_full",
                            "there is no room for the batch's files: delete others, or raise "
                            "--files-bytes, half of which one API key may use");
        else if (!(begun = begin(making)))
            gw_answer_error(exchange, 503, "overloaded", "no memory for the batch");
        if (!begun)
            forget(making);
    } else {
        gw_answer_error(exchange, 503, "overloaded", "no memory for the batch");
    }
}

/* ---- shared by both APIs ---- */

struct gw_batch *gw_batch_named(struct gw_api *api, struct gw_exchange *exchange, bool of_messages,
                                int at)
{
    char id[GW_URL_PART_BYTES];
    struct gw_owner owner = gw_access_owner(api->access, exchange);
    if (!gw_files_are_on(api, exchange))
        return NULL;
    struct gw_batch *batch =
        gw_batches_find(api->batches, &owner, gw_path_segment(exchange, at, id));
    if (batch && gw_batch_is_of_messages(batch) != of_messages)
        batch = NULL;
    if (!batch)
        gw_answer_error(exchange, 404, "batch_not_found",
                        "there is no such batch: it was forgotten, or belongs to another API key");
    return batch;
}

const struct gw_batch **gw_batches_of(const struct gw_api *api, const struct gw_exchange *exchange,
                                      bool of_messages, size_t *n)
{
    struct gw_owner owner = gw_access_owner(api->access, exchange);
    const struct gw_batch_list *list = &api->batches->list;
    const struct gw_batch **found = malloc((list->n + 1) * sizeof(const void *));
    *n = 0;
    for (struct gw_batch *batch = gw_batch_list_first(list); found && batch;
         batch = gw_batch_list_next(list, batch))
        if (gw_owner_is_same(&batch->owner, &owner) &&
            gw_batch_is_of_messages(batch) == of_messages)
            found[(*n)++] = batch;
    return found;
}

const char *gw_batch_id_of(const void *items, size_t i)
{
    const struct gw_batch *const *batches = items;
    return batches[i]->id;
}
