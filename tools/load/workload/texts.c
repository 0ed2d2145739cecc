#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "common/base/os/file.h"
#include "common/base/utf8.h"
#include "tools/load/workload/workload.h"

enum { FILE_MAX_BYTES = 256 << 20 };

static enum baton_err add_line(struct ld_texts *texts, const char *line, size_t n)
{
    if (BATON_RESERVE(texts->lines, texts->cap, texts->n + 1))
        return BATON_NO_MEMORY;
    texts->lines[texts->n] = strndup(line, n);
    return texts->lines[texts->n] ? texts->n++, BATON_OK : BATON_NO_MEMORY;
}

static enum baton_err add_lines(const char *path, const char *text, size_t n,
                                struct ld_texts *texts, struct baton_why *why)
{
    enum baton_err err = BATON_OK;
    for (size_t begin = 0, line = 1; begin < n && !err; line++) {
        const char *from = text + begin, *end = memchr(from, '\n', n - begin);
        size_t length = end ? (size_t)(end - from) : n - begin;
        begin += length + 1;
        /* Lines may end in CR LF. */
        if (length && from[length - 1] == '\r')
            length--;
        if (memchr(from, 0, length) || !baton_utf8_valid(from, length))
            err = baton_fail(why, BATON_INVALID, "%s: line %zu: is not UTF-8 text", path, line);
        else if (length)
            err = add_line(texts, from, length);
    }
    if (!err && !texts->n)
        err = baton_fail(why, BATON_INVALID, "%s: holds no prompt", path);
    return err;
}

enum baton_err ld_texts_read(const char *path, struct ld_texts *texts, struct baton_why *why)
{
    struct ld_texts read = {.n = 0};
    struct baton_buf text;
    baton_buf_init(&text, FILE_MAX_BYTES);
    enum baton_err err = baton_file_read(path, &text, why);
    if (!err)
        err = add_lines(path, baton_buf_text(&text), text.len, &read, why);
    baton_buf_fini(&text);
    if (err)
        ld_texts_fini(&read);
    else
        *texts = read;
    return err;
}

void ld_texts_fini(struct ld_texts *texts)
{
    for (size_t i = 0; i < texts->n; i++)
        free(texts->lines[i]);
    free(texts->lines);
    *texts = (struct ld_texts){0};
}
