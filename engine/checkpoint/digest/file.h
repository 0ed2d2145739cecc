/* The contribution of a file to a digest, computed on all processors.
 *
 *     name \n length in decimal \n { SHA-256 of each 8 MB piece, 32 bytes each }
 *
 * The name and length keep two different splits of the same bytes apart; the pieces can be hashed
 * at the same time, which SHA-256 over the whole could not.
 * The name and length distinguish two different splits of the same bytes. The pieces can be hashed
 * in parallel, which a SHA-256 over the whole file could not.
 * Threading: any thread; starts a helper for each further processor and waits for all of them.
 * Threading: any thread; starts a helper for each further processor and waits for all of them.
 */
#ifndef BATON_ENGINE_CHECKPOINT_DIGEST_FILE_H
#define BATON_ENGINE_CHECKPOINT_DIGEST_FILE_H

#include "common/base/digest.h"

/* Adds the file at path. Its name in the digest is the last part of the path. */
enum baton_err baton_file_digest_add(struct baton_sha256 *sha, const char *path,
                                     struct baton_why *why) BATON_MUST_CHECK;

#endif
