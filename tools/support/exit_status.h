/* The exit statuses of the command line tools; docs/using.md has the same table.
 *
 * Pure.
 */
#ifndef BATON_TOOLS_SUPPORT_EXIT_STATUS_H
#define BATON_TOOLS_SUPPORT_EXIT_STATUS_H

enum cli_exit {
    CLI_EXIT_OK = 0,
    CLI_EXIT_FAILED = 1,
    CLI_EXIT_MISUSED = 2,          /* an unknown command or option, or a value out of range */
    CLI_EXIT_NOT_RUNNING = 3,      /* baton status: nothing runs */
    CLI_EXIT_WITH_ERRORS = 3,      /* baton batch: all lines are done, some with an error */
    CLI_EXIT_DEGRADED = 4,         /* baton status: only a part runs */
    CLI_EXIT_INTERRUPTED = 128 + 2 /* Ctrl-C, as shells count signals */
};

#endif
