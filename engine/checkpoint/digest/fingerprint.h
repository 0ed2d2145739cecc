/* The fingerprint of a model on disk: the digests of its parts.
 *
 * Ownership: the caller's struct.
 * Threading: any thread.
 * Errors:    as baton_model_files_visit, baton_file_digest_add and baton_gguf_model_open;
 *            the outputs are untouched.
 */
#ifndef BATON_ENGINE_CHECKPOINT_DIGEST_FINGERPRINT_H
#define BATON_ENGINE_CHECKPOINT_DIGEST_FINGERPRINT_H

#include <stdbool.h>

#include "common/base/fingerprint.h"
#include "engine/checkpoint/cache_dir.h"

/* Computes the fingerprint over every byte of the model's files (file.h); for a GGUF file's
 * metadata gguf/digest.h states the bytes. with_weights false leaves `weights` empty; true without
 * weight files is NOT_FOUND. The weights' digest is taken from cache while the files are the same
 * (model.h); cache NULL hashes them in any case. */
enum baton_err baton_fingerprint_take(const char *model_path, const struct baton_cache_dirs *cache,
                                      bool with_weights, struct baton_fingerprint *fingerprint,
                                      struct baton_why *why) BATON_MUST_CHECK;

#endif
