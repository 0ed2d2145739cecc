#include "gateway/api/batches/batch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/batch/lines.h"

enum { LINE_MAX_BYTES = 256 << 10 };

const char *gw_batch_status_name(enum gw_batch_status status)
{
    static const char *const names[] = {
#define X(name) #name,
        GW_BATCH_STATUSES(X)
#undef X
    };
    return names[status];
}

bool gw_batch_is_over(const struct gw_batch *batch)
{
    return batch->status == GW_BATCH_failed || batch->status == GW_BATCH_completed ||
           batch->status == GW_BATCH_expired || batch->status == GW_BATCH_cancelled;
}

enum gw_batch_status gw_batch_shown_status(const struct gw_batch *batch)
{
    if (!batch->run || !gw_batch_is_over(batch))
        return batch->status;
    if (batch->status == GW_BATCH_cancelled)
        return GW_BATCH_cancelling;
    if (batch->status == GW_BATCH_failed && !batch->at_s[GW_BATCH_in_progress])
        return GW_BATCH_validating;
    return GW_BATCH_finalizing;
}

bool gw_batch_is_of_messages(const struct gw_batch *batch)
{
    return !strncmp(batch->id, "msgbatch_", sizeof "msgbatch_" - 1);
}

void gw_batch_free(struct gw_batch *batch)
{
    if (!batch)
        return;
    baton_json_free(batch->metadata);
    baton_json_free(batch->errors);
    free(batch);
}

/* ---- writing ---- */

void gw_batch_set(struct gw_batch *batch, enum gw_batch_status status, struct baton_buf *journal)
{
    struct baton_json_out out = baton_json_out(journal);
    batch->status = status;
    batch->at_s[status] = (int64_t)time(NULL);
    baton_json_open(&out, NULL, '{');
    baton_json_put_string(&out, "status", gw_batch_status_name(status));
    baton_json_put_int(&out, "at", batch->at_s[status]);
    baton_json_put_uint(&out, "total", batch->total);
    baton_json_put_uint(&out, "completed", batch->completed);
    baton_json_put_uint(&out, "failed", batch->failed);
    baton_json_put_uint(&out, "left", batch->left);
    if (batch->errors)
        baton_json_put_value(&out, "errors", batch->errors);
    baton_json_close(&out, '}');
    baton_buf_putc(journal, '\n');
}

void gw_batch_put_header(struct baton_buf *header, const struct gw_batch *batch)
{
    struct baton_json_out out = baton_json_out(header);
    baton_json_open(&out, NULL, '{');
    gw_owner_put(&out, &batch->owner);
    baton_json_put_string(&out, "input", batch->input);
    baton_json_put_string(&out, "output", batch->output);
    baton_json_put_string(&out, "error", batch->error);
    baton_json_put_string(&out, "endpoint", batch->endpoint);
    baton_json_put_string(&out, "window", batch->window);
    baton_json_put_int(&out, "created_at", batch->created_s);
    baton_json_put_int(&out, "expires_at", batch->expires_s);
    if (batch->metadata)
        baton_json_put_value(&out, "metadata", batch->metadata);
    baton_json_close(&out, '}');
}

/* ---- reading ---- */

static bool copy_text(char *to, size_t size, const struct baton_json *header, const char *key)
{
    size_t n = 0;
    const char *from = baton_json_string(baton_json_get(header, key), &n);
    if (from && n < size)
        memcpy(to, from, n + 1);
    return from && n < size;
}

static bool read_header(struct gw_batch *batch, const struct baton_json *header)
{
    const struct baton_json *metadata = baton_json_get(header, "metadata");
    if (metadata)
        batch->metadata = baton_json_share(metadata);
    batch->created_s = baton_json_int(baton_json_get(header, "created_at"));
    batch->expires_s = baton_json_int(baton_json_get(header, "expires_at"));
    return gw_owner_read(baton_json_get(header, "owner"), &batch->owner) &&
           copy_text(batch->input, sizeof batch->input, header, "input") &&
           copy_text(batch->output, sizeof batch->output, header, "output") &&
           copy_text(batch->error, sizeof batch->error, header, "error") &&
           copy_text(batch->endpoint, sizeof batch->endpoint, header, "endpoint") &&
           copy_text(batch->window, sizeof batch->window, header, "window");
}

static uint64_t number(const struct baton_json *line, const char *key)
{
    return (uint64_t)baton_json_int(baton_json_get(line, key));
}

/* Takes a status over; one that was cut off did not begin. */
static void apply(struct gw_batch *batch, const struct baton_json *line)
{
    const struct baton_json *errors = baton_json_get(line, "errors");
    int status = 0;
    while (status < GW_N_BATCH_STATUSES &&
           !baton_json_is(baton_json_get(line, "status"),
                          gw_batch_status_name((enum gw_batch_status)status)))
        status++;
    if (status == GW_N_BATCH_STATUSES)
        return;
    batch->status = (enum gw_batch_status)status;
    batch->at_s[status] = (int64_t)number(line, "at");
    batch->total = number(line, "total");
    batch->completed = number(line, "completed");
    batch->failed = number(line, "failed");
    batch->left = number(line, "left");
    if (errors) {
        baton_json_free(batch->errors);
        batch->errors = baton_json_share(errors);
    }
}

static enum baton_err read_statuses(struct gw_batch *batch, const struct gw_disk_file *file)
{
    struct baton_buf line;
    struct baton_lines *lines = malloc(sizeof *lines);
    if (!lines || lseek(file->fd, (off_t)file->begin, SEEK_SET) < 0) {
        free(lines);
        return BATON_NO_MEMORY;
    }
    baton_buf_init(&line, LINE_MAX_BYTES);
    baton_lines_init(lines, file->fd);
    while (!baton_lines_next(lines, &line)) {
        struct baton_json *status = NULL;
        if (!baton_json_parse(baton_buf_text(&line), line.len, &status, NULL))
            apply(batch, status);
        baton_json_free(status);
    }
    baton_buf_fini(&line);
    free(lines);
    return BATON_OK;
}

struct gw_batch *gw_batch_load(const struct gw_disk *disk, const char *name)
{
    struct gw_disk_file file;
    struct gw_batch *batch = calloc(1, sizeof *batch);
    bool ok = batch && !gw_disk_open_file(disk, name, false, &file, NULL);
    if (ok) {
        (void)snprintf(batch->id, sizeof batch->id, "%s", name);
        ok = read_header(batch, file.header) && !read_statuses(batch, &file);
        gw_disk_close_file(&file);
    }
    if (ok)
        return batch;
    gw_batch_free(batch);
    return NULL;
}
