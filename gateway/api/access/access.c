#include "gateway/api/access/access.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "common/base/log.h"
#include "gateway/api/access/cors.h"
#include "gateway/api/access/keys.h"
#include "gateway/api/answer.h"
#include "gateway/api/page.h"
#include "gateway/observe/metrics.h"

struct gw_access {
    const char *keys_path;
    struct gw_keys *keys;        /* NULL: no key is needed */
    struct gw_limits key_limits; /* for keys whose lines have none of their own */
    struct gw_cors cors;
    struct gw_metrics *metrics;
};

enum baton_err gw_access_open(const char *keys_path, const struct gw_limits *key_limits,
                              const char *origins, struct gw_metrics *metrics,
                              struct gw_access **access, struct baton_why *why)
{
    struct gw_access *made = calloc(1, sizeof *made);
    if (!made)
        return baton_fail(why, BATON_NO_MEMORY, "api-keys: out of memory");
    made->keys_path = keys_path;
    made->key_limits = *key_limits;
    made->metrics = metrics;
    enum baton_err err = gw_cors_read(origins, &made->cors, why);
    if (!err && *keys_path)
        err = gw_keys_read(keys_path, &made->keys, why);
    if (err) {
        gw_access_close(made);
        return err;
    }
    if (made->keys) {
        gw_keys_limit(made->keys, key_limits);
        baton_log(BATON_LOG_INFO, "api_keys_loaded", BATON_I("keys", gw_keys_n(made->keys)));
    }
    *access = made;
    return BATON_OK;
}

void gw_access_close(struct gw_access *access)
{
    if (access)
        gw_keys_free(access->keys);
    free(access);
}

void gw_access_reload(struct gw_access *access)
{
    struct gw_keys *keys = NULL;
    struct baton_why why = {""};
    if (!access->keys) /* no file was named at the start, and options do not change */
        return;
    if (gw_keys_read(access->keys_path, &keys, &why)) {
        baton_log(BATON_LOG_ERROR, "api_keys_kept", BATON_S("reason", why.text),
                  BATON_I("keys", gw_keys_n(access->keys)));
        return;
    }
    gw_keys_inherit(keys, access->keys);
    gw_keys_limit(keys, &access->key_limits);
    gw_keys_free(access->keys);
    access->keys = keys;
    baton_log(BATON_LOG_INFO, "api_keys_loaded", BATON_I("keys", gw_keys_n(keys)));
}

void gw_access_mark(const struct gw_access *access, struct gw_exchange *exchange)
{
    gw_cors_mark(&access->cors, exchange);
}

static bool is_open(const struct gw_exchange *exchange)
{
    static const char *const paths[] = {"/health", "/live", "/ready"};
    const char *method = gw_exchange_method(exchange), *path = gw_exchange_path(exchange);
    if (gw_cors_is_preflight(exchange))
        return true;
    if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
        return false;
    for (size_t i = 0; i < BATON_N_OF(paths); i++)
        if (!strcmp(paths[i], path))
            return true;
    return gw_page_has(path);
}

static void refuse(struct gw_access *access, struct gw_exchange *exchange, bool has_header)
{
    access->metrics->n_unauthorized++;
    if (gw_exchange_add_header(exchange, "WWW-Authenticate", "Bearer"))
        baton_log(BATON_LOG_WARN, "header_left_out", BATON_S("name", "WWW-Authenticate"));
    gw_answer_error(exchange, 401, "invalid_api_key",
                    has_header ? "the API key is not valid: send one that this server knows as "
                                 "'Authorization: Bearer KEY' or 'x-api-key: KEY'"
                               : "an API key is needed: send it as 'Authorization: Bearer KEY' or "
                                 "'x-api-key: KEY'");
}

struct gw_key *gw_access_key(const struct gw_access *access, const struct gw_exchange *exchange)
{
    if (!access->keys || !exchange)
        return NULL;
    struct gw_key *key = gw_keys_find(access->keys, gw_exchange_header(exchange, "authorization"));
    return key ? key : gw_keys_find_bare(access->keys, gw_exchange_header(exchange, "x-api-key"));
}

struct gw_owner gw_access_owner(const struct gw_access *access, const struct gw_exchange *exchange)
{
    struct gw_owner owner = {0};
    const struct gw_key *key = gw_access_key(access, exchange);
    if (key)
        memcpy(owner.digest, gw_key_digest(key), sizeof owner.digest);
    return owner;
}

bool gw_access_admit(struct gw_access *access, struct gw_exchange *exchange)
{
    if (gw_cors_answer(&access->cors, exchange))
        return false;
    if (!access->keys || is_open(exchange))
        return true;
    const struct gw_key *key = gw_access_key(access, exchange);
    if (key) {
        struct gw_exchange_note *note = gw_exchange_note(exchange);
        (void)snprintf(note->key, sizeof note->key, "%s", gw_key_name(key));
    }
    if (key)
        return gw_exchange_take_account(exchange, gw_key_account(key));
    refuse(access, exchange,
           *gw_exchange_header(exchange, "authorization") ||
               *gw_exchange_header(exchange, "x-api-key"));
    return false;
}
