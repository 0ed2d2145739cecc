/* SHA-256 for identities and secrets, CRC-32C for messages.
 *
 * Ownership: a baton_sha256 is created and destroyed by its user (final destroys it).
 * Threading: one owner at a time; baton_crc32c is pure.
 * Errors:    creation may return NULL, and baton_sha256_of NO_MEMORY: out of memory.
 */
#ifndef BATON_COMMON_BASE_DIGEST_H
#define BATON_COMMON_BASE_DIGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"

enum { BATON_SHA256_BYTES = 32, BATON_SHA256_HEX = 65 };

struct baton_sha256;

struct baton_sha256 *baton_sha256_create(void);
void baton_sha256_update(struct baton_sha256 *sha, const void *bytes, size_t n);
/* Writes 64 lower-case hex digits and a zero, and destroys sha. */
void baton_sha256_final(struct baton_sha256 *sha, char hex[BATON_SHA256_HEX]);

/* Computes the digest of n bytes, not spelled in hex. */
enum baton_err baton_sha256_of(const void *bytes, size_t n,
                               uint8_t digest[BATON_SHA256_BYTES]) BATON_MUST_CHECK;

/* True when n bytes are equal. The time does not depend on where they differ. */
bool baton_equal_constant_time(const void *a, const void *b, size_t n);

/* CRC-32C (Castagnoli, RFC 3720 appendix B.4): baton_crc32c(0, "123456789", 9) == 0xe3069283.
 * crc is 0 to begin with, or the value returned for the bytes before. */
uint32_t baton_crc32c(uint32_t crc, const void *bytes, size_t n);

#endif
