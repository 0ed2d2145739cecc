/* The addresses of clients: the number of connections and the account of each.
 *
 * An IPv6 client is counted by its /64, the usual allocation of one customer or host (RFC 6177), an
 * IPv4 client by its whole address. An address without connections is forgotten when it has no
 * debt, and in the order of leaving when there are more than GW_MAX_GONE of them.
 *
 * Ownership: the table owns addresses; a connection holds its own from enter to leave.
 * Threading: loop thread.
 * Errors:    enter: NULL without memory; such a client has no limit.
 */
#ifndef BATON_GATEWAY_HTTP_ADDRESSES_H
#define BATON_GATEWAY_HTTP_ADDRESSES_H

#include <sys/socket.h>

#include "common/base/hash.h"
#include "common/base/list.h"
#include "gateway/http/account.h"
#include "gateway/http/crowds.h"

enum { GW_MAX_GONE = 16384, GW_ADDRESS_BYTES = 16 };

struct gw_address {
    struct baton_hash_node in_table;
    struct baton_node gone; /* in addresses->gone, while it has no connections */
    char bytes[GW_ADDRESS_BYTES];
    size_t n_connections;
    struct gw_crowd unfinished, handshakes; /* places of its connections (crowds.h) */
    size_t arriving_bytes;                  /* of incomplete bodies */
    struct gw_account *account;
};

BATON_LIST(gw_gone_list, struct gw_address, gone)
BATON_HASH_TABLE(gw_address_table, struct gw_address, in_table)

struct gw_addresses {
    struct gw_limits limits;
    struct gw_gone_list gone;
    struct gw_address_table table;
};

void gw_addresses_init(struct gw_addresses *addresses, const struct gw_limits *limits);
/* Call it after all connections have left. */
void gw_addresses_fini(struct gw_addresses *addresses);

/* Enter and leave count a connection. leave ignores NULL. */
struct gw_address *gw_addresses_enter(struct gw_addresses *addresses,
                                      const struct sockaddr_storage *from, int64_t now_ns);
void gw_addresses_leave(struct gw_addresses *addresses, struct gw_address *address, int64_t now_ns);

#endif
