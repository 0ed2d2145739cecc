#include "gateway/api/batches/run.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "gateway/api/anthropic/writer.h"
#include "gateway/api/batches/check.h"
#include "gateway/http/local.h"

enum { MAX_TRIES = 3, READ_AHEAD = 64, JOURNAL_MAX_BYTES = 1 << 20 };

struct gw_batch_run *gw_batch_run_create(struct gw_batches *batches, struct gw_batch *batch)
{
    struct gw_batch_run *run = calloc(1, sizeof *run);
    if (!run)
        return NULL;
    run->work = gw_batch_work_create(batch, &batches->api->files->disk);
    if (!run->work) {
        free(run);
        return NULL;
    }
    run->work->work.data = run->work;
    run->batches = batches;
    run->batch = batch;
    run->ends_as = GW_BATCH_completed;
    gw_batch_lines_init(&run->lines);
    gw_batch_lines_init(&run->answered);
    baton_buf_init(&run->journal, JOURNAL_MAX_BYTES);
    if (batch->status == GW_BATCH_cancelling) { /* by an earlier gateway */
        run->must_stop = true;
        run->ends_as = GW_BATCH_cancelled;
    }
    return run;
}

static void free_lines(struct gw_batch_lines *lines)
{
    for (struct gw_batch_line *line; (line = gw_batch_lines_pop_front(lines));)
        gw_batch_line_free(line);
}

void gw_batch_run_free(struct gw_batch_run *run)
{
    if (!run)
        return;
    free_lines(&run->lines);
    free_lines(&run->answered);
    baton_buf_fini(&run->journal);
    gw_batch_work_free(run->work);
    free(run);
}

/* ---- lines ---- */

/* Whether another try may help, and when. */
static bool must_try_again(struct gw_batch_line *line, const struct gw_local_answer *answer)
{
    bool is_refused = answer->status == 429 || answer->status == 503;
    bool may_help = answer->status == 500 || answer->status == 502;
    if (!is_refused && (!may_help || line->n_tries >= MAX_TRIES))
        return false;
    double wait_s = baton_pace_wait_s(answer->retry_after_s > 0 ? answer->retry_after_s : -1,
                                      line->n_tries - 1);
    line->not_before_ns = baton_now_ns() + (int64_t)(wait_s * (double)BATON_SECOND);
    return true;
}

static void answered(void *arg, const struct gw_local_answer *answer)
{
    struct gw_batch_line *line = arg;
    struct gw_batch_run *run = line->batch->run;
    struct baton_pace *pace = &run->batches->pace;
    line->exchange = NULL;
    run->n_in_flight--;
    if (must_try_again(line, answer)) {
        baton_pace_refused(pace);
        return;
    }
    baton_pace_answered(pace);
    line->status = answer->status;
    (void)snprintf(line->request_id, sizeof line->request_id, "%s", answer->request_id);
    baton_buf_append(&line->answer, answer->body->data, answer->body->len);
    gw_batch_lines_remove(&run->lines, line);
    gw_batch_lines_push_back(&run->answered, line);
}

void gw_batch_run_send(struct gw_batch_run *run, struct gw_batch_line *line)
{
    const struct gw_batch *batch = run->batch;
    char id[BATON_BATCH_ID_BYTES];
    (void)snprintf(id, sizeof id, "batch-%.8s-%" PRIu64, strchr(batch->id, '_') + 1,
                   line->request.line);
    const struct gw_local_request request = {
        .path = batch->endpoint,
        .id = id,
        .key = batch->owner.digest,
        .mark = gw_batch_is_of_messages(batch) ? gw_anthropic_errors.mark : NULL,
        .body = &line->request.body,
        .answered = answered,
        .arg = line};
    baton_pace_begin(&run->batches->pace);
    run->n_in_flight++;
    line->n_tries++;
    line->exchange = gw_local_begin(run->batches->api->server, &request);
    if (line->exchange)
        return;
    baton_pace_failed(&run->batches->pace);
    run->n_in_flight--;
    line->not_before_ns = baton_now_ns() + BATON_SECOND;
}

struct gw_batch_line *gw_batch_run_ready(const struct gw_batch_run *run, int64_t now_ns)
{
    struct gw_batch_line *line = run->must_stop ? NULL : gw_batch_lines_first(&run->lines);
    while (line && (line->exchange || line->not_before_ns > now_ns))
        line = gw_batch_lines_next(&run->lines, line);
    return line;
}

void gw_batch_run_drop_lines(struct gw_batch_run *run)
{
    for (struct gw_batch_line *line; (line = gw_batch_lines_pop_front(&run->lines));) {
        if (line->exchange) {
            gw_local_cancel(line->exchange, "its batch ends");
            baton_pace_failed(&run->batches->pace);
            run->n_in_flight--;
        }
        gw_batch_line_free(line);
    }
}

/* ---- the end ---- */

void gw_batch_run_stop(struct gw_batch_run *run, enum gw_batch_status ends_as,
                       struct baton_json *errors)
{
    struct gw_batch *batch = run->batch;
    if (run->phase != GW_BATCH_RUNS || (run->must_stop && ends_as != GW_BATCH_failed)) {
        baton_json_free(errors);
        return;
    }
    run->must_stop = true;
    run->ends_as = ends_as;
    gw_batch_run_drop_lines(run);
    if (errors) {
        baton_json_free(batch->errors);
        batch->errors = errors;
    }
    if (ends_as == GW_BATCH_cancelled)
        gw_batch_set(batch, GW_BATCH_cancelling, &run->journal);
}

static bool has_all_answers(const struct gw_batch_run *run)
{
    return run->work->is_open && run->work->has_read_all && !run->lines.n && !run->answered.n;
}

/* Begins the end, if nothing is left to be sent. */
static void end(struct gw_batch_run *run)
{
    if (run->phase != GW_BATCH_RUNS || !(run->must_stop || has_all_answers(run)))
        return;
    run->phase = GW_BATCH_ENDS;
    if (run->ends_as == GW_BATCH_cancelled)
        run->work->rest_reason = "batch_cancelled";
    else if (run->ends_as == GW_BATCH_expired)
        run->work->rest_reason = "batch_expired";
    if (run->ends_as == GW_BATCH_completed || run->ends_as == GW_BATCH_expired)
        gw_batch_set(run->batch, GW_BATCH_finalizing, &run->journal);
}

/* ---- steps ---- */

bool gw_batch_run_wants_step(const struct gw_batch_run *run)
{
    const struct gw_batch_work *work = run->work;
    if (run->is_stepping)
        return false;
    if (run->answered.n || run->journal.len)
        return true;
    if (run->batches->is_stopping)
        return false;
    return run->must_stop || run->phase != GW_BATCH_RUNS || !work->is_open ||
           has_all_answers(run) || (!work->has_read_all && run->lines.n < READ_AHEAD / 2);
}

static void set_bytes(const struct gw_batch_run *run, const char *id, uint64_t bytes)
{
    struct gw_file *file = gw_files_find_any(run->batches->api->files, id);
    if (file)
        file->bytes = bytes;
}

static void take_counts(struct gw_batch_run *run)
{
    const struct gw_batch_work *work = run->work;
    struct gw_batch *batch = run->batch;
    if (!work->is_open)
        return;
    batch->total = work->total;
    batch->completed = work->completed;
    batch->failed = work->failed;
    batch->left = work->left;
    set_bytes(run, batch->output, work->output_bytes);
    set_bytes(run, batch->error, work->error_bytes);
}

/* Goes on after a step that went well. */
static void go_on(struct gw_batch_run *run)
{
    struct gw_batch *batch = run->batch;
    if (run->batches->is_stopping) {
        free_lines(&run->lines);
        return;
    }
    if (run->phase == GW_BATCH_HAS_ENDED) {
        gw_batches_finish(run->batches, batch);
    } else if (run->phase == GW_BATCH_ENDS) {
        run->phase = GW_BATCH_HAS_ENDED;
        run->work->is_over = true;
        gw_batch_set(batch, run->ends_as, &run->journal);
    } else if (batch->status == GW_BATCH_validating) {
        gw_batch_set(batch, GW_BATCH_in_progress, &run->journal);
    }
}

static void fail(struct gw_batch_run *run)
{
    struct gw_batch_work *work = run->work;
    struct baton_json *errors = work->errors;
    work->errors = NULL;
    if (run->phase == GW_BATCH_HAS_ENDED) { /* even the journal fails */
        gw_batches_finish(run->batches, run->batch);
        return;
    }
    if (!errors)
        errors = gw_batch_error("io_error", 0,
                                *work->why.text ? work->why.text : baton_err_text(work->err));
    run->phase = GW_BATCH_RUNS;
    gw_batch_run_stop(run, GW_BATCH_failed, errors);
    work->is_over = true;
}

static void stepped(uv_work_t *uv, int status)
{
    struct gw_batch_work *work = uv->data;
    struct gw_batch_run *run = work->batch->run;
    (void)status; /* nothing cancels the work */
    run->is_stepping = run->batches->is_stepping = false;
    for (struct gw_batch_line *line; (line = gw_batch_lines_pop_front(&work->read));)
        if (run->must_stop)
            gw_batch_line_free(line);
        else
            gw_batch_lines_push_back(&run->lines, line);
    take_counts(run);
    if (work->err || work->errors)
        fail(run);
    else
        go_on(run);
}

static bool has_room(const struct gw_batch_run *run)
{
    uint64_t n = 0;
    for (struct gw_batch_line *line = gw_batch_lines_first(&run->answered); line;
         line = gw_batch_lines_next(&run->answered, line))
        n += line->answer.len;
    return gw_files_may_grow(run->batches->api->files, &run->batch->owner, n);
}

void gw_batch_run_step(struct gw_batch_run *run)
{
    struct gw_batch_work *work = run->work;
    if (run->answered.n && !has_room(run)) {
        free_lines(&run->answered);
        gw_batch_run_stop(
            run, GW_BATCH_failed,
            gw_batch_error("files_full", 0, "there is no room for further answers: --files-bytes"));
    }
    if (!run->batches->is_stopping)
        end(run);
    for (struct gw_batch_line *line; (line = gw_batch_lines_pop_front(&run->answered));)
        gw_batch_lines_push_back(&work->answers, line);
    baton_buf_append(&work->journal, run->journal.data, run->journal.len);
    baton_buf_reset(&run->journal);
    work->n_wanted = run->must_stop || run->batches->is_stopping || run->phase != GW_BATCH_RUNS
                         ? 0
                         : READ_AHEAD - (run->lines.n < READ_AHEAD ? run->lines.n : READ_AHEAD);
    run->is_stepping = run->batches->is_stepping = true;
    if (uv_queue_work(run->batches->api->loop, &work->work, gw_batch_work_step, stepped))
        run->is_stepping = run->batches->is_stepping = false;
}
