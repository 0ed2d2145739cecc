#include "common/wire/transport/peer_tls.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <nng/nng.h>
#include <nng/supplemental/tls/tls.h>

#include "common/base/buf.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/os/file.h"
#include "common/wire/transport/nng_error.h"
#include "common/wire/transport/peer_socket.h"

enum { FILE_MAX_BYTES = 1 << 20 };

/* The name that every certificate of a fleet is for: addresses are numbers, and they change. */
#define FLEET_NAME "baton"

/* Between two looks at how many peers were refused: each copies all statistics of NNG. */
#define TELL_PAUSE_NS (1000 * BATON_MS)

/* NNG reads a listener's configuration without a lock while another takes its place, so none is
 * freed before the end. */
struct identity {
    nng_tls_config *server, *client;
    struct identity *older;
};

enum { MAX_LISTENERS = 8 };

/* The identity of this process. current NULL: links are in clear. */
static struct {
    const char *certfile, *keyfile, *cafile;
    struct identity *current;
    nng_listener listeners[MAX_LISTENERS]; /* that were started; some may be closed */
    int n_listeners;
} tls;

static struct {
    pthread_mutex_t lock; /* guards the rest */
    bool any_listener;
    int64_t next_ns;
    uint64_t n_told;
} refused = {.lock = PTHREAD_MUTEX_INITIALIZER};

struct texts {
    struct baton_buf cert, key, ca;
};

static int make_config(const struct texts *texts, nng_tls_mode mode, nng_tls_config **config)
{
    int rv = nng_tls_config_alloc(config, mode);
    if (!rv)
        rv = nng_tls_config_version(*config, NNG_TLS_1_2, NNG_TLS_1_2);
    if (!rv)
        rv = nng_tls_config_own_cert(*config, texts->cert.data, texts->key.data, NULL);
    if (!rv)
        rv = nng_tls_config_ca_chain(*config, texts->ca.data, NULL);
    if (!rv)
        rv = nng_tls_config_auth_mode(*config, NNG_TLS_AUTH_MODE_REQUIRED);
    if (!rv) /* of the peer, on both sides */
        rv = nng_tls_config_server_name(*config, FLEET_NAME);
    return rv;
}

static enum baton_err read_text(const char *path, struct baton_buf *text, struct baton_why *why)
{
    enum baton_err err = baton_file_read(path, text, why);
    (void)baton_buf_text(text); /* ends with a zero */
    return err;
}

static void free_identity(struct identity *identity)
{
    if (identity->server)
        nng_tls_config_free(identity->server);
    if (identity->client)
        nng_tls_config_free(identity->client);
    free(identity);
}

static enum baton_err make_identity(const struct texts *texts, struct identity **made,
                                    struct baton_why *why)
{
    struct identity *identity = calloc(1, sizeof *identity);
    if (!identity)
        return BATON_NO_MEMORY;
    int rv = make_config(texts, NNG_TLS_MODE_SERVER, &identity->server);
    if (!rv)
        rv = make_config(texts, NNG_TLS_MODE_CLIENT, &identity->client);
    if (!rv) {
        *made = identity;
        return BATON_OK;
    }
    free_identity(identity);
    return baton_nng_fail(why, rv, "use peer-certfile, peer-keyfile and peer-cafile of",
                          tls.certfile);
}

static enum baton_err read_texts(struct texts *texts, struct baton_why *why)
{
    enum baton_err err = read_text(tls.certfile, &texts->cert, why);
    if (!err)
        err = read_text(tls.keyfile, &texts->key, why);
    if (!err)
        err = read_text(tls.cafile, &texts->ca, why);
    return err;
}

/* The identity of the files as they are now goes ahead of the others. */
static enum baton_err read_identity(struct baton_why *why)
{
    struct identity *made = NULL;
    struct texts texts;
    baton_buf_init(&texts.cert, FILE_MAX_BYTES);
    baton_buf_init(&texts.key, FILE_MAX_BYTES);
    baton_buf_init(&texts.ca, FILE_MAX_BYTES);
    enum baton_err err = read_texts(&texts, why);
    if (!err)
        err = make_identity(&texts, &made, why);
    baton_buf_fini(&texts.cert);
    baton_buf_fini(&texts.key);
    baton_buf_fini(&texts.ca);
    if (err)
        return err;
    made->older = tls.current;
    tls.current = made;
    return BATON_OK;
}

enum baton_err baton_peer_tls_open(const char *certfile, const char *keyfile, const char *cafile,
                                   struct baton_why *why)
{
    int n_named = (*certfile != 0) + (*keyfile != 0) + (*cafile != 0);
    if (!n_named)
        return BATON_OK;
    if (n_named < 3)
        return baton_fail(why, BATON_INVALID,
                          "peer-certfile, peer-keyfile and peer-cafile are needed together");
    tls.certfile = certfile;
    tls.keyfile = keyfile;
    tls.cafile = cafile;
    return read_identity(why);
}

void baton_peer_tls_close(void)
{
    while (tls.current) {
        struct identity *older = tls.current->older;
        free_identity(tls.current);
        tls.current = older;
    }
    tls.n_listeners = 0;
}

void baton_peer_tls_reload(void)
{
    struct baton_why why = {""};
    if (!tls.current)
        return;
    if (read_identity(&why)) {
        baton_log(BATON_LOG_ERROR, "peer_certificate_kept", BATON_S("reason", why.text));
        return;
    }
    for (int i = 0; i < tls.n_listeners; i++)
        (void)nng_listener_set_ptr(tls.listeners[i], NNG_OPT_TLS_CONFIG, tls.current->server);
    baton_log(BATON_LOG_INFO, "peer_certificate_loaded", BATON_S("file", tls.certfile));
}

enum baton_err baton_peer_tls_check(const struct baton_url *url, const char *text,
                                    struct baton_why *why)
{
    bool is_tls = !strcmp(url->scheme, "tls+tcp");
    if (is_tls && !tls.current)
        return baton_fail(why, BATON_INVALID,
                          "\"%.200s\" needs peer-certfile, peer-keyfile and "
                          "peer-cafile",
                          text);
    if (!is_tls && tls.current)
        return baton_fail(why, BATON_INVALID,
                          "\"%.200s\" is in clear: with peer-certfile an address begins with "
                          "tls+tcp://",
                          text);
    return BATON_OK;
}

/* ---- refused peers ---- */

static uint64_t count_refused(void)
{
    uint64_t n = 0;
    nng_stat *all;
    if (nng_stats_get(&all))
        return 0;
    for (nng_stat *one = nng_stat_child(all); one; one = nng_stat_next(one))
        if (!strcmp(nng_stat_name(one), "listener")) {
            nng_stat *errors = nng_stat_find(one, "auth");
            n += errors ? nng_stat_value(errors) : 0;
        }
    nng_stats_free(all);
    return n;
}

void baton_peer_tls_tell_refused(void)
{
    static struct baton_log_limit limit;
    int64_t now_ns = baton_now_ns();
    pthread_mutex_lock(&refused.lock);
    if (refused.any_listener && now_ns >= refused.next_ns) {
        uint64_t n = count_refused();
        if (n > refused.n_told)
            baton_log_limited(&limit, BATON_LOG_WARN, "peers_refused",
                              BATON_I("n", n - refused.n_told),
                              BATON_S("reason", "TLS failed: no certificate of peer-cafile for "
                                                "the name " FLEET_NAME));
        refused.n_told = n; /* less when a listener was closed */
        refused.next_ns = now_ns + TELL_PAUSE_NS;
    }
    pthread_mutex_unlock(&refused.lock);
}

/* ---- listening and dialling ---- */

static void note_listener(nng_listener listener)
{
    if (tls.n_listeners < MAX_LISTENERS)
        tls.listeners[tls.n_listeners++] = listener;
    pthread_mutex_lock(&refused.lock);
    refused.any_listener = true;
    pthread_mutex_unlock(&refused.lock);
}

int baton_peer_listen(nng_socket socket, const char *url, nng_listener *listener)
{
    int rv = nng_listener_create(listener, socket, url);
    if (!rv && tls.current)
        rv = nng_listener_set_ptr(*listener, NNG_OPT_TLS_CONFIG, tls.current->server);
    if (!rv && tls.current)
        note_listener(*listener);
    return rv ? rv : nng_listener_start(*listener, 0);
}

int baton_peer_dial(nng_socket socket, const char *url)
{
    nng_dialer dialer;
    int rv = nng_dialer_create(&dialer, socket, url);
    if (!rv && tls.current)
        rv = nng_dialer_set_ptr(dialer, NNG_OPT_TLS_CONFIG, tls.current->client);
    return rv ? rv : nng_dialer_start(dialer, NNG_FLAG_NONBLOCK);
}
