/* Resolves the address of the server that a URL names.
 *
 * Ownership: plain values.
 * Threading: blocks on the resolver and on a connection; to be called before the loop runs.
 * Errors:    NOT_FOUND (no such host), IO (no server answers there).
 */
#ifndef BATON_TOOLS_LOAD_HTTP_SERVER_URL_H
#define BATON_TOOLS_LOAD_HTTP_SERVER_URL_H

#include <sys/socket.h>

#include "common/http/url.h"

/* Finds the first of the host's addresses that accepts a connection. */
enum baton_err ld_url_resolve(const struct baton_http_url *url, struct sockaddr_storage *address,
                              struct baton_why *why) BATON_MUST_CHECK;

#endif
