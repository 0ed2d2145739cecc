/* The two files of a batch: its requests and their answers.
 *
 * An answer is appended by one write, so it is complete or, after a crash, a last line without a
 * line feed, which is removed when the file is opened again. The answers themselves show which
 * lines are done; four bytes a line are kept of them. A lock keeps a second run off the file.
 *
 * Ownership: the struct is embedded; it is valid from open to close.
 * Threading: one owner at a time; sync may be called from another thread meanwhile.
 * Errors:    INVALID (the file holds something else), NOT_FOUND, IO, AGAIN (another run has the
 *            file), LIMIT.
 */
#ifndef BATON_TOOLS_BATON_BATCH_FILE_H
#define BATON_TOOLS_BATON_BATCH_FILE_H

#include "common/batch/lines.h"
#include "common/batch/request.h"

struct bt_batch_file {
    const char *in_path, *out_path;
    struct baton_lines lines; /* of the requests */
    uint64_t in_bytes;        /* size of the file of requests */
    int out_fd;
    uint64_t out_bytes;
    uint32_t *marks; /* [n_marks]; entry i marks the answer to line i + 1, 0 if there is none */
    size_t n_marks;
    uint64_t n_answered; /* counted when the file was opened */
    uint64_t n_bad;      /* lines so far that are not valid requests */
};

/* Initialises it without open files; close is allowed. */
void bt_batch_file_init(struct bt_batch_file *file);
/* Borrows the paths. */
enum baton_err bt_batch_file_open(struct bt_batch_file *file, const char *in_path,
                                  const char *out_path, struct baton_why *why) BATON_MUST_CHECK;
void bt_batch_file_close(struct bt_batch_file *file);

/* Reads the next request without an answer; line is a scratch buffer of BATON_BATCH_LINE_MAX_BYTES.
 * Skips empty lines, and bad ones, which it reports on stderr with their number. NOT_FOUND when no
 * line is left. */
enum baton_err bt_batch_file_next(struct bt_batch_file *file, struct baton_buf *line,
                                  struct baton_batch_request *request,
                                  struct baton_why *why) BATON_MUST_CHECK;

/* Appends an answer's line. After an error no part of it is in the file. */
enum baton_err bt_batch_file_append(struct bt_batch_file *file, const struct baton_buf *answer,
                                    struct baton_why *why) BATON_MUST_CHECK;

/* Forces what was appended to the disk. */
enum baton_err bt_batch_file_sync(const struct bt_batch_file *file,
                                  struct baton_why *why) BATON_MUST_CHECK;

#endif
