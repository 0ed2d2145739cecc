#include "gateway/http/tls.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdlib.h>
#include <string.h>

struct gw_tls_context {
    SSL_CTX *ssl;
};

struct gw_tls {
    SSL *ssl;
    const char *fed; /* borrowed */
    size_t n_fed;
    struct baton_buf out;
};

/* ---- OpenSSL's I/O: it reads the fed bytes and writes to out ---- */

static int read_fed(BIO *bio, char *to, int size)
{
    struct gw_tls *tls = BIO_get_data(bio);
    size_t n = tls->n_fed < (size_t)size ? tls->n_fed : (size_t)size;
    BIO_clear_retry_flags(bio);
    if (!n) {
        BIO_set_retry_read(bio);
        return -1;
    }
    memcpy(to, tls->fed, n);
    tls->fed += n;
    tls->n_fed -= n;
    return (int)n;
}

static int write_out(BIO *bio, const char *bytes, int n)
{
    struct gw_tls *tls = BIO_get_data(bio);
    baton_buf_append(&tls->out, bytes, (size_t)n);
    return baton_buf_err(&tls->out) ? -1 : n;
}

static long control(BIO *bio, int command, long number, void *pointer)
{
    (void)bio;
    (void)number;
    (void)pointer;
    return command == BIO_CTRL_FLUSH;
}

/* Returns a method that is created once and kept, because connections may outlive their context. */
static BIO_METHOD *memory_method(void)
{
    static BIO_METHOD *method;
    if (method)
        return method;
    method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "fed bytes");
    if (method) {
        BIO_meth_set_read(method, read_fed);
        BIO_meth_set_write(method, write_out);
        BIO_meth_set_ctrl(method, control);
    }
    return method;
}

/* ---- certificates ---- */

/* Refuses encrypted keys: OpenSSL would ask for the password on the terminal. */
static int no_password(char *to, int size, int is_write, void *arg)
{
    (void)to;
    (void)size;
    (void)is_write;
    (void)arg;
    return -1;
}

static int choose_protocol(SSL *ssl, const unsigned char **out, unsigned char *n_out,
                           const unsigned char *offered, unsigned n_offered, void *arg)
{
    static const unsigned char ours[] = "\x08http/1.1\x08http/1.0";
    unsigned char *chosen;
    (void)ssl;
    (void)arg;
    if (SSL_select_next_proto(&chosen, n_out, ours, sizeof ours - 1, offered, n_offered) !=
        OPENSSL_NPN_NEGOTIATED)
        return SSL_TLSEXT_ERR_ALERT_FATAL;
    *out = chosen;
    return SSL_TLSEXT_ERR_OK;
}

/* Fails with OpenSSL's first error: later ones only say where it was noticed. */
static enum baton_err refuse(const char *option, const char *file, struct baton_why *why)
{
    unsigned long error = ERR_peek_error();
    const char *reason =
        ERR_SYSTEM_ERROR(error) ? strerror(ERR_GET_REASON(error)) : ERR_reason_error_string(error);
    ERR_clear_error();
    return baton_fail(why, BATON_INVALID, "%s: %s: %s", option, file,
                      reason ? reason : "the file cannot be used");
}

static enum baton_err read_files(SSL_CTX *ssl, const char *certfile, const char *keyfile,
                                 struct baton_why *why)
{
    ERR_clear_error();
    SSL_CTX_set_default_passwd_cb(ssl, no_password);
    if (SSL_CTX_use_certificate_chain_file(ssl, certfile) != 1)
        return refuse("ssl-certfile", certfile, why);
    if (SSL_CTX_use_PrivateKey_file(ssl, keyfile, SSL_FILETYPE_PEM) != 1 ||
        SSL_CTX_check_private_key(ssl) != 1)
        return refuse("ssl-keyfile", keyfile, why);
    return BATON_OK;
}

static void set_modes(SSL_CTX *ssl)
{
    SSL_CTX_set_min_proto_version(ssl, TLS1_2_VERSION);
    SSL_CTX_set_options(ssl, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                 SSL_OP_CIPHER_SERVER_PREFERENCE);
    SSL_CTX_set_mode(ssl, SSL_MODE_RELEASE_BUFFERS); /* an idle connection keeps none */
    /* Tickets resume sessions without memory on the server. */
    SSL_CTX_set_session_cache_mode(ssl, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_alpn_select_cb(ssl, choose_protocol, NULL);
}

enum baton_err gw_tls_context_open(const char *certfile, const char *keyfile,
                                   struct gw_tls_context **context, struct baton_why *why)
{
    struct gw_tls_context *made = calloc(1, sizeof *made);
    if (made)
        made->ssl = SSL_CTX_new(TLS_server_method());
    if (!made || !made->ssl || !memory_method()) {
        gw_tls_context_close(made);
        return baton_fail(why, BATON_NO_MEMORY, "ssl-certfile: out of memory");
    }
    set_modes(made->ssl);
    enum baton_err err = read_files(made->ssl, certfile, keyfile, why);
    if (err)
        gw_tls_context_close(made);
    else
        *context = made;
    return err;
}

void gw_tls_context_close(struct gw_tls_context *context)
{
    if (context)
        SSL_CTX_free(context->ssl);
    free(context);
}

int gw_tls_context_days_left(const struct gw_tls_context *context)
{
    int days = 0, seconds = 0;
    const X509 *certificate = SSL_CTX_get0_certificate(context->ssl);
    if (certificate)
        ASN1_TIME_diff(&days, &seconds, NULL, X509_get0_notAfter(certificate));
    return days + (seconds < 0 ? -1 : 0);
}

/* ---- a connection ---- */

enum { RECORD_HEAD = 5, MESSAGE_HEAD = 4, HANDSHAKE_RECORD = 22, CLIENT_HELLO = 1 };
enum { MAX_RECORD_BYTES = 16 << 10, MAX_HELLO_BYTES = 16 << 10 };

/* Records may divide even the head of a message, so its bytes are counted one after another. */
bool gw_tls_is_whole_hello(const char *bytes, size_t n)
{
    const unsigned char *record = (const unsigned char *)bytes;
    size_t type = 0, length = 0, n_read = 0;
    while (n && record[0] == HANDSHAKE_RECORD && n >= RECORD_HEAD) {
        size_t n_body = (size_t)record[3] << 8 | record[4];
        if (!n_body || n_body > MAX_RECORD_BYTES)
            return true;
        if (n < RECORD_HEAD + n_body)
            return false;
        const unsigned char *body = record + RECORD_HEAD;
        for (size_t i = 0; i < n_body && n_read + i < MESSAGE_HEAD; i++)
            if (n_read + i == 0)
                type = body[i];
            else
                length = length << 8 | body[i];
        n_read += n_body;
        if (type != CLIENT_HELLO || (n_read >= MESSAGE_HEAD &&
                                     (length > MAX_HELLO_BYTES || n_read >= MESSAGE_HEAD + length)))
            return true;
        record += RECORD_HEAD + n_body;
        n -= RECORD_HEAD + n_body;
    }
    return n && record[0] != HANDSHAKE_RECORD;
}

struct gw_tls *gw_tls_create(struct gw_tls_context *context)
{
    struct gw_tls *tls = calloc(1, sizeof *tls);
    BIO *bio = BIO_new(memory_method());
    SSL *ssl = SSL_new(context->ssl);
    if (!tls || !bio || !ssl) {
        free(tls);
        BIO_free(bio);
        SSL_free(ssl);
        return NULL;
    }
    baton_buf_init(&tls->out, PTRDIFF_MAX); /* up to one response */
    tls->ssl = ssl;
    BIO_set_data(bio, tls);
    BIO_set_init(bio, 1);
    SSL_set_bio(ssl, bio, bio); /* owns it, for both directions */
    SSL_set_accept_state(ssl);
    return tls;
}

void gw_tls_destroy(struct gw_tls *tls)
{
    if (!tls)
        return;
    SSL_free(tls->ssl);
    baton_buf_fini(&tls->out);
    free(tls);
}

void gw_tls_feed(struct gw_tls *tls, const char *bytes, size_t n)
{
    tls->fed = bytes;
    tls->n_fed = n;
}

/* Converts the result of a call of OpenSSL. */
static enum baton_err outcome(struct gw_tls *tls, int result)
{
    int error = result > 0 ? SSL_ERROR_NONE : SSL_get_error(tls->ssl, result);
    ERR_clear_error();
    if (baton_buf_err(&tls->out))
        return BATON_NO_MEMORY;
    switch (error) {
    case SSL_ERROR_NONE:
        return BATON_OK;
    case SSL_ERROR_WANT_READ:
        return BATON_AGAIN;
    case SSL_ERROR_ZERO_RETURN:
        return BATON_CLOSED;
    default:
        return BATON_PEER;
    }
}

enum baton_err gw_tls_handshake(struct gw_tls *tls)
{
    return outcome(tls, SSL_do_handshake(tls->ssl));
}

enum baton_err gw_tls_read(struct gw_tls *tls, char *bytes, size_t size, size_t *n)
{
    return outcome(tls, SSL_read_ex(tls->ssl, bytes, size, n));
}

enum baton_err gw_tls_write(struct gw_tls *tls, const char *bytes, size_t n)
{
    size_t written;
    return n ? outcome(tls, SSL_write_ex(tls->ssl, bytes, n, &written)) : BATON_OK;
}

void gw_tls_end(struct gw_tls *tls)
{
    (void)SSL_shutdown(tls->ssl);
    ERR_clear_error();
}

struct baton_buf *gw_tls_out(struct gw_tls *tls)
{
    return &tls->out;
}
