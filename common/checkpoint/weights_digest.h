/* The SHA-256 of a model's weights, remembered between starts: hashing gigabytes takes longer than
 * all else that a start does.
 *
 * The memory is a text file named by the model directory's real path. It is believed only when it
 * begins, byte for byte, with what the files are now:
 *
 *     baton weights digest 1
 *     model.safetensors size=8 inode=7 mtime=1700000000.000000001 ctime=1700000000.000000001
 *     sha256=<64 hex digits>
 *
 * The change time is beyond a user's reach, so a replaced file is always seen; one that changed
 * within the last seconds is not remembered, for it may change again within one tick of its clock.
 *
 * Ownership: the caller's array.
 * Threading: any thread.
 * Errors:    as baton_model_dir_weights; NO_MEMORY. A memory that can not be read or written is
 *            none.
 */
#ifndef BATON_CHECKPOINT_WEIGHTS_DIGEST_H
#define BATON_CHECKPOINT_WEIGHTS_DIGEST_H

#include "common/base/digest.h"
#include "common/checkpoint/cache_dir.h"

/* dirs NULL: nothing is remembered. While one process hashes, others that need the same wait. */
enum baton_err baton_weights_digest(const char *model_dir, const struct baton_cache_dirs *dirs,
                                    char hex[BATON_SHA256_HEX],
                                    struct baton_why *why) BATON_MUST_CHECK;

#endif
