/* Packed weights as a file, which all workers of a host map: N of them cost one copy.
 *
 *        0    8  "BATNPACK"
 *        8    4  version of this format
 *       12    4  CRC-32C of the header, taken with these four bytes zero
 *       16   64  SHA-256 of the weights, in hex
 *       80   64  SHA-256 of config.json, in hex
 *      144   16  dtype: "f32", "bf16", "q8", .., padded with zeros
 *      160    4  layout: 0 panels, 1 rows
 *      164    4  signature: CRC-32C of the arrays' sizes and of their matrices' dtypes, and of a
 *                  known matrix as the writer packs it, in each of these dtypes
 *      168    8  n, bytes of the payload
 *      176  256  CRC-32C of each of 64 pieces of the payload: n / 64 bytes, rounded up to 4096
 *      432       zeros
 *     4096    n  payload: the model's slab, as the architecture's tensor table lays it out
 *
 * Integers are little-endian. A file is used only when its header is exactly the one wanted, its
 * size is right and every piece matches: reading all of it costs 30 ms for 330 MB, and brings the
 * pages in that the first request would otherwise wait for.
 *
 * The mapping is shared, and requests huge pages before it is touched, so that the page cache is
 * made of them. Where it is (ext4 since Linux 6.16, XFS), reading it measures as private huge pages
 * do; where not, 4 KiB pages cost about a third of a core's bandwidth.
 *
 * Ownership: a mapping belongs to the caller until unmapped.
 * Threading: any thread; `pool` is busy during the call.
 * Errors:    map: NOT_FOUND, IO, INVALID (not trusted), CORRUPT (also: other contents than
 *            wanted). create: IO (no space), LIMIT.
 */
#ifndef BATON_ENGINE_MODEL_PACK_FILE_H
#define BATON_ENGINE_MODEL_PACK_FILE_H

#include <sys/types.h>

#include "common/base/error.h"
#include "engine/kernels/pack/packed.h"
#include "engine/system/pool.h"

struct baton_pack_key {
    const char *weights, *config; /* SHA-256 in hex */
    const char *dtype;            /* the model's, at most 15 bytes */
    enum baton_layout layout;
    uint32_t signature;
    size_t n_bytes; /* of the payload */
};

struct baton_pack_file {
    char *payload; /* aligned to 4096 bytes; written between create and seal only */
    size_t n_mapped;
};

/* The first bytes of every such file. */
#define BATON_PACK_MAGIC "BATNPACK"

enum { BATON_PACK_NAME_BYTES = 64 };

/* 0123456789abcdef-01234567-bf16-panels.pack: the first digits of both digests. */
void baton_pack_file_name(const struct baton_pack_key *key, char name[BATON_PACK_NAME_BYTES]);

/* Maps the file at path and checks all of it. INVALID if a user other than `owner`, this one and
 * root may have written it (common/base/os/file.h): its checksums only find accidents. */
enum baton_err baton_pack_file_map(const char *path, uid_t owner, const struct baton_pack_key *key,
                                   struct baton_pool *pool, struct baton_pack_file *file,
                                   struct baton_why *why) BATON_MUST_CHECK;

/* Gives an empty file its size, its space on the disk and a writable mapping, which is all zero. */
enum baton_err baton_pack_file_create(int fd, const struct baton_pack_key *key,
                                      struct baton_pack_file *file,
                                      struct baton_why *why) BATON_MUST_CHECK;

/* Writes the header over a complete payload and makes the mapping read-only. */
void baton_pack_file_seal(const struct baton_pack_file *file, const struct baton_pack_key *key,
                          struct baton_pool *pool);

void baton_pack_file_unmap(struct baton_pack_file *file);

#endif
