/* Reads a file of any length line by line, with a bounded length of a line.
 *
 * Ownership: the struct is embedded; a line is written to the caller's buffer.
 * Threading: one owner at a time.
 * Errors:    NOT_FOUND (no line is left), LIMIT (the line is longer than its buffer and was
 *            skipped), IO, NO_MEMORY.
 */
#ifndef BATON_COMMON_BATCH_LINES_H
#define BATON_COMMON_BATCH_LINES_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "common/base/error.h"

enum { BATON_LINES_READ_BYTES = 64 << 10 };

struct baton_lines {
    int fd;
    uint64_t number;       /* of the last line, from 1 */
    uint64_t offset_bytes; /* of the byte behind it */
    bool is_whole;         /* it ended with a line feed */
    size_t begin, end;     /* the range of bytes that was not used yet */
    char bytes[BATON_LINES_READ_BYTES];
};

/* Starts at the file's first byte. */
void baton_lines_init(struct baton_lines *lines, int fd);

/* Reads the next line without its line feed into a buffer that was initialised. */
enum baton_err baton_lines_next(struct baton_lines *lines, struct baton_buf *line) BATON_MUST_CHECK;

#endif
