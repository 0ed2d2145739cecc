/* A command's access to a server: loop, connections, interrupt, priority.
 *
 * Ownership: the command is borrowed from open to close; an open client must not move.
 * Threading: the loop's thread.
 * Errors:    LIMIT when the system does not allow so many connections, IO, and those of resolving
 *            the URL.
 */
#ifndef BATON_TOOLS_LOAD_HTTP_CLIENT_H
#define BATON_TOOLS_LOAD_HTTP_CLIENT_H

#include "tools/load/run.h"

struct ld_client {
    struct ld_stand stand; /* for its runs */
    struct ld_setting setting;
    struct ld_pool pool;
    uv_loop_t loop;
    uv_signal_t interrupt; /* ends the run early, with its report; the next one ends the program */
};

enum baton_err ld_client_open(struct ld_client *client, const struct ld_command *command,
                              struct baton_why *why) BATON_MUST_CHECK;
void ld_client_close(struct ld_client *client);

#endif
