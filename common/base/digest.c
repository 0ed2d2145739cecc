#include "common/base/digest.h"

#include <isa-l/crc.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct baton_sha256 {
    EVP_MD_CTX *context;
};

struct baton_sha256 *baton_sha256_create(void)
{
    struct baton_sha256 *sha = malloc(sizeof *sha);
    if (!sha)
        return NULL;
    sha->context = EVP_MD_CTX_new();
    if (!sha->context || EVP_DigestInit_ex(sha->context, EVP_sha256(), NULL) != 1) {
        EVP_MD_CTX_free(sha->context);
        free(sha);
        return NULL;
    }
    return sha;
}

void baton_sha256_update(struct baton_sha256 *sha, const void *bytes, size_t n)
{
    (void)EVP_DigestUpdate(sha->context, bytes, n);
}

void baton_sha256_final(struct baton_sha256 *sha, char hex[BATON_SHA256_HEX])
{
    unsigned char digest[BATON_SHA256_BYTES] = {0};
    (void)EVP_DigestFinal_ex(sha->context, digest, NULL);
    for (int i = 0; i < BATON_SHA256_BYTES; i++)
        (void)snprintf(hex + 2 * i, 3, "%02x", digest[i]);
    EVP_MD_CTX_free(sha->context);
    free(sha);
}

enum baton_err baton_sha256_of(const void *bytes, size_t n, uint8_t digest[BATON_SHA256_BYTES])
{
    uint8_t made[BATON_SHA256_BYTES];
    if (EVP_Digest(bytes, n, made, NULL, EVP_sha256(), NULL) != 1)
        return BATON_NO_MEMORY;
    memcpy(digest, made, sizeof made);
    return BATON_OK;
}

bool baton_equal_constant_time(const void *a, const void *b, size_t n)
{
    return CRYPTO_memcmp(a, b, n) == 0;
}

/* The library accepts an int length and leaves both inversions of the standard to its caller. */
uint32_t baton_crc32c(uint32_t crc, const void *bytes, size_t n)
{
    enum { STEP = 1 << 30 };
    unsigned char *p = (unsigned char *)(uintptr_t)bytes; /* the prototype lacks a const */
    crc = ~crc;
    while (n) {
        int step = n > STEP ? STEP : (int)n;
        crc = crc32_iscsi(p, step, crc);
        p += step;
        n -= (size_t)step;
    }
    return ~crc;
}
