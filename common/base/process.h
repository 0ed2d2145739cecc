/* The body of every main(): it reads the options, opens the log, runs, and returns an exit status,
 * with one readable line on failure.
 *
 * Ownership: everything is the caller's.
 * Threading: the main thread.
 * Errors:    printed as "baton-x: reason"; the return value is main's.
 */
#ifndef BATON_COMMON_BASE_PROCESS_H
#define BATON_COMMON_BASE_PROCESS_H

#include "common/base/options/config.h"

struct baton_log_options {
    const char *level, *file;
    int format; /* enum baton_log_format */
};

/* Rows of a process's option table; in is the struct baton_log_options inside its struct. */
#define BATON_LOG_OPTIONS(type, in)                                                                \
    BATON_ROW_TEXT(type, in.level, "log-level", "info",                                            \
                   "lowest level that is logged: debug, info, warn or error"),                     \
        BATON_ROW_CHOICE(type, in.format, "log-format", "logfmt", "logfmt|json",                   \
                         "format of a log line"),                                                  \
        BATON_ROW_TEXT(type, in.file, "log-file", "",                                              \
                       "log file, reopened on SIGUSR1; \"\": stderr")

struct baton_process {
    /* "baton-prefill": "prefill" in the log, BATON_PREFILL_* in the environment */
    const char *name;
    const char *summary;
    const struct baton_option *table;
    size_t n_options;
    void *options;                       /* filled from the table */
    const struct baton_log_options *log; /* part of the options */
    enum baton_err (*run)(void *options, struct baton_why *why);
};

int baton_process_main(const struct baton_process *process, int argc, char **argv);

#endif
