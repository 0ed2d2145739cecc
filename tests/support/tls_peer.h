/* Support for tests of TLS: a certificate of its own in two files, and a client in memory.
 *
 * Ownership: files are removed by tls_files_remove.
 * Threading: one owner.
 * Errors:    none: whatever fails ends the process.
 */
#ifndef BATON_TESTS_SUPPORT_TLS_PEER_H
#define BATON_TESTS_SUPPORT_TLS_PEER_H

#include <openssl/ssl.h>

struct tls_files {
    char certfile[32], keyfile[32];
};

void tls_files_make(struct tls_files *files);
void tls_files_remove(const struct tls_files *files);

/* A client of the newest version, or of TLS 1.2, that has not said anything. It reads from and
 * writes to memory (SSL_get_rbio, SSL_get_wbio) and trusts everybody. */
SSL *tls_client(int max_version);

#endif
