/* The tables of a large tokenizer.json, kept between starts in a form that need not be parsed.
 *
 *     header | scores | token rows | merge rows | added rows | texts | JSON of the steps
 *
 * The file lies beside the packed weights, is named by the digest of the tokenizer's files, and is
 * believed only with that digest and its own checksum. It may be deleted at any time.
 *
 * Ownership: tables are the caller's.
 * Threading: any thread; processes that want the same file wait for the one that makes it.
 * Errors:    parse: CORRUPT (not such a file, or of another version), NO_MEMORY. A cache that
 *            cannot be read or written counts as none.
 */
#ifndef BATON_ENGINE_CHECKPOINT_TOKENIZER_CACHE_H
#define BATON_ENGINE_CHECKPOINT_TOKENIZER_CACHE_H

#include "common/base/buf.h"
#include "common/base/digest.h"
#include "engine/checkpoint/cache_dir.h"
#include "engine/checkpoint/tokenizer_tables.h"

/* Returns the tables that were kept for digest, without file and steps; NULL when there are
 * none. */
struct baton_tokenizer_tables *baton_tokenizer_cache_find(const struct baton_cache_dirs *dirs,
                                                          const char digest[BATON_SHA256_HEX]);

/* Keeps the tables under digest. A failure is logged and otherwise ignored. */
void baton_tokenizer_cache_keep(const struct baton_cache_dirs *dirs,
                                const char digest[BATON_SHA256_HEX],
                                const struct baton_tokenizer_tables *tables);

/* Write the tables in the file's form into memory, and read them back. */
void baton_tokenizer_cache_write(const struct baton_tokenizer_tables *tables,
                                 const char digest[BATON_SHA256_HEX], struct baton_buf *out);
enum baton_err baton_tokenizer_cache_parse(const void *bytes, size_t n,
                                           const char digest[BATON_SHA256_HEX],
                                           struct baton_tokenizer_tables *tables,
                                           struct baton_why *why) BATON_MUST_CHECK;

#endif
