/* Checks a client's limits and charges its usage. */
#include <stdio.h>

#include "common/base/clock.h"
#include "gateway/http/conn.h"

static void charge(struct gw_account *account, enum gw_limit limit, size_t n)
{
    if (account && account->limits.per_s[limit] > 0)
        gw_account_charge(account, limit, (double)n, baton_now_ns());
}

static struct gw_account *address_of(const struct gw_conn *conn)
{
    return conn && conn->address ? conn->address->account : NULL;
}

static struct gw_http_server *server_of(const struct gw_exchange *exchange)
{
    return exchange->local ? exchange->local->server : exchange->conn->server;
}

/* ---- connections ---- */

bool gw_conn_is_one_too_many(struct gw_conn *conn)
{
    struct gw_http_server *server = conn->server;
    size_t n = conn->address ? conn->address->n_connections : 0;
    size_t max = server->options.max_connections_per_address;
    char text[GW_LIMIT_TEXT_BYTES];
    if (!max || n <= max)
        return false;
    server->stats.n_connections_limited++;
    /* With TLS a readable refusal would need a handshake first. */
    if (conn->state == GW_CONN_HELLO || n > max + GW_MAX_TURNED_AWAY_EACH) {
        gw_conn_close(conn, "too many connections");
        return true;
    }
    (void)snprintf(text, sizeof text, "this address has %zu connections; the limit is %zu", n, max);
    gw_conn_refuse(conn, &(struct gw_error){429, "connection_limit", text, .retry_after_s = 1});
    return true;
}

/* ---- rates ---- */

static bool allows(struct gw_http_server *server, const struct gw_account *account,
                   enum gw_limit limit, char text[GW_LIMIT_TEXT_BYTES], struct gw_error *refusal)
{
    if (gw_account_allows(account, limit, baton_now_ns(), text, refusal))
        return true;
    server->stats.n_limited[account->of][limit]++;
    return false;
}

bool gw_conn_may_request(struct gw_conn *conn)
{
    char text[GW_LIMIT_TEXT_BYTES];
    struct gw_error refusal;
    struct gw_account *account = address_of(conn);
    if (!account || (allows(conn->server, account, GW_LIMIT_requests, text, &refusal) &&
                     allows(conn->server, account, GW_LIMIT_bytes, text, &refusal))) {
        charge(account, GW_LIMIT_requests, 1);
        return true;
    }
    gw_conn_refuse(conn, &refusal);
    return false;
}

void gw_conn_charge(struct gw_conn *conn, size_t n_bytes)
{
    charge(address_of(conn), GW_LIMIT_bytes, n_bytes);
    /* The key is known only after the head was parsed. */
    if (conn->exchange)
        charge(conn->exchange->account, GW_LIMIT_bytes, n_bytes);
}

bool gw_exchange_take_account(struct gw_exchange *exchange, struct gw_account *account)
{
    char text[GW_LIMIT_TEXT_BYTES];
    struct gw_error refusal;
    struct gw_http_server *server = server_of(exchange);
    if (!allows(server, account, GW_LIMIT_requests, text, &refusal) ||
        !allows(server, account, GW_LIMIT_bytes, text, &refusal)) {
        gw_exchange_respond_error(exchange, &refusal);
        return false;
    }
    exchange->account = gw_account_hold(account);
    charge(account, GW_LIMIT_requests, 1);
    charge(account, GW_LIMIT_bytes, exchange->body.len);
    return true;
}

bool gw_exchange_may_generate(struct gw_exchange *exchange)
{
    char text[GW_LIMIT_TEXT_BYTES];
    struct gw_error refusal;
    struct gw_http_server *server = server_of(exchange);
    if (allows(server, address_of(exchange->conn), GW_LIMIT_tokens, text, &refusal) &&
        allows(server, exchange->account, GW_LIMIT_tokens, text, &refusal))
        return true;
    gw_exchange_respond_error(exchange, &refusal);
    return false;
}

struct gw_payers gw_exchange_payers(const struct gw_exchange *exchange)
{
    return (struct gw_payers){.address = gw_account_hold(address_of(exchange->conn)),
                              .key = gw_account_hold(exchange->account)};
}
