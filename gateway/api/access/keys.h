/* The API keys that clients may present, read from a file and kept as SHA-256 digests only.
 *
 *     file = *(line LF) line = "" | "#" comment | key *(1*SP (bound "=" 1*9DIGIT | "name=" text |
 *                                                    "priority=" ("interactive" | "batch")))
 *     key = 8*256 printable ASCII, no space
 *     text = 1*64 of A-Z a-z 0-9 . _ -
 *     bound = "max" | "requests_per_s" | "tokens_per_s" | "bytes_per_s", each once at most
 *
 * The requests of a key with priority=batch are batch requests, whatever they say.
 * max bounds the generations that the key may have at once, the others what it may do a second,
 * each instead of the common bound; 0: any.
 * White space at the end of a line, a CR among it, is not part of it. At least one key, at most
 * GW_KEYS_MAX.
 *
 * Ownership: a struct gw_keys belongs to its reader. A struct gw_key lives as long as a table lists
 *            it or a completion holds it.
 * Threading: one owner at a time.
 * Errors:    INVALID (a line that is no key: file and line, never the key itself; no key at all),
 *            LIMIT (more keys or a larger file than allowed), NOT_FOUND, IO, NO_MEMORY.
 */
#ifndef BATON_GATEWAY_API_ACCESS_KEYS_H
#define BATON_GATEWAY_API_ACCESS_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"
#include "common/policy/priority.h"
#include "gateway/http/account.h"
#include "gateway/http/server.h"

enum { GW_KEY_MIN_BYTES = 8, GW_KEY_MAX_BYTES = 256, GW_KEYS_MAX = 1024 };

struct gw_keys;

struct gw_key; /* one key, and how many generations it has */

enum baton_err gw_keys_read(const char *path, struct gw_keys **keys,
                            struct baton_why *why) BATON_MUST_CHECK;
/* The same from the n bytes that the file called `path` is said to hold. */
enum baton_err gw_keys_parse(const char *path, const char *text, size_t n, struct gw_keys **keys,
                             struct baton_why *why) BATON_MUST_CHECK;
/* NULL is none. */
void gw_keys_free(struct gw_keys *keys);
/* How many keys the table lists. */
size_t gw_keys_n(const struct gw_keys *keys);

/* The rates of every key whose line does not say its own. */
void gw_keys_limit(struct gw_keys *keys, const struct gw_limits *otherwise);

/* A key that is in both tables keeps its open generations and its account. The bounds of its new
 * line hold. To be followed by gw_keys_limit. */
void gw_keys_inherit(struct gw_keys *keys, const struct gw_keys *old);

/* The key of an Authorization header's value "Bearer KEY" (the scheme in any case), borrowed; NULL
 * when it is none of these. Every digest is compared, each in constant time. */
struct gw_key *gw_keys_find(const struct gw_keys *keys, const char *authorization);
/* The same of a header whose value is the key alone. */
struct gw_key *gw_keys_find_bare(const struct gw_keys *keys, const char *value);

/* What logs call it: the name of its line, else "line-N". */
const char *gw_key_name(const struct gw_key *key);
/* Its SHA-256 [BATON_SHA256_BYTES], borrowed: who presents the key, whatever its line says. */
const uint8_t *gw_key_digest(const struct gw_key *key);
/* How many generations the key may have at once, 0: any; `otherwise` if its line does not say. */
size_t gw_key_max(const struct gw_key *key, size_t otherwise);
/* The highest class of the key's requests; NULL is no key, and they may have any. */
enum baton_priority gw_key_priority(const struct gw_key *key);
/* What the key did lately; borrowed. */
struct gw_account *gw_key_account(const struct gw_key *key);
/* How many open generations the key has. */
size_t gw_key_n_open(const struct gw_key *key);
/* n generations begin. Holds the key until gw_key_give reports that as many ended. NULL is no key.
 */
void gw_key_take(struct gw_key *key, size_t n);
void gw_key_give(struct gw_key *key, size_t n);

#endif
