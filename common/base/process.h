/* What every main() does: options in, log on, run, an exit status and one readable line on failure.
 *
 * Ownership: the option struct is the caller's.
 * Threading: the main thread.
 * Errors:    printed as "baton-x: reason"; the return value is main's.
 */
#ifndef BATON_COMMON_BASE_PROCESS_H
#define BATON_COMMON_BASE_PROCESS_H

#include "common/base/options/config.h"

struct baton_process {
    struct baton_config config;
    void *options;          /* filled from config */
    const char **log_level; /* the options that name the level, the format and the file */
    const int *log_format;  /* enum baton_log_format */
    const char **log_file;
    const char *log_name; /* "prefill" */
    enum baton_err (*run)(void *options, struct baton_why *why);
};

int baton_process_main(struct baton_process *process, int argc, char **argv);

#endif
