/* The API keys that clients may present, read from a file and stored as SHA-256 digests only.
 *
 *     file = *(line LF) line = "" | "#" comment | key *(1*SP (bound "=" 1*9DIGIT | "name=" text |
 *                                                    "admin" |
 *                                                    "priority=" ("interactive" | "batch")))
 *     key = 8*256 printable ASCII, no space
 *     text = 1*64 of A-Z a-z 0-9 . _ -
 *     bound = "max" | "requests_per_s" | "tokens_per_s" | "bytes_per_s", each once at most
 *
 * admin marks an operator's key. All requests of a key with priority=batch are batch requests,
 * whatever their bodies say. max bounds the key's concurrent generations, the other bounds are
 * rates per second; each replaces the common bound; 0: unlimited. White space at the end of a
 * line, including a CR, is ignored. A file has at least one key and at most GW_KEYS_MAX.
 *
 * Ownership: a struct gw_keys belongs to its reader. A struct gw_key lives as long as a table lists
 *            it or a completion holds it.
 * Threading: one owner at a time.
 * Errors:    INVALID (an invalid line: with file and line, never with the key; no key at all),
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
/* The same from n bytes of text; path is the file's name in errors. */
enum baton_err gw_keys_parse(const char *path, const char *text, size_t n, struct gw_keys **keys,
                             struct baton_why *why) BATON_MUST_CHECK;
/* NULL is none. */
void gw_keys_free(struct gw_keys *keys);
/* The number of keys in the table. */
size_t gw_keys_n(const struct gw_keys *keys);

/* Sets the rates of every key whose line has none of its own. */
void gw_keys_limit(struct gw_keys *keys, const struct gw_limits *otherwise);

/* Keeps the open generations and the account of each key that is in both tables, with the bounds of
 * its new line. Call gw_keys_limit afterwards. */
void gw_keys_inherit(struct gw_keys *keys, const struct gw_keys *old);

/* The key of an Authorization header's value "Bearer KEY" (the scheme in any case), borrowed; NULL
 * if it is not in the table. Compares every digest in constant time, so that the duration reveals
 * nothing about the keys. */
struct gw_key *gw_keys_find(const struct gw_keys *keys, const char *authorization);
/* The same for a header whose value is the key alone. */
struct gw_key *gw_keys_find_bare(const struct gw_keys *keys, const char *value);

/* The key of that SHA-256 [BATON_SHA256_BYTES]; NULL if it is not in the table (NULL: none). */
struct gw_key *gw_keys_find_digest(const struct gw_keys *keys, const uint8_t *digest);

/* The key's name in logs: the name of its line, else "line-N". */
const char *gw_key_name(const struct gw_key *key);
/* Its SHA-256 [BATON_SHA256_BYTES], borrowed; it identifies the key even if its line changes. */
const uint8_t *gw_key_digest(const struct gw_key *key);
/* The key's most concurrent generations, 0: unlimited; `otherwise` if its line has no bound. */
size_t gw_key_max(const struct gw_key *key, size_t otherwise);
/* The highest class that the key's requests may have; any class for NULL. */
enum baton_priority gw_key_priority(const struct gw_key *key);
/* Whether its line has the mark of operators. */
bool gw_key_is_admin(const struct gw_key *key);
/* The account of the key's recent use; borrowed. */
struct gw_account *gw_key_account(const struct gw_key *key);
/* The number of the key's open generations. */
size_t gw_key_n_open(const struct gw_key *key);
/* Adds n open generations, which keep the key alive until gw_key_give has removed as many, even if
 * a reload drops it. NULL is ignored. */
void gw_key_take(struct gw_key *key, size_t n);
void gw_key_give(struct gw_key *key, size_t n);

#endif
