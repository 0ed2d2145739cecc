/* The one log of a fleet: lines of every process, each with its process's name in front.
 *
 *     prefill-0 | ts=... lvl=info proc=prefill ...
 *     {"process":"prefill-0","ts":"...","lvl":"info","proc":"prefill", ...}      as JSON
 *
 * As JSON every line is one object. A line of a process that is not an object, such as the reason
 * for its end, becomes the text of an event `process_output`.
 *
 * Ownership: embedded; open to close.
 * Threading: the loop's.
 * Errors:    none: lines that the reader does not accept are dropped, and their number is logged
 *            when it reads again. A full pipe must not keep the supervisor from its work.
 */
#ifndef BATON_TOOLS_BATON_FLEET_LOG_OUTPUT_H
#define BATON_TOOLS_BATON_FLEET_LOG_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "common/base/buf.h"

struct bt_log_output {
    int fd;
    bool is_json;
    int name_width; /* width of the longest name; unused as JSON */
    uint64_t n_dropped;
};

/* The output of one process: a pipe from it, and the incomplete line that arrived so far. */
struct bt_log_input {
    uv_pipe_t pipe;
    struct bt_log_output *output;
    const char *name; /* "" writes lines unchanged */
    struct baton_buf line;
    char bytes[4096];
    bool is_open;
};

/* Writes one line of n bytes without its line feed. */
void bt_log_output_line(struct bt_log_output *output, const char *name, const char *line, size_t n);

/* Reads from read_fd, which it owns from here on, until its end or bt_log_input_close. */
enum baton_err bt_log_input_open(struct bt_log_input *input, uv_loop_t *loop,
                                 struct bt_log_output *output, const char *name, int read_fd,
                                 struct baton_why *why) BATON_MUST_CHECK;
/* Reads the rest that is in the pipe, and closes. */
void bt_log_input_close(struct bt_log_input *input);

#endif
