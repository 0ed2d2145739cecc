#include "tests/support/tls_peer.h"

#include <openssl/pem.h>
#include <openssl/x509.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void need(int is_fine)
{
    if (!is_fine)
        abort();
}

static X509 *sign(EVP_PKEY *key)
{
    X509 *certificate = X509_new();
    X509_NAME *name = X509_get_subject_name(certificate);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
    X509_gmtime_adj(X509_getm_notBefore(certificate), 0);
    X509_gmtime_adj(X509_getm_notAfter(certificate), 2 * 86400 + 60);
    need(X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)"test", -1, -1,
                                    0));
    need(X509_set_issuer_name(certificate, name) && X509_set_pubkey(certificate, key));
    need(X509_sign(certificate, key, EVP_sha256()) > 0);
    return certificate;
}

static FILE *make_file(char path[32])
{
    (void)snprintf(path, 32, "/tmp/baton-tls-XXXXXX");
    FILE *file = fdopen(mkstemp(path), "w");
    need(file != NULL);
    return file;
}

void tls_files_make(struct tls_files *files)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *certificate = sign(key);
    FILE *certfile = make_file(files->certfile), *keyfile = make_file(files->keyfile);
    need(PEM_write_X509(certfile, certificate));
    need(PEM_write_PrivateKey(keyfile, key, NULL, NULL, 0, NULL, NULL));
    need(!fclose(certfile) && !fclose(keyfile));
    X509_free(certificate);
    EVP_PKEY_free(key);
}

void tls_files_remove(const struct tls_files *files)
{
    (void)unlink(files->certfile);
    (void)unlink(files->keyfile);
}

SSL *tls_client(int max_version)
{
    static SSL_CTX *context; /* kept: making one takes longer than a handshake */
    if (!context)
        context = SSL_CTX_new(TLS_client_method());
    need(context != NULL);
    SSL *client = SSL_new(context);
    need(client != NULL && SSL_set_max_proto_version(client, max_version));
    SSL_set_bio(client, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    SSL_set_connect_state(client);
    return client;
}
