/* The SHA-256 of each part of a model. The digest of the weights is remembered between starts,
 * because hashing gigabytes takes longer than the rest of a start.
 *
 * It is remembered in a text file named by the model's real path. The file is believed only when it
 * begins, byte for byte, with the present state of the weight files:
 *
 *     baton weights digest 1
 *     model.safetensors size=8 inode=7 mtime=1700000000.000000001 ctime=1700000000.000000001
 *     sha256=<64 hex digits>
 *
 * A user cannot set the change time, so a replaced file is always noticed. A file that changed
 * within the last seconds is not remembered, because it may change again within one tick of its
 * clock.
 *
 * Ownership: the caller's array.
 * Threading: any thread.
 * Errors:    as baton_model_files_visit and baton_file_digest_add. A remembered file that cannot be
 *            read or written counts as none.
 */
#ifndef BATON_ENGINE_CHECKPOINT_DIGEST_MODEL_H
#define BATON_ENGINE_CHECKPOINT_DIGEST_MODEL_H

#include "common/base/digest.h"
#include "engine/checkpoint/cache_dir.h"
#include "engine/checkpoint/model_files.h"

/* Hashes every byte of the part's files. */
enum baton_err baton_model_digest(const char *model_path, enum baton_model_part part,
                                  char hex[BATON_SHA256_HEX],
                                  struct baton_why *why) BATON_MUST_CHECK;

/* Returns the digest of BATON_PART_WEIGHTS, remembered if possible. While one process hashes,
 * others that need the same digest wait. dirs NULL: nothing is remembered. */
enum baton_err baton_model_digest_weights(const char *model_path,
                                          const struct baton_cache_dirs *dirs,
                                          char hex[BATON_SHA256_HEX],
                                          struct baton_why *why) BATON_MUST_CHECK;

#endif
