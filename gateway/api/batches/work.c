#include "gateway/api/batches/work.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gateway/api/batches/check.h"

enum {
    READ_BYTES = 4 << 20, /* of the lines that a step reads, but at least one */
    APPEND_MAX_BYTES = 1 << 30,
    REST_BYTES = 1 << 20, /* written at once */
    JOURNAL_MAX_BYTES = 1 << 20
};

struct gw_batch_work *gw_batch_work_create(struct gw_batch *batch, const struct gw_disk *disk)
{
    struct gw_batch_work *work = calloc(1, sizeof *work);
    if (!work)
        return NULL;
    work->work.data = work;
    work->batch = batch;
    work->disk = disk;
    work->total = batch->total;
    work->input.fd = work->output.fd = work->error.fd = work->log.fd = -1;
    gw_batch_lines_init(&work->answers);
    gw_batch_lines_init(&work->read);
    baton_buf_init(&work->journal, JOURNAL_MAX_BYTES);
    return work;
}

void gw_batch_line_free(struct gw_batch_line *line)
{
    baton_batch_request_fini(&line->request);
    baton_buf_fini(&line->answer);
    free(line);
}

static void free_lines(struct gw_batch_lines *lines)
{
    for (struct gw_batch_line *line; (line = gw_batch_lines_pop_front(lines));)
        gw_batch_line_free(line);
}

void gw_batch_work_free(struct gw_batch_work *work)
{
    if (!work)
        return;
    free_lines(&work->answers);
    free_lines(&work->read);
    gw_disk_close_file(&work->input);
    gw_disk_close_file(&work->output);
    gw_disk_close_file(&work->error);
    gw_disk_close_file(&work->log);
    baton_json_free(work->errors);
    baton_buf_fini(&work->journal);
    free(work->lines);
    free(work->done);
    free(work);
}

/* ---- lines with an answer ---- */

static bool is_done(const struct gw_batch_work *work, uint64_t line)
{
    return work->done[line / 8] >> line % 8 & 1;
}

static void mark(struct gw_batch_work *work, uint64_t line)
{
    work->done[line / 8] |= (uint8_t)(1 << line % 8);
}

static enum baton_err rewind_lines(struct gw_batch_work *work, const struct gw_disk_file *file)
{
    if (lseek(file->fd, (off_t)file->begin, SEEK_SET) < 0)
        return baton_fail(&work->why, BATON_IO, "a file cannot be read: %s", strerror(errno));
    baton_lines_init(work->lines, file->fd);
    return BATON_OK;
}

/* Counts an answer's line of the files. */
static enum baton_err count(struct gw_batch_work *work, const struct baton_buf *text, bool is_error)
{
    static const char left[] = "\"response\":null,\"error\":{\"code\":\"batch_";
    uint64_t line;
    uint32_t unused;
    if (baton_batch_read_answer(text, &line, &unused) || line > work->total || is_done(work, line))
        return baton_fail(&work->why, BATON_INVALID, "a file of answers is damaged");
    mark(work, line);
    work->completed += !is_error;
    work->failed += is_error;
    work->left += is_error && strstr(baton_buf_text(text), left);
    return BATON_OK;
}

/* Finds the lines that the file answers. A last one that a crash cut off is removed. */
static enum baton_err find_answers(struct gw_batch_work *work, struct gw_disk_file *file,
                                   bool is_error)
{
    struct baton_buf text;
    uint64_t whole = 0;
    enum baton_err err = rewind_lines(work, file);
    baton_buf_init(&text, APPEND_MAX_BYTES);
    while (!err && !(err = baton_lines_next(work->lines, &text)) && work->lines->is_whole) {
        whole = work->lines->offset_bytes;
        err = count(work, &text, is_error);
    }
    baton_buf_fini(&text);
    if (err && err != BATON_NOT_FOUND)
        return err;
    file->end = file->begin + whole;
    return ftruncate(file->fd, (off_t)file->end)
               ? baton_fail(&work->why, BATON_IO, "%s", strerror(errno))
               : BATON_OK;
}

/* ---- open ---- */

static enum baton_err open_files(struct gw_batch_work *work)
{
    const struct gw_batch *batch = work->batch;
    enum baton_err err =
        gw_disk_open_file(work->disk, batch->input, false, &work->input, &work->why);
    if (!err)
        err = gw_disk_open_file(work->disk, batch->output, true, &work->output, &work->why);
    if (!err)
        err = gw_disk_open_file(work->disk, batch->error, true, &work->error, &work->why);
    if (!err && !work->lines)
        work->lines = malloc(sizeof *work->lines);
    return err || work->lines ? err : baton_fail(&work->why, BATON_NO_MEMORY, "no memory");
}

static enum baton_err open_all(struct gw_batch_work *work)
{
    enum baton_err err = open_files(work);
    if (!err && !work->total) {
        err = rewind_lines(work, &work->input);
        if (!err)
            err = gw_batch_check(work->lines, work->batch->endpoint, &work->total, &work->errors);
    }
    if (err || work->errors)
        return err;
    work->done = calloc(work->total / 8 + 1, 1);
    if (!work->done)
        return baton_fail(&work->why, BATON_NO_MEMORY, "no memory");
    err = find_answers(work, &work->output, false);
    if (!err)
        err = find_answers(work, &work->error, true);
    if (!err)
        err = rewind_lines(work, &work->input);
    work->is_open = !err;
    return err;
}

/* ---- append ---- */

static enum baton_err append(struct gw_batch_work *work, struct gw_disk_file *file,
                             const struct baton_buf *text)
{
    const char *bytes = text->data;
    size_t n = text->len;
    if (baton_buf_err(text))
        return baton_fail(&work->why, baton_buf_err(text), "the answers are too large");
    while (n) {
        ssize_t written = write(file->fd, bytes, n);
        if (written < 0 && errno != EINTR)
            return baton_fail(&work->why, errno == ENOSPC ? BATON_LIMIT : BATON_IO, "%s",
                              strerror(errno));
        bytes += written > 0 ? written : 0;
        n -= written > 0 ? (size_t)written : 0;
        file->end += written > 0 ? (uint64_t)written : 0;
    }
    return text->len && fdatasync(file->fd)
               ? baton_fail(&work->why, BATON_IO, "%s", strerror(errno))
               : BATON_OK;
}

static enum baton_err append_answers(struct gw_batch_work *work)
{
    struct baton_buf output, error;
    uint64_t n_completed = 0, n_failed = 0;
    baton_buf_init(&output, APPEND_MAX_BYTES);
    baton_buf_init(&error, APPEND_MAX_BYTES);
    for (struct gw_batch_line *line = gw_batch_lines_first(&work->answers); line;
         line = gw_batch_lines_next(&work->answers, line)) {
        bool is_ok = line->status == 200;
        baton_batch_put_answer(is_ok ? &output : &error, &line->request, line->status,
                               line->request_id, &line->answer);
        mark(work, line->request.line);
        n_completed += is_ok;
        n_failed += !is_ok;
    }
    enum baton_err err = append(work, &work->output, &output);
    if (!err)
        err = append(work, &work->error, &error);
    if (!err) {
        work->completed += n_completed;
        work->failed += n_failed;
    }
    free_lines(&work->answers);
    baton_buf_fini(&output);
    baton_buf_fini(&error);
    return err;
}

/* ---- lines ---- */

/* Reads the next line without an answer; false: there is none, or an error. */
static bool next_line(struct gw_batch_work *work, struct baton_buf *text,
                      struct baton_batch_request *request, enum baton_err *err)
{
    while (!(*err = baton_lines_next(work->lines, text))) {
        uint64_t number = work->lines->number;
        if (number > work->total) { /* the file ends with lines that were not checked */
            *err = BATON_NOT_FOUND;
            break;
        }
        if (gw_batch_is_blank(text) || is_done(work, number))
            continue;
        *err = baton_batch_request_read(request, number, text, &work->why);
        return !*err;
    }
    work->has_read_all = *err == BATON_NOT_FOUND;
    *err = work->has_read_all ? BATON_OK : *err;
    return false;
}

static enum baton_err read_lines(struct gw_batch_work *work)
{
    struct baton_buf text;
    enum baton_err err = BATON_OK;
    size_t n_bytes = 0;
    bool more = true;
    baton_buf_init(&text, BATON_BATCH_LINE_MAX_BYTES);
    while (more && !err && work->n_wanted && n_bytes < READ_BYTES) {
        struct gw_batch_line *line = calloc(1, sizeof *line);
        if (!line) {
            err = BATON_NO_MEMORY;
            break;
        }
        line->batch = work->batch;
        baton_batch_request_init(&line->request);
        baton_buf_init(&line->answer, APPEND_MAX_BYTES / 2);
        more = next_line(work, &text, &line->request, &err);
        if (!more) {
            gw_batch_line_free(line);
            break;
        }
        n_bytes += line->request.body.len;
        gw_batch_lines_push_back(&work->read, line);
        work->n_wanted--;
    }
    baton_buf_fini(&text);
    return err;
}

static void put_rest(struct baton_buf *out, const struct baton_batch_request *request,
                     const char *code)
{
    baton_buf_printf(out,
                     "{\"id\":\"batch_req_%" PRIu64
                     "\",\"custom_id\":%s,\"response\":null,\"error\":{\"code\":\"%s\","
                     "\"message\":\"The batch ended before this request was answered.\"}}\n",
                     request->line, baton_buf_text(&request->custom_id), code);
}

/* Tells for each line without an answer why it has none. */
static enum baton_err append_rest(struct gw_batch_work *work)
{
    struct baton_buf text, rest;
    struct baton_batch_request request;
    enum baton_err err = rewind_lines(work, &work->input);
    uint64_t n = 0;
    baton_buf_init(&text, BATON_BATCH_LINE_MAX_BYTES);
    baton_buf_init(&rest, APPEND_MAX_BYTES);
    baton_batch_request_init(&request);
    while (!err && next_line(work, &text, &request, &err)) {
        put_rest(&rest, &request, work->rest_reason);
        n++;
        if (rest.len < REST_BYTES)
            continue;
        err = append(work, &work->error, &rest);
        baton_buf_reset(&rest);
    }
    if (!err)
        err = append(work, &work->error, &rest);
    work->failed += n;
    work->left += n;
    baton_batch_request_fini(&request);
    baton_buf_fini(&text);
    baton_buf_fini(&rest);
    return err;
}

/* ---- a step ---- */

static enum baton_err append_journal(struct gw_batch_work *work)
{
    enum baton_err err = BATON_OK;
    if (work->log.fd < 0)
        err = gw_disk_open_file(work->disk, work->batch->id, true, &work->log, &work->why);
    if (!err)
        err = append(work, &work->log, &work->journal);
    baton_buf_reset(&work->journal);
    return err;
}

static enum baton_err write_and_read(struct gw_batch_work *work)
{
    enum baton_err err = work->is_open ? BATON_OK : open_all(work);
    if (err || work->errors)
        return err;
    if (work->answers.n)
        err = append_answers(work);
    if (!err && work->rest_reason)
        err = append_rest(work);
    work->rest_reason = NULL;
    if (!err && work->n_wanted)
        err = read_lines(work);
    work->output_bytes = work->output.end - work->output.begin;
    work->error_bytes = work->error.end - work->error.begin;
    return err;
}

void gw_batch_work_step(uv_work_t *uv)
{
    struct gw_batch_work *work = uv->data;
    enum baton_err err = work->is_over ? BATON_OK : write_and_read(work);
    enum baton_err of_journal = work->journal.len ? append_journal(work) : BATON_OK;
    work->err = err ? err : of_journal;
}
