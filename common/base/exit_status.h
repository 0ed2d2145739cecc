/* The exit statuses of all programs; docs/using.md has the same table.
 *
 * Pure.
 */
#ifndef BATON_COMMON_BASE_EXIT_STATUS_H
#define BATON_COMMON_BASE_EXIT_STATUS_H

enum baton_exit {
    BATON_EXIT_OK = 0,
    BATON_EXIT_FAILED = 1,
    BATON_EXIT_MISUSED = 2,          /* an unknown command or option, or a value out of range */
    BATON_EXIT_NOT_RUNNING = 3,      /* baton status: nothing runs */
    BATON_EXIT_WITH_ERRORS = 3,      /* baton batch: all lines are done, some with an error */
    BATON_EXIT_DEGRADED = 4,         /* baton status: only a part runs */
    BATON_EXIT_INTERRUPTED = 128 + 2 /* Ctrl-C, as shells count signals */
};

#endif
