#include "tools/support/sse_reader.h"

#include <string.h>

void ld_sse_init(struct ld_sse *sse)
{
    *sse = (struct ld_sse){.began = false};
    baton_buf_init(&sse->line, LD_SSE_MAX_BYTES);
    baton_buf_init(&sse->name, LD_SSE_MAX_BYTES);
    baton_buf_init(&sse->data, LD_SSE_MAX_BYTES);
}

void ld_sse_fini(struct ld_sse *sse)
{
    baton_buf_fini(&sse->line);
    baton_buf_fini(&sse->name);
    baton_buf_fini(&sse->data);
}

static void forget_event(struct ld_sse *sse)
{
    baton_buf_reset(&sse->name);
    baton_buf_reset(&sse->data);
    sse->has_data = false;
}

void ld_sse_reset(struct ld_sse *sse)
{
    baton_buf_reset(&sse->line);
    forget_event(sse);
    sse->after_cr = sse->began = false;
}

static enum baton_err dispatch(struct ld_sse *sse, ld_event_fn on_event, void *arg)
{
    const struct ld_event event = {.name = baton_buf_text(&sse->name),
                                   .data = baton_buf_text(&sse->data),
                                   .n_data = sse->data.len};
    enum baton_err err = sse->has_data ? on_event(arg, &event) : BATON_OK;
    forget_event(sse);
    return err;
}

static void read_field(struct ld_sse *sse, const char *line, size_t n)
{
    const char *colon = memchr(line, ':', n);
    size_t n_name = colon ? (size_t)(colon - line) : n;
    size_t at = colon ? n_name + 1 : n;
    if (at < n && line[at] == ' ')
        at++;
    if (n_name == 4 && !memcmp(line, "data", 4)) {
        if (sse->has_data)
            baton_buf_putc(&sse->data, '\n');
        baton_buf_append(&sse->data, line + at, n - at);
        sse->has_data = true;
    } else if (n_name == 5 && !memcmp(line, "event", 5)) {
        baton_buf_reset(&sse->name);
        baton_buf_append(&sse->name, line + at, n - at);
    }
}

static enum baton_err end_of_line(struct ld_sse *sse, const char *line, size_t n,
                                  ld_event_fn on_event, void *arg)
{
    /* A byte order mark is skipped only at the beginning of the stream. */
    if (!sse->began && n >= 3 && !memcmp(line, "\xef\xbb\xbf", 3)) {
        line += 3;
        n -= 3;
    }
    sse->began = true;
    if (!n)
        return dispatch(sse, on_event, arg);
    read_field(sse, line, n);
    return baton_buf_err(&sse->data) ? baton_buf_err(&sse->data) : baton_buf_err(&sse->name);
}

/* Returns the first line end within n bytes, or NULL. */
static const char *find_end(const char *bytes, size_t n)
{
    const char *lf = memchr(bytes, '\n', n);
    const char *cr = memchr(bytes, '\r', lf ? (size_t)(lf - bytes) : n);
    return cr ? cr : lf;
}

/* Completes a line. Its earlier bytes, if any, are in sse->line. */
static enum baton_err end_line(struct ld_sse *sse, const char *bytes, size_t n,
                               ld_event_fn on_event, void *arg)
{
    if (!sse->line.len)
        return n > LD_SSE_MAX_BYTES ? BATON_LIMIT : end_of_line(sse, bytes, n, on_event, arg);
    baton_buf_append(&sse->line, bytes, n);
    enum baton_err err = baton_buf_err(&sse->line);
    if (!err)
        err = end_of_line(sse, sse->line.data, sse->line.len, on_event, arg);
    baton_buf_reset(&sse->line);
    return err;
}

enum baton_err ld_sse_feed(struct ld_sse *sse, const char *bytes, size_t n, ld_event_fn on_event,
                           void *arg)
{
    enum baton_err err = BATON_OK;
    while (n && !err) {
        /* The line feed of a CR LF may arrive in the next chunk. */
        if (sse->after_cr && *bytes == '\n') {
            bytes++;
            n--;
        }
        sse->after_cr = false;
        const char *end = n ? find_end(bytes, n) : NULL;
        size_t length = end ? (size_t)(end - bytes) : n;
        if (!end) {
            baton_buf_append(&sse->line, bytes, n);
            return baton_buf_err(&sse->line);
        }
        sse->after_cr = *end == '\r';
        err = end_line(sse, bytes, length, on_event, arg);
        bytes += length + 1;
        n -= length + 1;
    }
    return err;
}
