#include "gateway/http/addresses.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

void gw_addresses_init(struct gw_addresses *addresses, const struct gw_limits *limits)
{
    *addresses = (struct gw_addresses){.limits = *limits};
    gw_gone_list_init(&addresses->gone);
}

static void forget(struct gw_addresses *addresses, struct gw_address *address)
{
    gw_address_table_remove(&addresses->table, address);
    gw_gone_list_remove(&addresses->gone, address);
    gw_account_put(address->account);
    free(address);
}

void gw_addresses_fini(struct gw_addresses *addresses)
{
    for (struct gw_address *address; (address = gw_gone_list_first(&addresses->gone));)
        forget(addresses, address);
}

/* Reads an address. IPv4 addresses are mapped to IPv6 (RFC 4291 section 2.5.5.2), however they
 * arrive. */
static void read_address(const struct sockaddr_storage *from, char bytes[GW_ADDRESS_BYTES])
{
    static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff};
    memset(bytes, 0, GW_ADDRESS_BYTES);
    if (from->ss_family == AF_INET6) {
        const struct sockaddr_in6 *ip6 = (const struct sockaddr_in6 *)from;
        bool is_mapped = IN6_IS_ADDR_V4MAPPED(&ip6->sin6_addr);
        memcpy(bytes, &ip6->sin6_addr, is_mapped ? GW_ADDRESS_BYTES : GW_ADDRESS_BYTES / 2);
    } else if (from->ss_family == AF_INET) {
        memcpy(bytes, mapped, sizeof mapped);
        memcpy(bytes + sizeof mapped, &((const struct sockaddr_in *)from)->sin_addr, 4);
    }
}

static struct gw_address *create(struct gw_addresses *addresses, const char bytes[GW_ADDRESS_BYTES],
                                 uint64_t hash)
{
    struct gw_address *made = calloc(1, sizeof *made);
    if (made)
        made->account = gw_account_create(GW_OF_ADDRESS, &addresses->limits);
    if (!made || !made->account) {
        free(made);
        return NULL;
    }
    memcpy(made->bytes, bytes, GW_ADDRESS_BYTES);
    gw_crowd_init(&made->unfinished);
    gw_crowd_init(&made->handshakes);
    gw_address_table_put(&addresses->table, made, hash);
    return made;
}

static void forget_the_even(struct gw_addresses *addresses, int64_t now_ns)
{
    struct gw_address *oldest = gw_gone_list_first(&addresses->gone);
    /* One entry per call keeps the cost of a connection constant. */
    if (oldest && (addresses->gone.n > GW_MAX_GONE || gw_account_is_even(oldest->account, now_ns)))
        forget(addresses, oldest);
}

struct gw_address *gw_addresses_enter(struct gw_addresses *addresses,
                                      const struct sockaddr_storage *from, int64_t now_ns)
{
    char bytes[GW_ADDRESS_BYTES];
    read_address(from, bytes);
    uint64_t hash = baton_hash_bytes(bytes, GW_ADDRESS_BYTES);
    struct gw_address *found = gw_address_table_first(&addresses->table, hash);
    while (found && memcmp(found->bytes, bytes, GW_ADDRESS_BYTES) != 0)
        found = gw_address_table_next(found);
    if (!found)
        found = create(addresses, bytes, hash);
    else if (found->gone.next)
        gw_gone_list_remove(&addresses->gone, found);
    if (found)
        found->n_connections++;
    forget_the_even(addresses, now_ns);
    return found;
}

void gw_addresses_leave(struct gw_addresses *addresses, struct gw_address *address, int64_t now_ns)
{
    if (!address || --address->n_connections)
        return;
    gw_gone_list_push_back(&addresses->gone, address);
    forget_the_even(addresses, now_ns);
}
