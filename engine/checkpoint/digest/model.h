/* The SHA-256 of each part of a model, and that of the weights remembered between starts: hashing
 * gigabytes takes longer than the rest of a start.
 *
 * The memory is a text file named by the model's real path. It is believed only when it begins,
 * byte for byte, with what the files are now:
 *
 *     baton weights digest 1
 *     model.safetensors size=8 inode=7 mtime=1700000000.000000001 ctime=1700000000.000000001
 *     sha256=<64 hex digits>
 *
 * A user cannot set the change time, so a replaced file is always seen. A file that changed within
 * the last seconds is not remembered, for it may change again within one tick of its clock.
 *
 * Ownership: the caller's array.
 * Threading: any thread.
 * Errors:    as baton_model_files_visit and baton_file_digest_add. A memory that cannot be read or
 *            written counts as none.
 */
#ifndef BATON_ENGINE_CHECKPOINT_DIGEST_MODEL_H
#define BATON_ENGINE_CHECKPOINT_DIGEST_MODEL_H

#include "common/base/digest.h"
#include "engine/checkpoint/cache_dir.h"
#include "engine/checkpoint/model_files.h"

/* Reads every byte of the part's files. */
enum baton_err baton_model_digest(const char *model_path, enum baton_model_part part,
                                  char hex[BATON_SHA256_HEX],
                                  struct baton_why *why) BATON_MUST_CHECK;

/* The digest of BATON_PART_WEIGHTS, from the memory if it is there and believed. While one process
 * hashes, others that need the same digest wait. dirs NULL: nothing is remembered. */
enum baton_err baton_model_digest_weights(const char *model_path,
                                          const struct baton_cache_dirs *dirs,
                                          char hex[BATON_SHA256_HEX],
                                          struct baton_why *why) BATON_MUST_CHECK;

#endif
