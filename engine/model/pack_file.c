#include "engine/model/pack_file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/digest.h"
#include "common/base/os/file.h"

enum {
    VERSION = 2,
    PAGE_BYTES = 4096,
    N_PIECES = 64,
    HEX_BYTES = 64, /* of a SHA-256; the header stores no terminator */
    DTYPE_BYTES = 16,
    WEIGHTS_DIGITS = 16,
    CONFIG_DIGITS = 8
};

struct header {
    char magic[8];
    uint32_t version, crc;
    char weights[HEX_BYTES], config[HEX_BYTES];
    char dtype[DTYPE_BYTES];
    uint32_t layout, signature;
    uint64_t n_bytes;
    uint32_t piece_crcs[N_PIECES];
};
static_assert(sizeof(struct header) == 432, "the format has no padding");

static const char *const layout_names[] = {[BATON_PANELS] = "panels", [BATON_ROWS] = "rows"};

void baton_pack_file_name(const struct baton_pack_key *key, char name[BATON_PACK_NAME_BYTES])
{
    (void)snprintf(name, BATON_PACK_NAME_BYTES, "%.*s-%.*s-%s-%s.pack", WEIGHTS_DIGITS,
                   key->weights, CONFIG_DIGITS, key->config, key->dtype, layout_names[key->layout]);
}

struct crc_loop {
    const char *payload;
    size_t n_bytes, piece_bytes;
    uint32_t crcs[N_PIECES];
};

static void crc_piece(void *arg, int item, int worker)
{
    struct crc_loop *loop = arg;
    size_t begin = (size_t)item * loop->piece_bytes, n = loop->piece_bytes;
    (void)worker;
    if (begin >= loop->n_bytes)
        return;
    if (n > loop->n_bytes - begin)
        n = loop->n_bytes - begin;
    loop->crcs[item] = baton_crc32c(0, loop->payload + begin, n);
}

static uint32_t header_crc(struct header header)
{
    header.crc = 0;
    return baton_crc32c(0, &header, sizeof header);
}

/* The header of a key, without the checksums. */
static struct header wanted_header(const struct baton_pack_key *key)
{
    struct header header = {.version = VERSION,
                            .layout = (uint32_t)key->layout,
                            .signature = key->signature,
                            .n_bytes = key->n_bytes};
    memcpy(header.magic, BATON_PACK_MAGIC, sizeof header.magic);
    memcpy(header.weights, key->weights, HEX_BYTES);
    memcpy(header.config, key->config, HEX_BYTES);
    (void)snprintf(header.dtype, sizeof header.dtype, "%s", key->dtype);
    return header;
}

/* Pieces end on pages, and the last one takes less: two threads never fault the same page in. */
static void sum_payload(const struct baton_pack_file *file, size_t n_bytes, struct baton_pool *pool,
                        uint32_t crcs[N_PIECES])
{
    size_t piece = n_bytes / N_PIECES / PAGE_BYTES * PAGE_BYTES + PAGE_BYTES;
    struct crc_loop loop = {.payload = file->payload, .n_bytes = n_bytes, .piece_bytes = piece};
    baton_pool_run(pool, N_PIECES, crc_piece, &loop);
    memcpy(crcs, loop.crcs, sizeof loop.crcs);
}

static enum baton_err map_fd(int fd, size_t n_bytes, int protection, struct baton_pack_file *file,
                             struct baton_why *why)
{
    char *mapping = mmap(NULL, n_bytes, protection, MAP_SHARED, fd, 0);
    if (mapping == MAP_FAILED)
        return baton_fail(why, BATON_IO, "mmap: %s", strerror(errno));
    (void)madvise(mapping, n_bytes, MADV_HUGEPAGE); /* only a hint */
    *file = (struct baton_pack_file){.payload = mapping + PAGE_BYTES, .n_mapped = n_bytes};
    return BATON_OK;
}

static enum baton_err check(const struct baton_pack_file *file, const struct baton_pack_key *key,
                            struct baton_pool *pool, struct baton_why *why)
{
    struct header found, wanted = wanted_header(key);
    memcpy(&found, file->payload - PAGE_BYTES, sizeof found);
    if (found.crc != header_crc(found))
        return baton_fail(why, BATON_CORRUPT, "the header's checksum is wrong");
    wanted.crc = found.crc;
    /* The header is compared first: summing a payload of 40 GB takes seconds. */
    memcpy(wanted.piece_crcs, found.piece_crcs, sizeof wanted.piece_crcs);
    if (memcmp(&found, &wanted, sizeof found) != 0)
        return baton_fail(why, BATON_CORRUPT,
                          "the file was packed from other weights or by another version");
    sum_payload(file, key->n_bytes, pool, wanted.piece_crcs);
    if (memcmp(&found, &wanted, sizeof found) != 0)
        return baton_fail(why, BATON_CORRUPT, "the weights' checksum is wrong");
    return BATON_OK;
}

static enum baton_err map_checked(int fd, const struct baton_pack_key *key, struct baton_pool *pool,
                                  struct baton_pack_file *file, struct baton_why *why)
{
    struct baton_pack_file mapped;
    struct stat info;
    if (fstat(fd, &info))
        return baton_fail(why, BATON_IO, "%s", strerror(errno));
    if ((uint64_t)info.st_size != PAGE_BYTES + (uint64_t)key->n_bytes)
        return baton_fail(why, BATON_CORRUPT, "the file's size is wrong");
    enum baton_err err = map_fd(fd, PAGE_BYTES + key->n_bytes, PROT_READ, &mapped, why);
    if (err)
        return err;
    err = check(&mapped, key, pool, why);
    if (err)
        baton_pack_file_unmap(&mapped);
    else
        *file = mapped;
    return err;
}

enum baton_err baton_pack_file_map(const char *path, uid_t owner, const struct baton_pack_key *key,
                                   struct baton_pool *pool, struct baton_pack_file *file,
                                   struct baton_why *why)
{
    struct baton_why reason;
    int fd;
    enum baton_err err = baton_file_open_owned(path, owner, &fd, why);
    if (err)
        return err;
    err = map_checked(fd, key, pool, file, &reason);
    close(fd);
    return err ? baton_fail(why, err, "%s: %s", path, reason.text) : BATON_OK;
}

enum baton_err baton_pack_file_create(int fd, const struct baton_pack_key *key,
                                      struct baton_pack_file *file, struct baton_why *why)
{
    size_t n_bytes;
    if (__builtin_add_overflow(key->n_bytes, (size_t)PAGE_BYTES, &n_bytes) || n_bytes > PTRDIFF_MAX)
        return baton_fail(why, BATON_LIMIT, "%zu bytes", key->n_bytes);
    /* ftruncate would leave a sparse file: a store to a page without space on disk is a SIGBUS. */
    int error = posix_fallocate(fd, 0, (off_t)n_bytes);
    if (error)
        return baton_fail(why, BATON_IO, "%zu bytes: %s", n_bytes, strerror(error));
    return map_fd(fd, n_bytes, PROT_READ | PROT_WRITE, file, why);
}

void baton_pack_file_seal(const struct baton_pack_file *file, const struct baton_pack_key *key,
                          struct baton_pool *pool)
{
    struct header header = wanted_header(key);
    sum_payload(file, key->n_bytes, pool, header.piece_crcs);
    header.crc = header_crc(header);
    memcpy(file->payload - PAGE_BYTES, &header, sizeof header);
    (void)mprotect(file->payload - PAGE_BYTES, file->n_mapped, PROT_READ);
}

void baton_pack_file_unmap(struct baton_pack_file *file)
{
    if (file->payload)
        munmap(file->payload - PAGE_BYTES, file->n_mapped);
    *file = (struct baton_pack_file){0};
}
