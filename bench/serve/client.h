/* What a command's runs need to reach a server: loop, connections, interrupt, priority.
 *
 * Ownership: the command is borrowed from open to close; do not move an open client.
 * Threading: the loop's thread.
 * Errors:    LIMIT when so many connections can not be; those of resolving the URL; IO.
 */
#ifndef BATON_BENCH_SERVE_CLIENT_H
#define BATON_BENCH_SERVE_CLIENT_H

#include "bench/serve/run.h"

struct sv_client {
    struct sv_stand stand; /* of its runs */
    struct sv_setting setting;
    struct sv_pool pool;
    uv_loop_t loop;
    uv_signal_t interrupt; /* ends the run early, with its report; the next one ends the program */
};

enum baton_err sv_client_open(struct sv_client *client, const struct sv_command *command,
                              struct baton_why *why) BATON_MUST_CHECK;
void sv_client_close(struct sv_client *client);

#endif
