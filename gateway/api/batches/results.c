#include "gateway/api/batches/results.h"

#include <stdlib.h>
#include <unistd.h>

#include "common/batch/lines.h"

enum { N_FILES = 2, LINE_MAX_BYTES = 128 << 20, TREE_MAX_BYTES = 512 << 20 };

struct results {
    struct gw_disk_file files[N_FILES]; /* of answers, of errors */
    int i;                              /* the one that is read */
    struct baton_lines lines;
    struct baton_buf line;
};

/* Writes "result" for the answer of a line. */
static void put_result(struct baton_json_out *out, const struct baton_json *answer)
{
    const struct baton_json *response = baton_json_get(answer, "response");
    const struct baton_json *body = baton_json_get(response, "body");
    const struct baton_json *code = baton_json_get(baton_json_get(answer, "error"), "code");
    bool succeeded = baton_json_int(baton_json_get(response, "status_code")) == 200;
    baton_json_open(out, "result", '{');
    baton_json_put_string(out, "type",
                          baton_json_is(code, "batch_cancelled") ? "canceled"
                          : baton_json_is(code, "batch_expired") ? "expired"
                          : succeeded                            ? "succeeded"
                                                                 : "errored");
    if (body)
        baton_json_put_value(out, succeeded ? "message" : "error", body);
    baton_json_close(out, '}');
}

static enum baton_err put_line(struct baton_buf *piece, const struct baton_buf *line)
{
    struct baton_json *answer = NULL;
    struct baton_json_out out = baton_json_out(piece);
    enum baton_err err = baton_json_parse_within(baton_buf_text(line), line->len, TREE_MAX_BYTES,
                                                 &answer, NULL, NULL);
    if (!err) {
        baton_json_open(&out, NULL, '{');
        baton_json_put_value(&out, "custom_id", baton_json_get(answer, "custom_id"));
        put_result(&out, answer);
        baton_json_close(&out, '}');
        baton_buf_putc(piece, '\n');
    }
    baton_json_free(answer);
    return err;
}

static enum baton_err begin_file(struct results *results)
{
    const struct gw_disk_file *file = &results->files[results->i];
    if (lseek(file->fd, (off_t)file->begin, SEEK_SET) < 0)
        return BATON_IO;
    baton_lines_init(&results->lines, file->fd);
    return BATON_OK;
}

static enum baton_err fill(void *arg, struct baton_buf *piece)
{
    struct results *results = arg;
    while (results->i < N_FILES && piece->len < GW_DOWNLOAD_PIECE_BYTES) {
        enum baton_err err = baton_lines_next(&results->lines, &results->line);
        if (!err)
            err = put_line(piece, &results->line);
        else if (err == BATON_NOT_FOUND)
            err = ++results->i < N_FILES ? begin_file(results) : BATON_OK;
        if (err)
            return err;
    }
    return BATON_OK;
}

static void fini(void *arg)
{
    struct results *results = arg;
    if (!results)
        return;
    for (int i = 0; i < N_FILES; i++)
        gw_disk_close_file(&results->files[i]);
    baton_buf_fini(&results->line);
    free(results);
}

struct gw_download_source gw_batch_results(const struct gw_disk *disk, const struct gw_batch *batch)
{
    const char *names[N_FILES] = {batch->output, batch->error};
    struct gw_download_source source = {.fill = fill, .fini = fini};
    struct results *results = calloc(1, sizeof *results);
    if (!results)
        return source;
    enum baton_err err = BATON_OK;
    baton_buf_init(&results->line, LINE_MAX_BYTES);
    for (int i = 0; i < N_FILES; i++)
        results->files[i].fd = -1;
    for (int i = 0; i < N_FILES && !err; i++)
        err = gw_disk_open_file(disk, names[i], false, &results->files[i], NULL);
    if (!err)
        err = begin_file(results);
    if (err)
        fini(results);
    else
        source.arg = results;
    return source;
}
