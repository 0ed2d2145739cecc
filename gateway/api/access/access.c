#include "gateway/api/access/access.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "common/base/log.h"
#include "common/obs/prom.h"
#include "gateway/api/access/judge.h"
#include "gateway/api/access/keys.h"
#include "gateway/api/answer.h"
#include "gateway/api/page.h"
#include "gateway/http/local.h"

enum { ADMIN, API, N_FILES };

/* A file of keys, and its table; NULL: no file is given. */
struct key_file {
    const char *option, *path;
    struct gw_keys *keys;
};

struct gw_access {
    struct key_file files[N_FILES];
    struct gw_limits key_limits; /* for keys whose lines have none of their own */
    struct gw_judge judge;
    uint64_t n_unauthorized; /* not an outcome, because no gw_request existed */
};

static void log_loaded(const struct key_file *file)
{
    baton_log(BATON_LOG_INFO, "api_keys_loaded", BATON_I("keys", gw_keys_n(file->keys)),
              BATON_S("option", file->option));
}

static enum baton_err open_files(struct gw_access *access, struct baton_why *why)
{
    enum baton_err err = BATON_OK;
    for (int i = 0; i < N_FILES && !err; i++) {
        struct key_file *file = &access->files[i];
        if (*file->path)
            err = gw_keys_read(file->path, &file->keys, why);
        if (err || !file->keys)
            continue;
        gw_keys_limit(file->keys, &access->key_limits);
        log_loaded(file);
    }
    return err;
}

enum baton_err gw_access_open(const struct gw_access_options *options, struct gw_access **access,
                              struct baton_why *why)
{
    struct gw_access *made = calloc(1, sizeof *made);
    if (!made)
        return baton_fail(why, BATON_NO_MEMORY, "api-keys: out of memory");
    made->files[API] = (struct key_file){.option = "api-keys", .path = options->api_keys};
    made->files[ADMIN] = (struct key_file){.option = "admin-keys", .path = options->admin_keys};
    made->key_limits = options->key_limits;
    made->judge.is_https = options->is_https;
    enum baton_err err = gw_cors_read(options->cors_origins, &made->judge.cors, why);
    if (!err)
        err = gw_hosts_read(options->allowed_hosts, options->host, &made->judge.hosts, why);
    if (!err)
        err = open_files(made, why);
    if (err)
        gw_access_close(made);
    else
        *access = made;
    return err;
}

void gw_access_close(struct gw_access *access)
{
    for (int i = 0; access && i < N_FILES; i++)
        gw_keys_free(access->files[i].keys);
    free(access);
}

static void reload(struct key_file *file, const struct gw_limits *limits)
{
    struct gw_keys *keys = NULL;
    struct baton_why why = {""};
    if (!file->keys) /* no file was named at the start, and options do not change */
        return;
    if (gw_keys_read(file->path, &keys, &why)) {
        baton_log(BATON_LOG_ERROR, "api_keys_kept", BATON_S("reason", why.text),
                  BATON_I("keys", gw_keys_n(file->keys)), BATON_S("option", file->option));
        return;
    }
    gw_keys_inherit(keys, file->keys);
    gw_keys_limit(keys, limits);
    gw_keys_free(file->keys);
    file->keys = keys;
    log_loaded(file);
}

void gw_access_reload(struct gw_access *access)
{
    for (int i = 0; i < N_FILES; i++)
        reload(&access->files[i], &access->key_limits);
}

const struct gw_error *gw_access_mark(const struct gw_access *access, struct gw_exchange *exchange,
                                      bool has_body)
{
    const struct gw_source source = gw_source_of(exchange, has_body);
    gw_cors_mark(&access->judge.cors, exchange);
    return gw_judge_head(&access->judge, &source);
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
    access->n_unauthorized++;
    if (gw_exchange_add_header(exchange, "WWW-Authenticate", "Bearer"))
        baton_log(BATON_LOG_WARN, "header_left_out", BATON_S("name", "WWW-Authenticate"));
    gw_answer_error(exchange, 401, "invalid_api_key",
                    has_header ? "the API key is not valid: send one that this server knows as "
                                 "'Authorization: Bearer KEY' or 'x-api-key: KEY'"
                               : "an API key is needed: send it as 'Authorization: Bearer KEY' or "
                                 "'x-api-key: KEY'");
}

static struct gw_key *find(const struct gw_keys *keys, const struct gw_exchange *exchange)
{
    if (!keys)
        return NULL;
    struct gw_key *key = gw_keys_find(keys, gw_exchange_header(exchange, "authorization"));
    return key ? key : gw_keys_find_bare(keys, gw_exchange_header(exchange, "x-api-key"));
}

struct gw_key *gw_access_key(const struct gw_access *access, const struct gw_exchange *exchange)
{
    struct gw_key *key = NULL;
    const uint8_t *digest = exchange ? gw_local_key(exchange) : NULL;
    for (int i = 0; exchange && i < N_FILES && !key; i++)
        key = digest ? gw_keys_find_digest(access->files[i].keys, digest)
                     : find(access->files[i].keys, exchange);
    return key;
}

struct gw_owner gw_access_owner(const struct gw_access *access, const struct gw_exchange *exchange)
{
    struct gw_owner owner = {0};
    const struct gw_key *key = gw_access_key(access, exchange);
    if (key)
        memcpy(owner.digest, gw_key_digest(key), sizeof owner.digest);
    return owner;
}

/* ---- operators ---- */

/* Whether the request was sent on this host, by no proxy for another client, under a name of this
 * server, and by no page of another origin. */
static bool is_from_here(const struct gw_access *access, const struct gw_exchange *exchange)
{
    static const char *const of_proxies[] = {"forwarded", "x-forwarded-for", "via"};
    const struct gw_source source = gw_source_of(exchange, false);
    const char *peer = gw_exchange_peer(exchange);
    for (size_t i = 0; i < BATON_N_OF(of_proxies); i++)
        if (*gw_exchange_header(exchange, of_proxies[i]))
            return false;
    return gw_host_is_local((struct gw_view){peer, strlen(peer)}) &&
           gw_hosts_has(&access->judge.hosts, source.host) &&
           !gw_judge_is_foreign(&access->judge, &source);
}

bool gw_access_is_operator(const struct gw_access *access, const struct gw_exchange *exchange)
{
    if (!access->files[API].keys && !access->files[ADMIN].keys)
        return is_from_here(access, exchange);
    const struct gw_key *key = find(access->files[API].keys, exchange);
    return (key && gw_key_is_admin(key)) || find(access->files[ADMIN].keys, exchange);
}

static void refuse_client(const struct gw_access *access, struct gw_exchange *exchange)
{
    bool has_keys = access->files[API].keys || access->files[ADMIN].keys;
    gw_answer_error(exchange, 403, "operators_only",
                    has_keys
                        ? "this route is for operators: send a key of --admin-keys, or one whose "
                          "line in --api-keys says 'admin'"
                        : "this route is for operators: without --admin-keys only requests that a "
                          "program on the gateway's own host sends, to localhost or an IP address "
                          "and not through a proxy, may use it");
}

bool gw_access_admit(struct gw_access *access, struct gw_exchange *exchange, bool for_operators)
{
    if (gw_cors_answer(&access->judge.cors, exchange))
        return false;
    if (is_open(exchange))
        return true;
    const struct gw_key *key = gw_access_key(access, exchange);
    if (!key && access->files[API].keys) {
        refuse(access, exchange,
               *gw_exchange_header(exchange, "authorization") ||
                   *gw_exchange_header(exchange, "x-api-key"));
        return false;
    }
    if (key)
        (void)snprintf(gw_exchange_note(exchange)->key, GW_KEY_NAME_BYTES, "%s", gw_key_name(key));
    if (for_operators && !gw_access_is_operator(access, exchange)) {
        refuse_client(access, exchange);
        return false;
    }
    return !key || gw_exchange_take_account(exchange, gw_key_account(key));
}

void gw_access_write_metrics(const struct gw_access *access, struct baton_buf *out)
{
    static const char name[] = "baton_requests_unauthorized_total";
    baton_prom_family(out, name, "counter", "Requests rejected because they had no valid API key.");
    baton_prom_sample(out, name, (double)access->n_unauthorized, NULL);
}
