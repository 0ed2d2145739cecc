#include "common/batch/lines.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

void baton_lines_init(struct baton_lines *lines, int fd)
{
    lines->fd = fd;
    lines->number = lines->offset_bytes = 0;
    lines->is_whole = true;
    lines->begin = lines->end = 0;
}

/* Refills the buffer. OK with an empty buffer means the end of the file. */
static enum baton_err fill(struct baton_lines *lines)
{
    ssize_t n;
    while ((n = read(lines->fd, lines->bytes, sizeof lines->bytes)) < 0 && errno == EINTR)
        ;
    if (n < 0)
        return BATON_IO;
    lines->begin = 0;
    lines->end = (size_t)n;
    return BATON_OK;
}

/* Moves bytes to the line, up to its end or as many as the buffer has. */
static void move_bytes(struct baton_lines *lines, struct baton_buf *line)
{
    const char *from = lines->bytes + lines->begin;
    size_t n_left = lines->end - lines->begin;
    const char *feed = memchr(from, '\n', n_left);
    size_t n = feed ? (size_t)(feed - from) : n_left;
    baton_buf_append(line, from, n);
    lines->is_whole = feed != NULL;
    lines->begin += n + lines->is_whole;
    lines->offset_bytes += n + lines->is_whole;
}

enum baton_err baton_lines_next(struct baton_lines *lines, struct baton_buf *line)
{
    uint64_t begin_bytes = lines->offset_bytes;
    baton_buf_reset(line);
    lines->is_whole = false;
    while (!lines->is_whole) {
        enum baton_err err = lines->begin == lines->end ? fill(lines) : BATON_OK;
        if (err)
            return err;
        if (lines->begin == lines->end)
            break;
        move_bytes(lines, line);
    }
    /* A last line without a line feed counts; only no byte at all is the end. */
    if (lines->offset_bytes == begin_bytes)
        return BATON_NOT_FOUND;
    lines->number++;
    return baton_buf_err(line);
}
