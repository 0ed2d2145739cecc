/* Rate limits of a client: an account each for an address and an API key.
 *
 * A limit is a rate, by the generic cell rate algorithm (ITU-T I.371): usage is paid for until a
 * time, which may be GW_BURST_S ahead. So a client that was quiet may use that much at once, and
 * usage beyond it, such as an answer's last tokens, delays its next requests.
 *
 * Ownership: reference-counted; each holder puts the account once.
 * Threading: loop thread.
 * Errors:    create: NULL when memory is out. NULL as an account has no limit.
 */
#ifndef BATON_GATEWAY_HTTP_ACCOUNT_H
#define BATON_GATEWAY_HTTP_ACCOUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gateway/http/status.h"

#define GW_LIMITS(X) X(requests) X(tokens) X(bytes)

enum gw_limit {
#define X(name) GW_LIMIT_##name,
    GW_LIMITS(X)
#undef X
        GW_N_LIMITS
};

enum gw_limited { GW_OF_ADDRESS, GW_OF_KEY, GW_N_LIMITED };

enum { GW_BURST_S = 10, GW_MAX_RETRY_S = 60, GW_LIMIT_TEXT_BYTES = 160 };

struct gw_limits {
    double per_s[GW_N_LIMITS]; /* 0: unlimited */
};

struct gw_account {
    size_t n_holders;
    enum gw_limited of;
    struct gw_limits limits;
    int64_t paid_until_ns[GW_N_LIMITS];
};

/* The accounts of one request, each held, or NULL. */
struct gw_payers {
    struct gw_account *address, *key;
};

/* Return "requests" and the like, and "address" or "key". */
const char *gw_limit_name(enum gw_limit limit);
const char *gw_limited_name(enum gw_limited of);

/* Returns an account with one holder. */
struct gw_account *gw_account_create(enum gw_limited of, const struct gw_limits *limits);
struct gw_account *gw_account_hold(struct gw_account *account);
void gw_account_put(struct gw_account *account);

/* Charges n requests, tokens or bytes. */
void gw_account_charge(struct gw_account *account, enum gw_limit limit, double n, int64_t now_ns);

/* True when more may be used. Otherwise *refusal is a 429 that names the limit; its message is in
 * text. */
bool gw_account_allows(const struct gw_account *account, enum gw_limit limit, int64_t now_ns,
                       char text[GW_LIMIT_TEXT_BYTES], struct gw_error *refusal);

/* Whether both are one client: of one key or, without keys, of one address. */
bool gw_payers_are_same(const struct gw_payers *a, const struct gw_payers *b);
void gw_payers_charge_tokens(const struct gw_payers *payers, size_t n);
void gw_payers_put(struct gw_payers *payers);

/* True when no debt is left: the account is then like a new one. */
bool gw_account_is_even(const struct gw_account *account, int64_t now_ns);

#endif
