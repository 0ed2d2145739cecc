#include "tools/baton/batch/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/array.h"
#include "common/base/os/own_file.h"

/* Marks take four bytes a line: 4 GiB at most. */
enum { ANSWER_MAX_BYTES = 64 << 20, MAX_LINES = 1 << 30 };

static enum baton_err io_error(const char *path, struct baton_why *why)
{
    return baton_fail(why, errno == ENOENT ? BATON_NOT_FOUND : BATON_IO, "%s: %s", path,
                      strerror(errno));
}

/* ---- which lines are answered ---- */

static enum baton_err keep_mark(struct bt_batch_file *file, uint64_t line, uint32_t mark)
{
    if (line > MAX_LINES)
        return BATON_INVALID;
    if (line > file->n_marks) {
        size_t before = file->n_marks;
        if (BATON_RESERVE(file->marks, file->n_marks, line))
            return BATON_NO_MEMORY;
        memset(file->marks + before, 0, (file->n_marks - before) * sizeof *file->marks);
    }
    file->n_answered += !file->marks[line - 1];
    file->marks[line - 1] = mark;
    return BATON_OK;
}

static enum baton_err not_answers(const struct bt_batch_file *file, const struct baton_lines *lines,
                                  struct baton_why *why)
{
    return baton_fail(why, BATON_INVALID,
                      "%s: line %" PRIu64 ": not an answer of a batch; give --out another file",
                      file->out_path, lines->number);
}

static enum baton_err read_answer(struct bt_batch_file *file, const struct baton_lines *lines,
                                  const struct baton_buf *text, struct baton_why *why)
{
    uint64_t line;
    uint32_t mark;
    enum baton_err err = baton_batch_read_answer(text, &line, &mark);
    if (!err)
        err = keep_mark(file, line, mark);
    return err == BATON_INVALID ? not_answers(file, lines, why) : err;
}

/* Reads the answers of earlier runs. A last line without a line feed was cut off by a crash: it is
 * removed, and its request is sent again. But only an answer's: the end of another file stays. */
static enum baton_err read_answers(struct bt_batch_file *file, struct baton_lines *lines,
                                   struct baton_why *why)
{
    struct baton_buf text;
    enum baton_err err = BATON_OK;
    baton_buf_init(&text, ANSWER_MAX_BYTES);
    while (!err && !(err = baton_lines_next(lines, &text)) && lines->is_whole) {
        err = read_answer(file, lines, &text, why);
        file->out_bytes = lines->offset_bytes;
    }
    if (!err && !baton_batch_begins_answer(&text))
        err = not_answers(file, lines, why);
    baton_buf_fini(&text);
    if (err && err != BATON_NOT_FOUND)
        return why && *why->text ? err : baton_fail(why, err, "%s: cannot be read", file->out_path);
    if (ftruncate(file->out_fd, (off_t)file->out_bytes) ||
        lseek(file->out_fd, (off_t)file->out_bytes, SEEK_SET) < 0)
        return io_error(file->out_path, why);
    return BATON_OK;
}

/* ---- open and close ---- */

static enum baton_err open_in(struct bt_batch_file *file, struct baton_why *why)
{
    struct stat info;
    int fd = open(file->in_path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return io_error(file->in_path, why);
    baton_lines_init(&file->lines, fd);
    if (fstat(fd, &info))
        return io_error(file->in_path, why);
    file->in_bytes = (uint64_t)info.st_size;
    return BATON_OK;
}

static enum baton_err open_out(struct bt_batch_file *file, struct baton_why *why)
{
    struct baton_lines *lines = malloc(sizeof *lines);
    if (!lines)
        return BATON_NO_MEMORY;
    const struct baton_own_kind kind = {.magic = ""}; /* read_answers judges the contents */
    enum baton_err err = baton_own_file_open(AT_FDCWD, file->out_path, file->out_path,
                                             O_RDWR | O_CREAT, 0644, &kind, &file->out_fd, why);
    if (!err && flock(file->out_fd, LOCK_EX | LOCK_NB))
        err = baton_fail(why, BATON_AGAIN, "%s: another run writes to it", file->out_path);
    if (!err) {
        baton_lines_init(lines, file->out_fd);
        err = read_answers(file, lines, why);
    }
    free(lines);
    return err;
}

void bt_batch_file_init(struct bt_batch_file *file)
{
    memset(file, 0, sizeof *file);
    file->lines.fd = file->out_fd = -1;
}

enum baton_err bt_batch_file_open(struct bt_batch_file *file, const char *in_path,
                                  const char *out_path, struct baton_why *why)
{
    bt_batch_file_init(file);
    file->in_path = in_path;
    file->out_path = out_path;
    enum baton_err err = open_in(file, why);
    if (!err)
        err = open_out(file, why);
    if (err)
        bt_batch_file_close(file);
    return err;
}

void bt_batch_file_close(struct bt_batch_file *file)
{
    if (file->lines.fd >= 0)
        (void)close(file->lines.fd);
    if (file->out_fd >= 0)
        (void)close(file->out_fd);
    free(file->marks);
    file->marks = NULL;
    file->lines.fd = file->out_fd = -1;
}

/* ---- requests and answers ---- */

static void report_bad_line(struct bt_batch_file *file, const char *reason)
{
    file->n_bad++;
    (void)fprintf(stderr, "%s: line %" PRIu64 ": %s\n", file->in_path, file->lines.number, reason);
}

/* Finds out whether the request has an answer. INVALID when that is the answer to another
 * request. */
static enum baton_err check_mark(const struct bt_batch_file *file,
                                 const struct baton_batch_request *request, bool *is_answered,
                                 struct baton_why *why)
{
    uint32_t mark = request->line <= file->n_marks ? file->marks[request->line - 1] : 0;
    *is_answered = mark != 0;
    if (mark &&
        mark != baton_batch_mark(baton_buf_text(&request->custom_id), request->custom_id.len))
        return baton_fail(why, BATON_INVALID,
                          "%s: its answer to line %" PRIu64 " has another custom_id than %s; give "
                          "--out another file",
                          file->out_path, request->line, file->in_path);
    return BATON_OK;
}

enum baton_err bt_batch_file_next(struct bt_batch_file *file, struct baton_buf *line,
                                  struct baton_batch_request *request, struct baton_why *why)
{
    for (;;) {
        struct baton_why reason = {.text = ""};
        bool is_answered = false;
        enum baton_err err = baton_lines_next(&file->lines, line);
        if (err == BATON_NOT_FOUND)
            return err;
        if (err == BATON_IO || err == BATON_NO_MEMORY)
            return baton_fail(why, err, "%s: cannot be read", file->in_path);
        if (err == BATON_LIMIT) {
            report_bad_line(file, "the line is longer than 16 MiB");
            continue;
        }
        /* Empty lines are no requests, and no errors either. */
        if (strspn(baton_buf_text(line), " \t\r") == line->len)
            continue;
        err = baton_batch_request_read(request, file->lines.number, line, &reason);
        if (err == BATON_NO_MEMORY)
            return baton_fail(why, err, "no memory for line %" PRIu64, file->lines.number);
        if (err) {
            report_bad_line(file, reason.text);
            continue;
        }
        err = check_mark(file, request, &is_answered, why);
        if (err || !is_answered)
            return err;
    }
}

enum baton_err bt_batch_file_append(struct bt_batch_file *file, const struct baton_buf *answer,
                                    struct baton_why *why)
{
    size_t n_done = 0;
    if (baton_buf_err(answer))
        return baton_fail(why, baton_buf_err(answer), "no memory for an answer");
    while (n_done < answer->len) {
        ssize_t n = write(file->out_fd, answer->data + n_done, answer->len - n_done);
        if (n < 0 && errno == EINTR)
            continue;
        /* A part of a line must not stay: the next answer would be appended to it. */
        if (n < 0) {
            enum baton_err err = io_error(file->out_path, why);
            if (ftruncate(file->out_fd, (off_t)file->out_bytes) ||
                lseek(file->out_fd, (off_t)file->out_bytes, SEEK_SET) < 0)
                return err; /* the next run removes the part */
            return err;
        }
        n_done += (size_t)n;
    }
    file->out_bytes += answer->len;
    return BATON_OK;
}

enum baton_err bt_batch_file_sync(const struct bt_batch_file *file, struct baton_why *why)
{
    /* EINVAL: the output is a pipe or a terminal, which cannot be synchronised. */
    return fdatasync(file->out_fd) && errno != EINVAL ? io_error(file->out_path, why) : BATON_OK;
}
