#include "common/wire/peer_tls.h"

#include <string.h>

#include <nng/nng.h>
#include <nng/supplemental/tls/tls.h>

#include "common/base/buf.h"
#include "common/base/file.h"
#include "common/wire/nng_error.h"
#include "common/wire/peer_socket.h"

enum { FILE_MAX_BYTES = 1 << 20 };

/* The name that every certificate of a fleet is for: addresses are numbers, and they change. */
#define FLEET_NAME "baton"

/* One identity a process. NULL: links are in clear. */
static struct {
    nng_tls_config *server, *client;
} identity;

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
    if (!rv && mode == NNG_TLS_MODE_CLIENT)
        rv = nng_tls_config_server_name(*config, FLEET_NAME);
    return rv;
}

static enum baton_err read_text(const char *path, struct baton_buf *text, struct baton_why *why)
{
    enum baton_err err = baton_file_read(path, text, why);
    (void)baton_buf_text(text); /* ends with a zero */
    return err;
}

static enum baton_err read_identity(const char *certfile, const char *keyfile, const char *cafile,
                                    struct texts *texts, struct baton_why *why)
{
    enum baton_err err = read_text(certfile, &texts->cert, why);
    if (!err)
        err = read_text(keyfile, &texts->key, why);
    if (!err)
        err = read_text(cafile, &texts->ca, why);
    if (err)
        return err;
    int rv = make_config(texts, NNG_TLS_MODE_SERVER, &identity.server);
    if (!rv)
        rv = make_config(texts, NNG_TLS_MODE_CLIENT, &identity.client);
    return rv ? baton_nng_fail(why, rv, "use peer-certfile, peer-keyfile and peer-cafile of",
                               certfile)
              : BATON_OK;
}

enum baton_err baton_peer_tls_open(const char *certfile, const char *keyfile, const char *cafile,
                                   struct baton_why *why)
{
    struct texts texts;
    int n_named = (*certfile != 0) + (*keyfile != 0) + (*cafile != 0);
    if (!n_named)
        return BATON_OK;
    if (n_named < 3)
        return baton_fail(why, BATON_INVALID,
                          "peer-certfile, peer-keyfile and peer-cafile are needed together");
    baton_buf_init(&texts.cert, FILE_MAX_BYTES);
    baton_buf_init(&texts.key, FILE_MAX_BYTES);
    baton_buf_init(&texts.ca, FILE_MAX_BYTES);
    enum baton_err err = read_identity(certfile, keyfile, cafile, &texts, why);
    baton_buf_fini(&texts.cert);
    baton_buf_fini(&texts.key);
    baton_buf_fini(&texts.ca);
    if (err)
        baton_peer_tls_close();
    return err;
}

void baton_peer_tls_close(void)
{
    if (identity.server)
        nng_tls_config_free(identity.server);
    if (identity.client)
        nng_tls_config_free(identity.client);
    identity.server = identity.client = NULL;
}

enum baton_err baton_peer_tls_check(const struct baton_url *url, const char *text,
                                    struct baton_why *why)
{
    bool is_tls = !strcmp(url->scheme, "tls+tcp");
    if (is_tls && !identity.server)
        return baton_fail(why, BATON_INVALID,
                          "\"%.200s\" needs peer-certfile, peer-keyfile and "
                          "peer-cafile",
                          text);
    if (!is_tls && identity.server)
        return baton_fail(why, BATON_INVALID,
                          "\"%.200s\" is in clear: with peer-certfile an address begins with "
                          "tls+tcp://",
                          text);
    return BATON_OK;
}

int baton_peer_listen(nng_socket socket, const char *url, nng_listener *listener)
{
    int rv = nng_listener_create(listener, socket, url);
    if (!rv && identity.server)
        rv = nng_listener_set_ptr(*listener, NNG_OPT_TLS_CONFIG, identity.server);
    return rv ? rv : nng_listener_start(*listener, 0);
}

int baton_peer_dial(nng_socket socket, const char *url)
{
    nng_dialer dialer;
    int rv = nng_dialer_create(&dialer, socket, url);
    if (!rv && identity.client)
        rv = nng_dialer_set_ptr(dialer, NNG_OPT_TLS_CONFIG, identity.client);
    return rv ? rv : nng_dialer_start(dialer, NNG_FLAG_NONBLOCK);
}
