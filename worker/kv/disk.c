#include "worker/kv/disk.h"

#include <assert.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "worker/kv/file.h"
#include "worker/pace.h"

enum {
    BLOCK = BATON_KV_BLOCK_TOKENS,
    REST_S = 60,      /* for a disk that is full or fails */
    PROBE_EVERY = 16, /* one of so many loads from a slow disk reads, to measure it again */
    SAVE_SHARE = 20,  /* a save may delay waiting prompts by 1/20 of the time of computing */
    SAVE_MS = 100     /* the same, where the rate of computing is not known */
};

/* The blocks of one prompt on their way into the file. */
struct save {
    struct baton_node in_saves;
    struct baton_seq seq;
    struct baton_prefix prefix;
    int64_t until_ns; /* from then on it is dropped if prompts wait for blocks */
    int64_t used_ns;  /* by the wall clock */
    int n_done;       /* blocks; changed under the mutex */
    bool is_given_up; /* under the mutex */
};

BATON_LIST(load_list, struct baton_kv_load, in_loads)
BATON_LIST(save_list, struct save, in_saves)

struct baton_kv_disk {
    struct baton_kv *kv;
    const char *dir;
    void (*wake)(void *arg);
    void *wake_arg;
    pthread_t thread;
    bool has_thread;
    int n_saves; /* in both lists; main thread */

    pthread_mutex_t mutex; /* over the fields up to stats */
    pthread_cond_t changed;
    bool is_stopping;
    struct load_list loads;
    struct save_list saves, over; /* in order; the thread works on the first save */
    struct baton_kv_disk_stats stats;

    /* the disk's thread */
    struct baton_kv_file *file;
    struct iovec *pieces; /* [n_held layers] */
    struct baton_rate read_rate;
    int n_not_worth;
    bool is_resting;
    int64_t rest_until_ns;
};

/* ---- the disk's thread ---- */

/* Sets pieces to the memory of one block's layers. Returns their number. */
static int lay_out(const struct baton_kv_disk *disk, const struct baton_seq *seq, int block)
{
    int n;
    const int *held = baton_kv_held_layers(disk->kv, &n);
    for (int i = 0; i < n; i++)
        disk->pieces[i] = (struct iovec){.iov_base = baton_seq_block(seq, held[i], block),
                                         .iov_len = baton_kv_block_bytes(disk->kv, held[i])};
    return n;
}

/* The wall clock, because times in the file outlive a boot. */
static int64_t wall_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec * BATON_SECOND + now.tv_nsec;
}

static void count_error(struct baton_kv_disk *disk)
{
    pthread_mutex_lock(&disk->mutex);
    disk->stats.errors++;
    pthread_mutex_unlock(&disk->mutex);
}

/* The number of blocks behind the shared ones that the file has without a gap. */
static int count_found(struct baton_kv_disk *disk, const struct baton_kv_load *load)
{
    int n = 0, first = load->seq->n_shared;
    while (first + n < load->n_hashes &&
           baton_kv_file_find(disk->file, &load->hashes[first + n]) != BATON_KV_NO_SLOT)
        n++;
    return n;
}

/* The seconds that reading n blocks may take: as long as computing them. Negative: reading is
 * expected to take longer. */
static double time_for(struct baton_kv_disk *disk, const struct baton_kv_load *load, int n_blocks)
{
    double compute_s = load->tokens_per_s > 0 ? n_blocks * BLOCK / load->tokens_per_s : INFINITY;
    double rate = baton_rate_per_s(&disk->read_rate);
    if (rate <= 0 || n_blocks * (double)baton_kv_all_block_bytes(disk->kv) / rate < compute_s)
        return compute_s;
    return ++disk->n_not_worth % PROBE_EVERY ? -1 : compute_s;
}

/* Reads the block of that hash into the sequence's block. Earlier blocks count as used later, so
 * that a prompt's end is evicted before its start, without which it cannot be found. */
static bool read_block(struct baton_kv_disk *disk, const struct baton_kv_load *load, int block,
                       int64_t used_ns)
{
    static struct baton_log_limit failures;
    const struct baton_block_hash *hash = &load->hashes[block];
    int64_t slot = baton_kv_file_find(disk->file, hash);
    if (slot == BATON_KV_NO_SLOT)
        return false;
    enum baton_err err =
        baton_kv_file_read(disk->file, slot, hash, disk->pieces, lay_out(disk, load->seq, block));
    if (err && err != BATON_NOT_FOUND) {
        count_error(disk);
        baton_log_limited(&failures, BATON_LOG_WARN, "kv_disk_not_read", BATON_S("dir", disk->dir),
                          BATON_S("reason", baton_err_text(err)));
    }
    if (!err)
        baton_kv_file_touch(disk->file, slot, used_ns - block);
    return !err;
}

static void run_load(struct baton_kv_disk *disk, struct baton_kv_load *load)
{
    int n_found = count_found(disk, load), first = load->seq->n_shared, n = 0;
    double time_s = time_for(disk, load, n_found), taken_s = 0;
    int64_t begin_ns = baton_now_ns(), used_ns = wall_ns();
    while (n < n_found && taken_s < time_s && !atomic_load(load->canceled) &&
           read_block(disk, load, first + n, used_ns)) {
        n++;
        taken_s = baton_seconds(baton_now_ns() - begin_ns);
    }
    uint64_t n_bytes = (uint64_t)n * baton_kv_all_block_bytes(disk->kv);
    if (n)
        baton_rate_add(&disk->read_rate, (double)n_bytes, taken_s);
    load->n_loaded = n; /* published by is_over */
    pthread_mutex_lock(&disk->mutex);
    disk->stats.hit_tokens += (uint64_t)n * BLOCK;
    disk->stats.read_bytes += n_bytes;
    disk->stats.read_s += taken_s;
    pthread_mutex_unlock(&disk->mutex);
}

/* Logs one line when writes begin to fail, however long they fail. */
static void rest(struct baton_kv_disk *disk, enum baton_err err)
{
    disk->rest_until_ns = baton_now_ns() + REST_S * BATON_SECOND;
    count_error(disk);
    if (!disk->is_resting)
        baton_log(BATON_LOG_WARN, "kv_disk_not_written", BATON_S("dir", disk->dir),
                  BATON_S("reason", err == BATON_LIMIT ? "the disk is full" : baton_err_text(err)));
    disk->is_resting = true;
}

static void count_write(struct baton_kv_disk *disk, enum baton_err err, bool evicted,
                        double seconds)
{
    pthread_mutex_lock(&disk->mutex);
    disk->stats.write_s += seconds;
    disk->stats.evictions += evicted;
    disk->stats.dropped += err == BATON_AGAIN;
    if (!err)
        disk->stats.written_bytes += baton_kv_all_block_bytes(disk->kv);
    pthread_mutex_unlock(&disk->mutex);
}

/* Writes the next block of a save, or marks it as used if the file has it. False: nothing is
 * written for a while. */
static bool save_block(struct baton_kv_disk *disk, struct save *save)
{
    const struct baton_block_hash *hash = &save->prefix.hashes[save->n_done];
    int64_t slot = baton_kv_file_find(disk->file, hash), used_ns = save->used_ns - save->n_done;
    if (slot != BATON_KV_NO_SLOT) {
        baton_kv_file_touch(disk->file, slot, used_ns);
        return true;
    }
    int64_t begin_ns = baton_now_ns();
    bool evicted = false;
    if (begin_ns < disk->rest_until_ns)
        return false;
    enum baton_err err = baton_kv_file_write(
        disk->file, hash, disk->pieces, lay_out(disk, &save->seq, save->n_done), used_ns, &evicted);
    count_write(disk, err, evicted, baton_seconds(baton_now_ns() - begin_ns));
    if (err && err != BATON_AGAIN) {
        rest(disk, err);
        return false;
    }
    disk->is_resting = false;
    return true;
}

/* Writes one block at a time, so that a load waits for one block only. */
static void step_save(struct baton_kv_disk *disk, struct save *save)
{
    bool goes_on = save_block(disk, save);
    pthread_mutex_lock(&disk->mutex);
    save->n_done += goes_on;
    bool is_over = !goes_on || save->is_given_up || save->n_done == save->seq.n_blocks;
    if (is_over) {
        disk->stats.dropped += (uint64_t)(save->seq.n_blocks - save->n_done);
        save_list_remove(&disk->saves, save);
        save_list_push_back(&disk->over, save);
    }
    pthread_mutex_unlock(&disk->mutex);
    if (is_over)
        disk->wake(disk->wake_arg);
}

/* Waits for work: a load or, where there is none, a save. False: the thread ends. */
static bool take_work(struct baton_kv_disk *disk, struct baton_kv_load **load, struct save **save)
{
    pthread_mutex_lock(&disk->mutex);
    while (!disk->is_stopping && !disk->loads.n && !disk->saves.n)
        pthread_cond_wait(&disk->changed, &disk->mutex);
    bool goes_on = !disk->is_stopping;
    *load = goes_on ? load_list_pop_front(&disk->loads) : NULL;
    *save = save_list_first(&disk->saves);
    pthread_mutex_unlock(&disk->mutex);
    return goes_on;
}

static void *disk_thread(void *arg)
{
    struct baton_kv_disk *disk = arg;
    struct baton_kv_load *load;
    struct save *save;
    (void)pthread_setname_np(pthread_self(), "baton-kv-disk");
    while (take_work(disk, &load, &save))
        if (load) {
            run_load(disk, load);
            atomic_store(&load->is_over, true); /* from here on the main thread owns it */
            disk->wake(disk->wake_arg);
        } else {
            step_save(disk, save);
        }
    return NULL;
}

/* ---- the main thread ---- */

static enum baton_err open_file(struct baton_kv_disk *disk,
                                const struct baton_kv_disk_options *options,
                                const struct baton_prefix_cache *cache, struct baton_why *why)
{
    const struct baton_kv_file_options file = {.dir = options->dir,
                                               .max_bytes = options->bytes,
                                               .root = cache->root,
                                               .block_bytes = baton_kv_all_block_bytes(cache->kv)};
    enum baton_err err = baton_kv_file_open(&file, &disk->file, why);
    if (err)
        return err;
    int64_t n_slots = baton_kv_file_n_slots(disk->file);
    baton_log(BATON_LOG_INFO, "kv_disk", BATON_S("dir", options->dir),
              BATON_I("tokens", n_slots * BLOCK),
              BATON_I("block_bytes", baton_kv_all_block_bytes(cache->kv)));
    return BATON_OK;
}

static enum baton_err start(struct baton_kv_disk *disk, struct baton_why *why)
{
    int n;
    (void)baton_kv_held_layers(disk->kv, &n);
    disk->pieces = calloc((size_t)n, sizeof *disk->pieces);
    if (!disk->pieces)
        return baton_fail(why, BATON_NO_MEMORY, "--kv-disk: out of memory");
    disk->has_thread = !pthread_create(&disk->thread, NULL, disk_thread, disk);
    return disk->has_thread ? BATON_OK : baton_fail(why, BATON_IO, "--kv-disk: no thread for it");
}

enum baton_err baton_kv_disk_create(const struct baton_kv_disk_options *options,
                                    const struct baton_prefix_cache *cache, void (*wake)(void *arg),
                                    void *wake_arg, struct baton_kv_disk **out,
                                    struct baton_why *why)
{
    struct baton_kv_disk *disk = calloc(1, sizeof *disk);
    if (!disk)
        return baton_fail(why, BATON_NO_MEMORY, "--kv-disk: out of memory");
    disk->kv = cache->kv;
    disk->dir = options->dir;
    disk->wake = wake;
    disk->wake_arg = wake_arg;
    load_list_init(&disk->loads);
    save_list_init(&disk->saves);
    save_list_init(&disk->over);
    pthread_mutex_init(&disk->mutex, NULL);
    pthread_cond_init(&disk->changed, NULL);
    enum baton_err err = open_file(disk, options, cache, why);
    if (!err)
        err = start(disk, why);
    if (!err) {
        *out = disk;
        return BATON_OK;
    }
    baton_kv_disk_destroy(disk);
    /* A wrong option ends the worker; a disk that fails only costs it the second level. */
    if (err == BATON_INVALID || err == BATON_NO_MEMORY)
        return err;
    baton_log(BATON_LOG_WARN, "kv_disk_unusable", BATON_S("reason", why->text));
    *out = NULL;
    return BATON_OK;
}

static void end_save(struct save *save)
{
    baton_seq_fini(&save->seq);
    baton_prefix_fini(&save->prefix);
    free(save);
}

void baton_kv_disk_destroy(struct baton_kv_disk *disk)
{
    if (!disk)
        return;
    pthread_mutex_lock(&disk->mutex);
    disk->is_stopping = true;
    pthread_cond_signal(&disk->changed);
    pthread_mutex_unlock(&disk->mutex);
    if (disk->has_thread)
        pthread_join(disk->thread, NULL);
    for (struct save *save; (save = save_list_pop_front(&disk->saves));)
        end_save(save);
    for (struct save *save; (save = save_list_pop_front(&disk->over));)
        end_save(save);
    baton_kv_file_close(disk->file);
    pthread_cond_destroy(&disk->changed);
    pthread_mutex_destroy(&disk->mutex);
    free(disk->pieces);
    free(disk);
}

void baton_kv_disk_load(struct baton_kv_disk *disk, struct baton_kv_load *load)
{
    pthread_mutex_lock(&disk->mutex);
    load_list_push_back(&disk->loads, load);
    pthread_cond_signal(&disk->changed);
    pthread_mutex_unlock(&disk->mutex);
}

static int64_t patience_ns(int n_blocks, double tokens_per_s)
{
    return tokens_per_s > 0
               ? (int64_t)(n_blocks * BLOCK / tokens_per_s / SAVE_SHARE * (double)BATON_SECOND)
               : SAVE_MS * BATON_MS;
}

void baton_kv_disk_save(struct baton_kv_disk *disk, struct baton_seq *seq,
                        struct baton_prefix *prefix, double tokens_per_s, int64_t now_ns)
{
    struct save *save = prefix->n_registered ? calloc(1, sizeof *save) : NULL;
    if (!save) /* nothing to save, or no memory to do so */
        return;
    baton_seq_shorten(seq, prefix->n_registered);
    *save = (struct save){.seq = *seq,
                          .prefix = *prefix,
                          .used_ns = wall_ns(),
                          .until_ns = now_ns + patience_ns(seq->n_blocks, tokens_per_s)};
    *seq = (struct baton_seq){0};
    *prefix = (struct baton_prefix){0};
    disk->n_saves++;
    pthread_mutex_lock(&disk->mutex);
    save_list_push_back(&disk->saves, save);
    pthread_cond_signal(&disk->changed);
    pthread_mutex_unlock(&disk->mutex);
}

void baton_kv_disk_give_back(struct baton_kv_disk *disk)
{
    for (;;) {
        pthread_mutex_lock(&disk->mutex);
        struct save *save = save_list_pop_front(&disk->over);
        pthread_mutex_unlock(&disk->mutex);
        if (!save)
            return;
        end_save(save);
        disk->n_saves--;
    }
}

/* The thread may be writing a block of the first save, which therefore ends after that block. */
int64_t baton_kv_disk_drop_slow_saves(struct baton_kv_disk *disk, int64_t now_ns)
{
    int64_t next_ns = INT64_MAX;
    pthread_mutex_lock(&disk->mutex);
    struct save *first = save_list_first(&disk->saves);
    for (struct save *save = first, *next; save; save = next) {
        next = save_list_next(&disk->saves, save);
        if (now_ns < save->until_ns) {
            next_ns = save->until_ns < next_ns ? save->until_ns : next_ns;
        } else if (save == first) {
            save->is_given_up = true;
        } else {
            disk->stats.dropped += (uint64_t)(save->seq.n_blocks - save->n_done);
            save_list_remove(&disk->saves, save);
            save_list_push_back(&disk->over, save);
            next_ns = now_ns; /* to give its blocks back */
        }
    }
    pthread_mutex_unlock(&disk->mutex);
    return next_ns;
}

bool baton_kv_disk_is_idle(const struct baton_kv_disk *disk)
{
    return !disk->n_saves;
}

static void report_all(const struct save_list *saves, struct baton_kv_report *report)
{
    for (struct save *save = save_list_first(saves); save; save = save_list_next(saves, save))
        baton_kv_report_add_cached(report, &save->seq);
}

void baton_kv_disk_report(struct baton_kv_disk *disk, struct baton_kv_report *report)
{
    pthread_mutex_lock(&disk->mutex);
    report_all(&disk->saves, report);
    report_all(&disk->over, report);
    pthread_mutex_unlock(&disk->mutex);
}

struct baton_kv_disk_stats baton_kv_disk_stats(struct baton_kv_disk *disk)
{
    pthread_mutex_lock(&disk->mutex);
    struct baton_kv_disk_stats stats = disk->stats;
    pthread_mutex_unlock(&disk->mutex);
    return stats;
}
