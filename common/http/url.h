/* The address of an HTTP server: http://HOST[:PORT][/PATH], with an IPv6 address in brackets.
 *
 * Ownership: plain values.
 * Threading: pure functions.
 * Errors:    INVALID names the option.
 */
#ifndef BATON_COMMON_HTTP_URL_H
#define BATON_COMMON_HTTP_URL_H

#include <stdbool.h>

#include "common/base/error.h"

enum { BATON_HTTP_HOST_BYTES = 256, BATON_HTTP_PORT_BYTES = 6, BATON_HTTP_PATH_BYTES = 256 };

struct baton_http_url {
    bool tls;
    char host[BATON_HTTP_HOST_BYTES]; /* without brackets */
    char port[BATON_HTTP_PORT_BYTES];
    /* value of the Host header */
    char authority[BATON_HTTP_HOST_BYTES + BATON_HTTP_PORT_BYTES + 3];
    char path[BATON_HTTP_PATH_BYTES]; /* prefix of the API's path, "" or "/..." */
};

/* Parses http:// only. */
enum baton_err baton_http_url_parse(const char *option, const char *text,
                                    struct baton_http_url *url,
                                    struct baton_why *why) BATON_MUST_CHECK;
/* Parses https:// as well. */
enum baton_err baton_http_url_parse_any(const char *option, const char *text,
                                        struct baton_http_url *url,
                                        struct baton_why *why) BATON_MUST_CHECK;

#endif
