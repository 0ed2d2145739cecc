#include "tests/support/test.h"

#include <string.h>

#include "gateway/http/certificate.h"
#include "tests/support/tls_peer.h"

static struct tls_files files;
static struct gw_tls_context *context;
static struct gw_tls *tls;
static SSL *client;
static struct baton_why why;

static void open_both(int max_version)
{
    assert_ok(gw_tls_context_open(files.certfile, files.keyfile, &context, &why));
    tls = gw_tls_create(context);
    assert_non_null(tls);
    client = tls_client(max_version);
}

SETUP(make_files)
{
    tls_files_make(&files);
}

TEARDOWN(remove_files)
{
    tls_files_remove(&files);
}

SETUP(begin)
{
    open_both(TLS1_3_VERSION);
}

SETUP(begin_1_2)
{
    open_both(TLS1_2_VERSION);
}

TEARDOWN(end)
{
    SSL_free(client);
    gw_tls_destroy(tls);
    gw_tls_context_close(context);
}

/* Delivers the server's output to the client. */
static void deliver_out(void)
{
    struct baton_buf *out = gw_tls_out(tls);
    if (out->len)
        assert_int_equal(BIO_write(SSL_get_rbio(client), out->data, (int)out->len), (int)out->len);
    baton_buf_consume(out, out->len);
}

/* Up to n bytes of what the client has to say; how many. */
static size_t take_from_client(char *bytes, size_t n)
{
    int taken = BIO_read(SSL_get_wbio(client), bytes, (int)n);
    return taken > 0 ? (size_t)taken : 0;
}

/* In pieces of n bytes; what the server's half says in the end. */
static enum baton_err shake_hands(size_t n)
{
    char piece[4096];
    enum baton_err err = BATON_AGAIN;
    for (int turn = 0; turn < 10 && err == BATON_AGAIN; turn++) {
        (void)SSL_do_handshake(client);
        for (size_t got; err == BATON_AGAIN && (got = take_from_client(piece, n));) {
            gw_tls_feed(tls, piece, got);
            err = gw_tls_handshake(tls);
            deliver_out();
        }
    }
    (void)SSL_do_handshake(client);
    return err;
}

/* All that has arrived of the client's output. */
static enum baton_err read_from_client(struct baton_buf *text)
{
    char piece[4096], plain[100];
    enum baton_err err = BATON_AGAIN;
    size_t n;
    for (size_t got; err == BATON_AGAIN && (got = take_from_client(piece, sizeof piece));) {
        gw_tls_feed(tls, piece, got);
        while (!(err = gw_tls_read(tls, plain, sizeof plain, &n)))
            baton_buf_append(text, plain, n);
    }
    return err;
}

static void assert_speaks(void)
{
    static char large[100000], got[sizeof large];
    struct baton_buf text;
    baton_buf_init(&text, 2 * sizeof large);
    memset(large, 'x', sizeof large);
    assert_int_equal(SSL_write(client, large, sizeof large), (int)sizeof large);
    assert_int_equal(read_from_client(&text), BATON_AGAIN);
    assert_int_equal(text.len, sizeof large);
    assert_memory_equal(text.data, large, sizeof large);
    assert_ok(gw_tls_write(tls, large, sizeof large));
    assert_ok(gw_tls_write(tls, large, 0));
    deliver_out();
    size_t n_got = 0, n;
    while (SSL_read_ex(client, got + n_got, sizeof got - n_got, &n))
        n_got += n;
    assert_int_equal(n_got, sizeof large);
    assert_memory_equal(got, large, sizeof large);
    baton_buf_fini(&text);
}

TEST(both_sides_say_what_they_like_in_tls_1_3)
{
    assert_ok(shake_hands(4096));
    assert_string_equal(SSL_get_version(client), "TLSv1.3");
    assert_speaks();
}

TEST_IN(begin_1_2, end, both_sides_say_what_they_like_in_tls_1_2)
{
    assert_ok(shake_hands(4096));
    assert_string_equal(SSL_get_version(client), "TLSv1.2");
    assert_speaks();
}

TEST(bytes_may_come_one_by_one)
{
    assert_ok(shake_hands(1));
    assert_speaks();
}

TEST(an_end_is_said_and_heard)
{
    char byte;
    struct baton_buf text;
    baton_buf_init(&text, 100);
    assert_ok(shake_hands(4096));
    assert_int_equal(SSL_write(client, "last", 4), 4);
    (void)SSL_shutdown(client);
    assert_int_equal(read_from_client(&text), BATON_CLOSED);
    assert_string_equal(baton_buf_text(&text), "last");
    gw_tls_end(tls);
    deliver_out();
    int n = SSL_read(client, &byte, 1);
    assert_int_equal(SSL_get_error(client, n), SSL_ERROR_ZERO_RETURN);
    baton_buf_fini(&text);
}

TEST(a_peer_that_speaks_no_tls_is_refused)
{
    static const char plain[] = "GET / HTTP/1.1\r\n\r\n";
    gw_tls_feed(tls, plain, sizeof plain - 1);
    assert_int_equal(gw_tls_handshake(tls), BATON_PEER);
    gw_tls_feed(tls, plain, sizeof plain - 1);
    assert_int_equal(gw_tls_handshake(tls), BATON_PEER);
}

TEST(a_changed_byte_is_noticed)
{
    char piece[4096], plain[100];
    size_t n;
    assert_ok(shake_hands(4096));
    assert_int_equal(SSL_write(client, "hello", 5), 5);
    size_t got = take_from_client(piece, sizeof piece);
    piece[got - 1] ^= 1;
    gw_tls_feed(tls, piece, got);
    assert_int_equal(gw_tls_read(tls, plain, sizeof plain, &n), BATON_PEER);
    assert_true(gw_tls_out(tls)->len > 0); /* an alert */
}

TEST(a_connection_outlives_its_certificate)
{
    struct gw_certificate certificate;
    assert_ok(gw_certificate_open(&certificate, files.certfile, files.keyfile, &why));
    assert_int_equal(gw_tls_context_days_left(certificate.context), 2);
    gw_tls_destroy(tls);
    tls = gw_tls_create(certificate.context);
    gw_certificate_reload(&certificate);
    gw_certificate_close(&certificate);
    assert_ok(shake_hands(4096));
    assert_speaks();
}

TEST_ALONE(a_certificate_needs_its_key)
{
    struct gw_certificate certificate;
    assert_ok(gw_certificate_open(&certificate, "", "", &why));
    assert_null(certificate.context);
    assert_int_equal(gw_certificate_open(&certificate, files.certfile, "", &why), BATON_INVALID);
    assert_string_equal(why.text, "ssl-keyfile is needed with ssl-certfile");
    assert_int_equal(gw_certificate_open(&certificate, "", files.keyfile, &why), BATON_INVALID);
    assert_int_equal(gw_certificate_open(&certificate, files.keyfile, files.keyfile, &why),
                     BATON_INVALID);
    assert_int_equal(gw_certificate_open(&certificate, files.certfile, "/none", &why),
                     BATON_INVALID);
    assert_non_null(strstr(why.text, "ssl-keyfile: /none: "));
}

/* The first message of the client; its length. */
static size_t take_hello(char *bytes, size_t n)
{
    assert_true(SSL_do_handshake(client) < 0);
    return take_from_client(bytes, n);
}

TEST(a_hello_is_whole_with_its_last_byte)
{
    char bytes[4096];
    size_t n = take_hello(bytes, sizeof bytes);
    for (size_t i = 0; i < n; i++)
        assert_false(gw_tls_is_whole_hello(bytes, i));
    assert_true(gw_tls_is_whole_hello(bytes, n));
}

TEST(a_hello_may_come_in_records_of_one_byte)
{
    char bytes[4096], records[6 * 4096] = {0};
    size_t n = take_hello(bytes, sizeof bytes), length = 0;
    for (size_t i = 5; i < n; i++) { /* without the head of its record */
        assert_false(gw_tls_is_whole_hello(records, length));
        memcpy(records + length, "\x16\x03\x01\x00\x01", 5);
        records[length + 5] = bytes[i];
        length += 6;
    }
    assert_true(gw_tls_is_whole_hello(records, length));
}

TEST(what_cannot_become_a_hello_is_not_waited_for)
{
    assert_false(gw_tls_is_whole_hello("", 0));
    assert_true(gw_tls_is_whole_hello("G", 1));                        /* no TLS */
    assert_true(gw_tls_is_whole_hello("\x15\x03", 2));                 /* an alert */
    assert_true(gw_tls_is_whole_hello("\x16\x03\x01\x00\x00", 5));     /* an empty record */
    assert_true(gw_tls_is_whole_hello("\x16\x03\x01\xff\xff", 5));     /* one too long */
    assert_true(gw_tls_is_whole_hello("\x16\x03\x01\x00\x01\x02", 6)); /* another message */
    assert_true(gw_tls_is_whole_hello("\x16\x03\x01\x00\x04\x01\xff\xff\xff", 9)); /* too long */
    assert_false(gw_tls_is_whole_hello("\x16\x03\x01\x00\x01\x01\x16", 7));
}

EACH_TEST(begin, end)

ALL_TESTS(make_files, remove_files)
