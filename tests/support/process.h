/* A child process with its output read line by line, and its input written to.
 *
 * Ownership: the caller's struct; process_end reaps the child.
 * Threading: one thread.
 * Errors:    false when the child could not be started or the line did not come in time.
 */
#ifndef BATON_TESTS_SUPPORT_PROCESS_H
#define BATON_TESTS_SUPPORT_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct process {
    pid_t pid;
    int in, out; /* the child's stdin; its stdout and stderr */
    char buffer[8192];
    size_t n;
};

/* argv[0] is the path; NULL ends argv. */
bool process_start(struct process *process, const char *const *argv);

/* Skips lines until one contains text; copies it to line, which may be NULL. */
bool process_expect(struct process *process, const char *text, char *line, size_t size,
                    int timeout_ms);
void process_order(struct process *process, const char *line);

/* kill -9 and reap; harmless when there is none. */
void process_end(struct process *process);

#endif
