/* A client's bytes on their way to the server are changed as the input says: its first byte chooses
 * the version, each further pair how far the next change is, and what is changed there. Whatever
 * arrives: the server's side ends or goes on, and reads nothing that the client did not write. */
#include "tests/fuzz/fuzz.h"

#include "gateway/http/tls.h"
#include "tests/support/tls_peer.h"

static const char request[] = "GET /health HTTP/1.1\r\nHost: a\r\n\r\n";

struct changes {
    const uint8_t *at, *end;
    size_t n_left; /* bytes until the next change */
};

static void next_change(struct changes *changes)
{
    changes->n_left = changes->at < changes->end ? *changes->at++ * 4U : SIZE_MAX;
}

static void apply(struct changes *changes, char *bytes, size_t n)
{
    while (changes->n_left < n) {
        bytes[changes->n_left] ^= (char)(changes->at < changes->end ? *changes->at++ : 0xff);
        bytes += changes->n_left;
        n -= changes->n_left;
        next_change(changes);
    }
    changes->n_left -= changes->n_left == SIZE_MAX ? 0 : n;
}

static struct gw_tls_context *open_context(void)
{
    struct gw_tls_context *context = NULL;
    struct tls_files files;
    tls_files_make(&files);
    check(!gw_tls_context_open(files.certfile, files.keyfile, &context, NULL));
    tls_files_remove(&files);
    return context;
}

/* Bytes that the server's side reads; *err is what ended it. */
static size_t hear(struct gw_tls *tls, bool *shaken, char *text, size_t room, enum baton_err *err)
{
    size_t n_text = 0, n;
    if (!*shaken) {
        *err = gw_tls_handshake(tls);
        *shaken = !*err;
    }
    while (*shaken && n_text < room && !(*err = gw_tls_read(tls, text + n_text, room - n_text, &n)))
        n_text += n;
    return n_text;
}

static void converse(struct gw_tls *tls, SSL *client, struct changes *changes)
{
    char piece[4096], text[sizeof request];
    bool shaken = false, asked = false;
    enum baton_err err = BATON_AGAIN;
    for (int turn = 0; turn < 12 && err == BATON_AGAIN; turn++) {
        if (SSL_do_handshake(client) == 1 && !asked)
            asked = SSL_write(client, request, sizeof request - 1) > 0;
        int got = BIO_read(SSL_get_wbio(client), piece, sizeof piece);
        if (got <= 0)
            break;
        apply(changes, piece, (size_t)got);
        /* What is whole stays so when more comes. */
        check(!gw_tls_is_whole_hello(piece, (size_t)got / 2) ||
              gw_tls_is_whole_hello(piece, (size_t)got));
        gw_tls_feed(tls, piece, (size_t)got);
        size_t n = hear(tls, &shaken, text, sizeof text, &err);
        check(!n || (n == sizeof request - 1 && memcmp(text, request, n) == 0));
        struct baton_buf *out = gw_tls_out(tls);
        check(!out->len || BIO_write(SSL_get_rbio(client), out->data, (int)out->len) > 0);
        baton_buf_consume(out, out->len);
    }
    check(err != BATON_AGAIN || !shaken || !gw_tls_write(tls, request, sizeof request - 1));
}

FUZZ(data, size)
{
    static struct gw_tls_context *context;
    if (!context)
        context = open_context();
    if (!size)
        return;
    struct changes changes = {.at = data + 1, .end = data + size};
    struct gw_tls *tls = gw_tls_create(context);
    SSL *client = tls_client(data[0] & 1 ? TLS1_2_VERSION : TLS1_3_VERSION);
    check(tls);
    next_change(&changes);
    converse(tls, client, &changes);
    SSL_free(client);
    gw_tls_destroy(tls);
}
