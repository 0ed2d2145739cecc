#include "tools/baton/fleet/log_output.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/base/json.h"
#include "common/base/log.h"

/* A line is one write of at most 4096 bytes (PIPE_BUF): a pipe that poll reports writable has space
 * for it. */
enum { LINE_MAX_BYTES = 4096, PREFIX_MAX_BYTES = 64, OUTPUT_MAX_BYTES = 512, PATIENCE_MS = 200 };

static bool is_writable(const struct bt_log_output *output)
{
    struct pollfd out = {.fd = output->fd, .events = POLLOUT};
    /* A reader that once kept us waiting is not waited for again until it reads. */
    return poll(&out, 1, output->n_dropped ? 0 : PATIENCE_MS) == 1 && (out.revents & POLLOUT);
}

static void write_text(const struct bt_log_output *output, const char *name, const char *line,
                       size_t n)
{
    char text[LINE_MAX_BYTES];
    int used = *name ? snprintf(text, PREFIX_MAX_BYTES, "%-*s | ", output->name_width, name) : 0;
    size_t left = sizeof text - (size_t)used - 1;
    if (n > left)
        n = left;
    memcpy(text + used, line, n);
    text[(size_t)used + n] = '\n';
    ssize_t written = write(output->fd, text, (size_t)used + n + 1);
    (void)written; /* if the reader is gone, nothing can be done */
}

/* Writes the object with its process's name in front. False when the line is no object or too
 * long. */
static bool write_object(const struct bt_log_output *output, const char *name, const char *line,
                         size_t n)
{
    char text[LINE_MAX_BYTES];
    struct baton_json *root = NULL;
    if (n < 2 || *line != '{' || line[n - 1] != '}' || baton_json_parse(line, n, &root, NULL))
        return false;
    int used = snprintf(text, sizeof text, "{\"process\":\"%s\"%s%.*s\n", name,
                        baton_json_size(root) ? "," : "", (int)n - 1, line + 1);
    baton_json_free(root);
    if (used < 0 || (size_t)used >= sizeof text)
        return false;
    ssize_t written = write(output->fd, text, (size_t)used);
    (void)written;
    return true;
}

static void write_line(const struct bt_log_output *output, const char *name, const char *line,
                       size_t n)
{
    char output_text[OUTPUT_MAX_BYTES];
    if (!output->is_json) {
        write_text(output, name, line, n);
    } else if (!write_object(output, name, line, n)) {
        (void)snprintf(output_text, sizeof output_text, "%.*s", (int)n, line);
        baton_log(BATON_LOG_INFO, "process_output", BATON_S("name", name),
                  BATON_S("text", output_text));
    }
}

static void report_dropped(struct bt_log_output *output, const char *name)
{
    char lost[80];
    const char *form = output->is_json ? "{\"ev\":\"log_lines_dropped\",\"lines\":%llu}"
                                       : "ev=log_lines_dropped lines=%llu";
    int n = snprintf(lost, sizeof lost, form, (unsigned long long)output->n_dropped);
    output->n_dropped = 0;
    write_line(output, name, lost, (size_t)n);
}

void bt_log_output_line(struct bt_log_output *output, const char *name, const char *line, size_t n)
{
    if (!is_writable(output)) {
        output->n_dropped++;
        return;
    }
    if (output->n_dropped) {
        report_dropped(output, name);
        /* The report may have filled the pipe, so it is checked again. */
        bt_log_output_line(output, name, line, n);
        return;
    }
    write_line(output, name, line, n);
}

/* ---- from a process ---- */

static void flush_line(struct bt_log_input *input)
{
    if (input->line.len)
        bt_log_output_line(input->output, input->name, input->line.data, input->line.len);
    baton_buf_reset(&input->line);
}

static void split_lines(struct bt_log_input *input, const char *bytes, size_t n)
{
    while (n) {
        const char *end = memchr(bytes, '\n', n);
        size_t n_part = end ? (size_t)(end - bytes) : n;
        baton_buf_append(&input->line, bytes, n_part);
        /* A line that exceeds the buffer is written in parts. */
        if (end || baton_buf_err(&input->line))
            flush_line(input);
        n_part += end != NULL;
        bytes += n_part;
        n -= n_part;
    }
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
    struct bt_log_input *input = handle->data;
    (void)suggested;
    *buf = uv_buf_init(input->bytes, sizeof input->bytes);
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    struct bt_log_input *input = stream->data;
    if (n > 0)
        split_lines(input, buf->base, (size_t)n);
    else if (n < 0)
        bt_log_input_close(input);
}

enum baton_err bt_log_input_open(struct bt_log_input *input, uv_loop_t *loop,
                                 struct bt_log_output *output, const char *name, int read_fd,
                                 struct baton_why *why)
{
    input->output = output;
    input->name = name;
    input->pipe.data = input;
    baton_buf_init(&input->line, LINE_MAX_BYTES);
    int status = uv_pipe_init(loop, &input->pipe, 0);
    if (!status)
        status = uv_pipe_open(&input->pipe, read_fd);
    if (status) {
        (void)close(read_fd);
        return baton_fail(why, BATON_IO, "the log's pipe: %s", uv_strerror(status));
    }
    input->is_open = true;
    status = uv_read_start((uv_stream_t *)&input->pipe, on_alloc, on_read);
    return status ? baton_fail(why, BATON_IO, "the log's pipe: %s", uv_strerror(status)) : BATON_OK;
}

void bt_log_input_close(struct bt_log_input *input)
{
    uv_os_fd_t fd;
    ssize_t n;
    if (!input->is_open)
        return;
    input->is_open = false;
    if (!uv_fileno((uv_handle_t *)&input->pipe, &fd))
        while ((n = read(fd, input->bytes, sizeof input->bytes)) > 0) /* the pipe does not block */
            split_lines(input, input->bytes, (size_t)n);
    flush_line(input);
    baton_buf_fini(&input->line);
    uv_close((uv_handle_t *)&input->pipe, NULL);
}
