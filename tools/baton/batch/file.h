/* The two files of a batch: its requests, and the answers so far.
 *
 * An answer is one write at the end of the file, so it is whole or, after a crash, the last line
 * without an end, which is cut off when the file is opened again. Which lines have an answer is
 * told by the answers themselves; four bytes a line are kept of them. A lock keeps a second run off
 * the file.
 *
 * Ownership: the struct is embedded; open to close.
 * Threading: one owner at a time; sync from any thread beside.
 * Errors:    INVALID (a file of something else), NOT_FOUND, IO, AGAIN (another run has it), LIMIT.
 */
#ifndef BATON_TOOLS_BATON_BATCH_FILE_H
#define BATON_TOOLS_BATON_BATCH_FILE_H

#include "tools/baton/batch/lines.h"
#include "tools/baton/batch/request.h"

struct bt_batch_file {
    const char *in_path, *out_path;
    struct bt_lines lines; /* of the requests */
    uint64_t in_bytes;     /* the file's size */
    int out_fd;
    uint64_t out_bytes;
    uint32_t *marks; /* [n_marks]: of the answer to line i + 1, 0: none */
    size_t n_marks;
    uint64_t n_answered; /* when it was opened */
    uint64_t n_bad;      /* lines that are no requests, so far */
};

/* Of none, which may be closed. */
void bt_batch_file_init(struct bt_batch_file *file);
/* Borrows the paths. */
enum baton_err bt_batch_file_open(struct bt_batch_file *file, const char *in_path,
                                  const char *out_path, struct baton_why *why) BATON_MUST_CHECK;
void bt_batch_file_close(struct bt_batch_file *file);

/* The next request without an answer; line is a scratch buffer of BT_BATCH_LINE_MAX_BYTES. Empty
 * lines are passed; bad ones are too, and told on stderr with their number. NOT_FOUND: no more. */
enum baton_err bt_batch_file_next(struct bt_batch_file *file, struct baton_buf *line,
                                  struct bt_batch_request *request,
                                  struct baton_why *why) BATON_MUST_CHECK;

/* Appends an answer's line. After an error nothing of it is there. */
enum baton_err bt_batch_file_append(struct bt_batch_file *file, const struct baton_buf *answer,
                                    struct baton_why *why) BATON_MUST_CHECK;

/* What was appended survives the machine's end. */
enum baton_err bt_batch_file_sync(const struct bt_batch_file *file,
                                  struct baton_why *why) BATON_MUST_CHECK;

#endif
