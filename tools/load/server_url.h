/* Where the server is: http://HOST[:PORT][/PATH], with an IPv6 address in brackets.
 *
 * Ownership: plain values.
 * Threading: resolve waits for the resolver and for a connection; call it before the loop runs.
 * Errors:    INVALID names the option; resolve: NOT_FOUND (no such host), IO (no server answers
 *            there).
 */
#ifndef BATON_LOAD_SERVER_URL_H
#define BATON_LOAD_SERVER_URL_H

#include <sys/socket.h>

#include "common/base/error.h"

enum { LD_HOST_BYTES = 256, LD_PORT_BYTES = 6, LD_PATH_BYTES = 256 };

struct ld_url {
    char host[LD_HOST_BYTES]; /* without brackets */
    char port[LD_PORT_BYTES];
    char authority[LD_HOST_BYTES + LD_PORT_BYTES + 3]; /* as the Host header says it */
    char path[LD_PATH_BYTES];                          /* before the API's own, "" or "/..." */
};

enum baton_err ld_url_parse(const char *option, const char *text, struct ld_url *url,
                            struct baton_why *why) BATON_MUST_CHECK;

/* The first of the host's addresses that takes a connection. */
enum baton_err ld_url_resolve(const struct ld_url *url, struct sockaddr_storage *address,
                              struct baton_why *why) BATON_MUST_CHECK;

#endif
