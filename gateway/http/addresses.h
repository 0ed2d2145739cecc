/* The addresses that clients come from: how many connections each has, and its account.
 *
 * An IPv6 client counts by its /64, which is what one customer or host is given (RFC 6177), an IPv4
 * one by its whole address. An address without connections is forgotten when its account is even,
 * and in the order of leaving when there are more than GW_MAX_GONE of them.
 *
 * Ownership: the table owns addresses; a connection holds its own from enter to leave.
 * Threading: loop thread.
 * Errors:    enter: NULL when memory is out; such a client has no limit.
 */
#ifndef BATON_GATEWAY_HTTP_ADDRESSES_H
#define BATON_GATEWAY_HTTP_ADDRESSES_H

#include <sys/socket.h>

#include "common/base/keyed_hash.h"
#include "common/base/list.h"
#include "gateway/http/account.h"

enum { GW_ADDRESS_SLOTS = 4096, GW_MAX_GONE = 16384, GW_ADDRESS_BYTES = 16 };

struct gw_address {
    struct gw_address *next; /* in its slot */
    struct baton_node gone;  /* in addresses->gone, without connections */
    char bytes[GW_ADDRESS_BYTES];
    size_t n_connections;
    struct gw_account *account;
};

BATON_LIST(gw_gone_list, struct gw_address, gone)

struct gw_addresses {
    struct gw_limits limits;
    struct baton_hash_key hash_key;
    struct gw_gone_list gone;
    struct gw_address *slots[GW_ADDRESS_SLOTS];
};

void gw_addresses_init(struct gw_addresses *addresses, const struct gw_limits *limits);
/* Of a table whose connections have all left. */
void gw_addresses_fini(struct gw_addresses *addresses);

/* A connection comes, or goes. NULL is no address. */
struct gw_address *gw_addresses_enter(struct gw_addresses *addresses,
                                      const struct sockaddr_storage *from, int64_t now_ns);
void gw_addresses_leave(struct gw_addresses *addresses, struct gw_address *address, int64_t now_ns);

#endif
