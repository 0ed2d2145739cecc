#include "worker/kv/file.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/array.h"
#include "common/base/digest.h"
#include "common/base/random.h"
#include "worker/kv/file_layout.h"

/* Own pieces: header and second generation. VICTIMS bounds the search for a slot: the only locked
 * ones are those that a process reads or writes at this moment. */
enum { VICTIMS = 8, N_OWN_PIECES = 2 };

static const char record_magic[8] = {'B', 'A', 'T', 'N', 'K', 'V', 'B', 'L'};

int64_t baton_kv_file_n_slots(const struct baton_kv_file *file)
{
    return file->n_slots;
}

/* ---- the index ---- */

static int64_t set_of(const struct baton_kv_file *file, const struct baton_block_hash *hash)
{
    uint64_t bits;
    memcpy(&bits, hash->bytes + sizeof bits, sizeof bits);
    return (int64_t)(bits % file->head.n_sets);
}

static off_t entry_at(int64_t slot)
{
    return BATON_KV_FILE_PAGE + slot * (off_t)sizeof(struct kv_file_entry);
}

/* Reads the hash's set into file->set; the number of its first slot, or NO_SLOT. */
static int64_t read_set(struct baton_kv_file *file, const struct baton_block_hash *hash)
{
    int64_t first = set_of(file, hash) * file->head.n_ways;
    ssize_t n = (ssize_t)(file->head.n_ways * sizeof *file->set);
    return pread(file->fd, file->set, (size_t)n, entry_at(first)) == n ? first : BATON_KV_NO_SLOT;
}

static bool is_entry_of(const struct kv_file_entry *entry, const struct baton_block_hash *hash)
{
    return entry->used_ns && !memcmp(&entry->hash, hash, sizeof *hash);
}

int64_t baton_kv_file_find(struct baton_kv_file *file, const struct baton_block_hash *hash)
{
    int64_t first = read_set(file, hash);
    for (uint32_t i = 0; first != BATON_KV_NO_SLOT && i < file->head.n_ways; i++)
        if (is_entry_of(&file->set[i], hash))
            return first + i;
    return BATON_KV_NO_SLOT;
}

/* The index is a hint: if this fails, the block is not found. */
static bool write_entry(struct baton_kv_file *file, int64_t slot, const struct kv_file_entry *entry)
{
    return pwrite(file->fd, entry, sizeof *entry, entry_at(slot)) == (ssize_t)sizeof *entry;
}

void baton_kv_file_touch(struct baton_kv_file *file, int64_t slot, int64_t used_ns)
{
    off_t at = entry_at(slot) + (off_t)offsetof(struct kv_file_entry, used_ns);
    ssize_t n = pwrite(file->fd, &used_ns, sizeof used_ns, at);
    (void)n; /* a failure only evicts the block earlier */
}

/* ---- records ---- */

static off_t record_at(const struct baton_kv_file *file, int64_t slot)
{
    return file->slots_at + slot * file->slot_bytes;
}

static bool lock_record(struct baton_kv_file *file, short type, int64_t slot)
{
    return kv_file_lock(file->fd, type, record_at(file, slot), file->slot_bytes);
}

static struct kv_file_record record_of(const struct baton_kv_file *file,
                                       const struct baton_block_hash *hash, uint64_t generation)
{
    struct kv_file_record record = {.version = BATON_KV_FILE_VERSION,
                                    .root = file->head.root,
                                    .hash = *hash,
                                    .generation = generation,
                                    .block_bytes = file->head.block_bytes};
    memcpy(record.magic, record_magic, sizeof record.magic);
    return record;
}

static uint32_t crc_of(const struct kv_file_record *record, const struct iovec *pieces, int n)
{
    struct kv_file_record plain = *record;
    plain.crc = 0;
    uint32_t crc = baton_crc32c(0, &plain, sizeof plain);
    for (int i = 0; i < n; i++)
        crc = baton_crc32c(crc, pieces[i].iov_base, pieces[i].iov_len);
    return baton_crc32c(crc, &record->generation, sizeof record->generation);
}

/* Sets file->pieces to the parts of a slot: header, block, second generation. Returns their number;
 * 0: no memory. */
static int lay_out(struct baton_kv_file *file, struct kv_file_record *record, uint64_t *generation,
                   const struct iovec *pieces, int n)
{
    if (BATON_RESERVE(file->pieces, file->pieces_capacity, (size_t)(n + N_OWN_PIECES)))
        return 0;
    file->pieces[0] = (struct iovec){record, sizeof *record};
    memcpy(file->pieces + 1, pieces, (size_t)n * sizeof *pieces);
    file->pieces[n + 1] = (struct iovec){generation, sizeof *generation};
    return n + N_OWN_PIECES;
}

/* Drops the first n_bytes of the pieces; returns the number of pieces that are used up. */
static int advance(struct iovec *pieces, int n, size_t n_bytes)
{
    int done = 0;
    for (; done < n && n_bytes >= pieces[done].iov_len; done++)
        n_bytes -= pieces[done].iov_len;
    if (done < n) {
        pieces[done].iov_base = (char *)pieces[done].iov_base + n_bytes;
        pieces[done].iov_len -= n_bytes;
    }
    return done;
}

/* Reads or writes all of file->pieces [n] at an offset of the file. 0, or errno; EIO where the file
 * ends. */
static int transfer(struct baton_kv_file *file, int n, off_t at, bool writes)
{
    struct iovec *pieces = file->pieces;
    while (n) {
        int some = n < IOV_MAX ? n : IOV_MAX; /* the limit of a call */
        ssize_t n_bytes =
            writes ? pwritev(file->fd, pieces, some, at) : preadv(file->fd, pieces, some, at);
        if (n_bytes < 0 && errno == EINTR)
            continue;
        if (n_bytes <= 0)
            return n_bytes ? errno : EIO;
        int done = advance(pieces, some, (size_t)n_bytes);
        at += n_bytes;
        pieces += done;
        n -= done;
    }
    return 0;
}

static enum baton_err error_of(int error)
{
    return !error                                                 ? BATON_OK
           : error == ENOSPC || error == EDQUOT || error == EFBIG ? BATON_LIMIT
                                                                  : BATON_IO;
}

/* Whether the record is whole and that of the hash. NOT_FOUND: it is whole, but of another block:
 * its writer has not updated the index yet. */
static enum baton_err check_record(const struct baton_kv_file *file,
                                   const struct kv_file_record *record, uint64_t generation,
                                   const struct baton_block_hash *hash, const struct iovec *pieces,
                                   int n)
{
    struct kv_file_record wanted = record_of(file, hash, generation);
    if (record->crc != crc_of(record, pieces, n))
        return BATON_CORRUPT;
    wanted.crc = record->crc;
    if (!memcmp(&wanted, record, sizeof wanted))
        return BATON_OK;
    memcpy(&wanted.hash, &record->hash, sizeof wanted.hash);
    return memcmp(&wanted, record, sizeof wanted) ? BATON_CORRUPT : BATON_NOT_FOUND;
}

/* Empties the slot of a damaged record, so that its block can be written again. If another process
 * has the slot locked, that process will find the damage itself. */
static void forget(struct baton_kv_file *file, int64_t slot)
{
    if (lock_record(file, F_WRLCK, slot))
        (void)write_entry(file, slot, &(struct kv_file_entry){.used_ns = 0});
}

enum baton_err baton_kv_file_read(struct baton_kv_file *file, int64_t slot,
                                  const struct baton_block_hash *hash, const struct iovec *pieces,
                                  int n_pieces)
{
    struct kv_file_record record;
    uint64_t generation = 0;
    int n = lay_out(file, &record, &generation, pieces, n_pieces);
    if (!n)
        return BATON_NO_MEMORY;
    if (!lock_record(file, F_RDLCK, slot))
        return BATON_NOT_FOUND;
    enum baton_err err = error_of(transfer(file, n, record_at(file, slot), false));
    if (!err)
        err = check_record(file, &record, generation, hash, pieces, n_pieces);
    if (err == BATON_CORRUPT)
        forget(file, slot);
    (void)lock_record(file, F_UNLCK, slot);
    return err;
}

/* An empty slot of file->set, or else the least recently used one; NO_SLOT when none is left. */
static int64_t oldest(const struct baton_kv_file *file)
{
    int64_t found = BATON_KV_NO_SLOT;
    for (uint32_t i = 0; i < file->head.n_ways; i++)
        if (file->set[i].used_ns < INT64_MAX &&
            (found == BATON_KV_NO_SLOT || file->set[i].used_ns < file->set[found].used_ns))
            found = i;
    return found;
}

/* Locks a slot of the hash's set for writing; NO_SLOT when the oldest VICTIMS slots are all in
 * use. */
static int64_t take_slot(struct baton_kv_file *file, const struct baton_block_hash *hash,
                         bool *evicted)
{
    int64_t first = read_set(file, hash);
    for (int i = 0; first != BATON_KV_NO_SLOT && i < VICTIMS; i++) {
        int64_t way = oldest(file);
        if (way == BATON_KV_NO_SLOT)
            break;
        if (lock_record(file, F_WRLCK, first + way)) {
            *evicted = file->set[way].used_ns != 0;
            return first + way;
        }
        file->set[way].used_ns = INT64_MAX;
    }
    return BATON_KV_NO_SLOT;
}

/* Empties the index's entry while the record changes, so that no reader tries a record that is half
 * written. */
static enum baton_err fill_slot(struct baton_kv_file *file, int64_t slot, int n,
                                const struct kv_file_entry *entry)
{
    if (!write_entry(file, slot, &(struct kv_file_entry){.used_ns = 0}))
        return BATON_IO;
    enum baton_err err = error_of(transfer(file, n, record_at(file, slot), true));
    if (!err && !write_entry(file, slot, entry))
        err = BATON_IO;
    return err;
}

enum baton_err baton_kv_file_write(struct baton_kv_file *file, const struct baton_block_hash *hash,
                                   const struct iovec *pieces, int n_pieces, int64_t used_ns,
                                   bool *evicted)
{
    uint64_t generation = baton_random_id();
    struct kv_file_record record = record_of(file, hash, generation);
    record.crc = crc_of(&record, pieces, n_pieces);
    int n = lay_out(file, &record, &generation, pieces, n_pieces);
    if (!n)
        return BATON_NO_MEMORY;
    int64_t slot = take_slot(file, hash, evicted);
    if (slot == BATON_KV_NO_SLOT)
        return BATON_AGAIN;
    enum baton_err err =
        fill_slot(file, slot, n, &(struct kv_file_entry){.hash = *hash, .used_ns = used_ns});
    (void)lock_record(file, F_UNLCK, slot);
    return err;
}

void baton_kv_file_close(struct baton_kv_file *file)
{
    if (!file)
        return;
    if (file->fd >= 0)
        (void)close(file->fd);
    free(file->set);
    free(file->pieces);
    free(file);
}
