/* The one form of address this layer knows: tcp://HOST:PORT (or tls+tcp://).
 *
 * HOST is a name, an IPv4 address, an IPv6 address in brackets, or "*" (any address when listening,
 * "the address I come from" when announced). Nothing follows the port. NNG accepts more, such as
 * ipc:// and a source address before a ';', which no option or peer may ask for.
 *
 * Ownership: plain data in the caller's struct.
 * Threading: pure functions.
 * Errors:    INVALID with the text and the reason.
 */
#ifndef BATON_COMMON_WIRE_URL_H
#define BATON_COMMON_WIRE_URL_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/error.h"

struct baton_url {
    char scheme[8]; /* "tcp", "tls+tcp" */
    char host[256]; /* without brackets */
    int port;       /* 0..65535 */
};

enum baton_err baton_url_parse(const char *text, struct baton_url *url,
                               struct baton_why *why) BATON_MUST_CHECK;

/* Writes the url with another host (numeric or a name; IPv6 gets its brackets) and port. */
enum baton_err baton_url_format(const struct baton_url *url, const char *host, int port, char *text,
                                size_t size, struct baton_why *why) BATON_MUST_CHECK;

/* "*", "0.0.0.0" and "::" name every address of a listener, hence none that can be dialled. */
bool baton_url_is_any_host(const struct baton_url *url);

#endif
