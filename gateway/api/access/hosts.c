#include "gateway/api/access/hosts.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <strings.h>

/* ---- names and addresses ---- */

static bool is_number(struct gw_view text)
{
    for (size_t i = 0; i < text.n; i++)
        if (text.p[i] < '0' || text.p[i] > '9')
            return false;
    return true;
}

/* "host", "host:port" or "[IPv6]:port" to its host; empty for other texts. A dot at the end changes
 * no name. */
static struct gw_view without_port(struct gw_view text)
{
    struct gw_view port = text, host;
    bool is_v6 = text.n && text.p[0] == '[';
    if (is_v6) {
        port = (struct gw_view){text.p + 1, text.n - 1};
        host = gw_view_cut(&port, ']');
        if (port.n && gw_view_cut(&port, ':').n)
            return (struct gw_view){0};
    } else {
        host = gw_view_cut(&port, ':');
        host.n -= host.n && host.p[host.n - 1] == '.';
    }
    return is_number(port) ? host : (struct gw_view){0};
}

/* The kind of the numeric address, which goes to *v6 (an IPv4 address in its mapped form). */
static bool read_address(struct gw_view text, struct in6_addr *v6)
{
    char copy[INET6_ADDRSTRLEN];
    struct in_addr v4;
    if (!text.n || text.n >= sizeof copy)
        return false;
    memcpy(copy, text.p, text.n);
    copy[text.n] = '\0';
    if (inet_pton(AF_INET6, copy, v6) == 1)
        return true;
    if (inet_pton(AF_INET, copy, &v4) != 1)
        return false;
    *v6 = (struct in6_addr){.s6_addr = {[10] = 0xff, [11] = 0xff}};
    memcpy(v6->s6_addr + 12, &v4, sizeof v4);
    return true;
}

static bool is_loopback(struct gw_view text)
{
    struct in6_addr v6;
    if (!read_address(text, &v6))
        return false;
    return IN6_IS_ADDR_LOOPBACK(&v6) ||
           (IN6_IS_ADDR_V4MAPPED(&v6) && v6.s6_addr[12] == IN_LOOPBACKNET);
}

/* RFC 6761 section 6.3: browsers resolve these names to loopback addresses themselves. */
static bool is_localhost(struct gw_view host)
{
    static const char name[] = "localhost";
    size_t n = sizeof name - 1;
    return host.n >= n && !strncasecmp(host.p + host.n - n, name, n) &&
           (host.n == n || host.p[host.n - n - 1] == '.');
}

bool gw_address_is_loopback(const char *address)
{
    const struct gw_view text = {address, strlen(address)};
    return !strcasecmp(address, "localhost") || is_loopback(text);
}

bool gw_host_is_local(struct gw_view text)
{
    struct gw_view host = without_port(text);
    return is_localhost(host) || is_loopback(host);
}

/* ---- the list ---- */

static bool is_name(struct gw_view text)
{
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9') &&
            !(c && strchr("-._", c)))
            return false;
    }
    return text.n > 0;
}

static enum baton_err add_name(struct gw_hosts *hosts, struct gw_view name, struct baton_why *why)
{
    if (!is_name(name))
        return baton_fail(why, BATON_INVALID,
                          "allowed-hosts: '%.*s' is not a host name such as llm.example (no "
                          "scheme, no port, no pattern)",
                          (int)(name.n < 64 ? name.n : 64), name.p);
    if (hosts->n == GW_HOSTS_MAX)
        return baton_fail(why, BATON_LIMIT, "allowed-hosts: more than %d", GW_HOSTS_MAX);
    hosts->names[hosts->n++] = name;
    return BATON_OK;
}

enum baton_err gw_hosts_read(const char *list, const char *bound, struct gw_hosts *hosts,
                             struct baton_why *why)
{
    struct gw_view rest = gw_view_trim((struct gw_view){list, strlen(list)});
    struct gw_hosts made = {.any = gw_view_equals(rest, "*"),
                            .are_checked = *list || gw_address_is_loopback(bound),
                            .bound = bound};
    enum baton_err err = BATON_OK;
    while (rest.n && !made.any && !err) {
        bool more = memchr(rest.p, ',', rest.n);
        err = add_name(&made, gw_view_trim(gw_view_cut(&rest, ',')), why);
        if (!err && more && !rest.n)
            err = baton_fail(why, BATON_INVALID, "allowed-hosts: ends in a comma");
    }
    if (!err)
        *hosts = made;
    return err;
}

bool gw_hosts_has(const struct gw_hosts *hosts, const char *host)
{
    struct in6_addr v6;
    struct gw_view name = without_port((struct gw_view){host, strlen(host)});
    if (hosts->any || !*host)
        return true;
    if (!name.n) /* no host: not even the bound address "" */
        return false;
    if (is_localhost(name) || read_address(name, &v6) || gw_view_equals_nocase(name, hosts->bound))
        return true;
    for (size_t i = 0; i < hosts->n; i++)
        if (hosts->names[i].n == name.n && !strncasecmp(hosts->names[i].p, name.p, name.n))
            return true;
    return false;
}
