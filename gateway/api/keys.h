/* The API keys that clients may present, read from a file and kept as SHA-256 digests only.
 *
 *     file = *(line LF)      line = "" | "#" comment | key      key = 8*256 printable ASCII, no
 * space
 *
 * White space at the end of a line, a CR among it, is not part of it. At least one key, at most
 * GW_KEYS_MAX.
 *
 * Ownership: a struct gw_keys belongs to whoever read it.
 * Threading: immutable once read.
 * Errors:    INVALID (a line that is no key: file and line, never the key itself; no key at all),
 *            LIMIT (too many keys, too large a file), NOT_FOUND, IO, NO_MEMORY.
 */
#ifndef BATON_GATEWAY_API_KEYS_H
#define BATON_GATEWAY_API_KEYS_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/error.h"

enum { GW_KEY_MIN_BYTES = 8, GW_KEY_MAX_BYTES = 256, GW_KEYS_MAX = 1024 };

struct gw_keys;

enum baton_err gw_keys_read(const char *path, struct gw_keys **keys,
                            struct baton_why *why) BATON_MUST_CHECK;
/* The same from the n bytes that the file called `path` is said to hold. */
enum baton_err gw_keys_parse(const char *path, const char *text, size_t n, struct gw_keys **keys,
                             struct baton_why *why) BATON_MUST_CHECK;
/* NULL is none. */
void gw_keys_free(struct gw_keys *keys);
size_t gw_keys_n(const struct gw_keys *keys);

/* Whether the Authorization header's value is "Bearer KEY" (the scheme in any case) with one of the
 * keys. Every digest is compared, each in constant time. */
bool gw_keys_admit(const struct gw_keys *keys, const char *authorization);

#endif
