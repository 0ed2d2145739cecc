/* The one log of a fleet: lines of every process, each after its process's name.
 *
 *     prefill-0 | ts=... lvl=info proc=prefill ...
 *     {"process":"prefill-0","ts":"...","lvl":"info","proc":"prefill", ...}      as JSON
 *
 * As JSON every line is one object: what a process writes that is none, such as the reason that it
 * ends with, becomes the text of an event `process_output`.
 *
 * Ownership: embedded; open to close.
 * Threading: the loop's.
 * Errors:    none: lines that nobody takes are dropped, and how many is said when somebody does. A
 *            full pipe must not keep the fleet from being looked after.
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
    int name_width; /* of the longest name; not as JSON */
    uint64_t n_dropped;
};

/* What one process says: a pipe from it, and the part of a line that came so far. */
struct bt_log_input {
    uv_pipe_t pipe;
    struct bt_log_output *output;
    const char *name; /* "" writes lines as they are */
    struct baton_buf line;
    char bytes[4096];
    bool is_open;
};

/* Writes one line, n bytes without its end. */
void bt_log_output_line(struct bt_log_output *output, const char *name, const char *line, size_t n);

/* Reads from *read_fd, which it takes over, until its end or bt_log_input_close. */
enum baton_err bt_log_input_open(struct bt_log_input *input, uv_loop_t *loop,
                                 struct bt_log_output *output, const char *name, int read_fd,
                                 struct baton_why *why) BATON_MUST_CHECK;
/* Takes what is there yet, and closes. */
void bt_log_input_close(struct bt_log_input *input);

#endif
