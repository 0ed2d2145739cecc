/* The names of this server: the values that the Host header of a request may have.
 *
 * A browser lets a page read answers of its own origin only. With DNS rebinding the page's name
 * resolves to our address, so that we are its own origin; but Host is still the page's name. A host
 * that is an IP address is always accepted: no name was resolved.
 *
 * Ownership: a struct gw_hosts borrows the texts that it was read from.
 * Threading: immutable once read.
 * Errors:    INVALID with the invalid name, LIMIT for too many.
 */
#ifndef BATON_GATEWAY_API_ACCESS_HOSTS_H
#define BATON_GATEWAY_API_ACCESS_HOSTS_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/error.h"
#include "gateway/http/syntax.h"

enum { GW_HOSTS_MAX = 64 };

struct gw_hosts {
    bool are_checked; /* requests for other names are refused */
    bool any;         /* "*" */
    const char *bound;
    size_t n;
    struct gw_view names[GW_HOSTS_MAX];
};

/* list: "", "*", or names without ports, separated by commas. bound: the address of the listener. A
 * server that is bound to a loopback address checks Host; others do with a list. */
enum baton_err gw_hosts_read(const char *list, const char *bound, struct gw_hosts *hosts,
                             struct baton_why *why) BATON_MUST_CHECK;

/* Whether the host, a Host header's value, is a name of this server: localhost or a name below it,
 * an IP address, the bound address or a name of the list. Also true for "", the missing header of
 * HTTP/1.0, which no browser speaks. */
bool gw_hosts_has(const struct gw_hosts *hosts, const char *host);

/* Whether the text, "host" or "host:port", is localhost, a name below it, or a loopback address. */
bool gw_host_is_local(struct gw_view text);
/* Whether the text is a numeric loopback address. A name, "" and "*" may resolve to any address, so
 * they are not. */
bool gw_address_is_loopback(const char *address);

#endif
