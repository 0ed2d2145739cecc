#include "gateway/http/account.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/clock.h"

static const double max_debt_s = 3600; /* for a single answer */

static const struct {
    const char *code, *name;
} limits_table[GW_N_LIMITS] = {
    [GW_LIMIT_requests] = {.code = "request_rate", .name = "requests"},
    [GW_LIMIT_tokens] = {.code = "token_rate", .name = "tokens"},
    [GW_LIMIT_bytes] = {.code = "byte_rate", .name = "bytes"},
};

const char *gw_limit_name(enum gw_limit limit)
{
    return limits_table[limit].name;
}

const char *gw_limited_name(enum gw_limited of)
{
    return of == GW_OF_KEY ? "key" : "address";
}

struct gw_account *gw_account_create(enum gw_limited of, const struct gw_limits *limits)
{
    struct gw_account *account = calloc(1, sizeof *account);
    if (!account)
        return NULL;
    account->n_holders = 1;
    account->of = of;
    account->limits = *limits;
    return account;
}

struct gw_account *gw_account_hold(struct gw_account *account)
{
    if (account)
        account->n_holders++;
    return account;
}

void gw_account_put(struct gw_account *account)
{
    if (account && !--account->n_holders)
        free(account);
}

void gw_account_charge(struct gw_account *account, enum gw_limit limit, double n, int64_t now_ns)
{
    if (!account || !(account->limits.per_s[limit] > 0))
        return;
    int64_t *until_ns = &account->paid_until_ns[limit];
    /* The debt shrinks with time alone: the account stores when it is paid, and needs no timer. */
    double debt_s = *until_ns > now_ns ? baton_seconds(*until_ns - now_ns) : 0;
    /* Bounded, so that one huge answer cannot lock a client out for days. */
    debt_s = fmin(debt_s + n / account->limits.per_s[limit], max_debt_s);
    *until_ns = now_ns + (int64_t)(debt_s * (double)BATON_SECOND);
}

static int wait_s(int64_t over_ns)
{
    /* Rounded up: a client that waits this long is served. */
    double seconds = floor(baton_seconds(over_ns)) + 1;
    return seconds < GW_MAX_RETRY_S ? (int)seconds : GW_MAX_RETRY_S;
}

bool gw_account_allows(const struct gw_account *account, enum gw_limit limit, int64_t now_ns,
                       char text[GW_LIMIT_TEXT_BYTES], struct gw_error *refusal)
{
    if (!account || !(account->limits.per_s[limit] > 0))
        return true;
    int64_t over_ns = account->paid_until_ns[limit] - now_ns - GW_BURST_S * BATON_SECOND;
    if (over_ns < 0)
        return true;
    int retry_after_s = wait_s(over_ns);
    (void)snprintf(text, GW_LIMIT_TEXT_BYTES,
                   "this %s is limited to %g %s a second; try again in %d s",
                   account->of == GW_OF_KEY ? "API key" : "address", account->limits.per_s[limit],
                   gw_limit_name(limit), retry_after_s);
    *refusal = (struct gw_error){.status = 429,
                                 .code = limits_table[limit].code,
                                 .message = text,
                                 .retry_after_s = retry_after_s};
    return false;
}

bool gw_payers_are_same(const struct gw_payers *a, const struct gw_payers *b)
{
    return a->key == b->key && (a->key || a->address == b->address);
}

void gw_payers_charge_tokens(const struct gw_payers *payers, size_t n)
{
    int64_t now_ns = baton_now_ns();
    gw_account_charge(payers->address, GW_LIMIT_tokens, (double)n, now_ns);
    gw_account_charge(payers->key, GW_LIMIT_tokens, (double)n, now_ns);
}

void gw_payers_put(struct gw_payers *payers)
{
    gw_account_put(payers->address);
    gw_account_put(payers->key);
    *payers = (struct gw_payers){0};
}

bool gw_account_is_even(const struct gw_account *account, int64_t now_ns)
{
    for (int i = 0; i < GW_N_LIMITS; i++)
        if (account->paid_until_ns[i] > now_ns)
            return false;
    return true;
}
