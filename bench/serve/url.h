/* Where the server is: http://HOST[:PORT][/PATH], with an IPv6 address in brackets.
 *
 * Ownership: plain values.
 * Threading: resolve waits for the resolver and for a connection; call it before the loop runs.
 * Errors:    INVALID names the option; resolve: NOT_FOUND (no such host), IO (nobody answers
 * there).
 */
#ifndef BATON_BENCH_SERVE_URL_H
#define BATON_BENCH_SERVE_URL_H

#include <sys/socket.h>

#include "common/base/error.h"

enum { SV_HOST_BYTES = 256, SV_PORT_BYTES = 6, SV_PATH_BYTES = 256 };

struct sv_url {
    char host[SV_HOST_BYTES]; /* without brackets */
    char port[SV_PORT_BYTES];
    char authority[SV_HOST_BYTES + SV_PORT_BYTES + 3]; /* as the Host header says it */
    char path[SV_PATH_BYTES];                          /* before the API's own, "" or "/..." */
};

enum baton_err sv_url_parse(const char *option, const char *text, struct sv_url *url,
                            struct baton_why *why) BATON_MUST_CHECK;

/* The first of the host's addresses that takes a connection. */
enum baton_err sv_url_resolve(const struct sv_url *url, struct sockaddr_storage *address,
                              struct baton_why *why) BATON_MUST_CHECK;

#endif
