#include "worker/kv/disk.h"

#include <assert.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "worker/kv/tier.h"
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
    int n_states;     /* blocks after which a state may have been saved, and was written */
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
    struct baton_kv_tier blocks, states; /* states: of models whose layers keep one */
    struct baton_rate read_rate;
    int n_not_worth;
    bool is_resting;
    int64_t rest_until_ns;
};

/* ---- the disk's thread ---- */

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

/* The number of blocks behind the shared ones that the file has without a gap, up to the last one
 * with a state where layers keep one. */
static int count_found(struct baton_kv_disk *disk, const struct baton_kv_load *load)
{
    int n = 0, first = load->seq->n_shared;
    while (first + n < load->n_hashes && baton_kv_tier_has(&disk->blocks, &load->hashes[first + n]))
        n++;
    while (disk->states.file && n &&
           !baton_kv_tier_has(&disk->states, &load->hashes[first + n - 1]))
        n--;
    return n;
}

/* Bytes of n blocks, and of the state behind them. */
static uint64_t bytes_of(const struct baton_kv_disk *disk, int n)
{
    return n ? (uint64_t)n * disk->blocks.block_bytes + disk->states.block_bytes : 0;
}

/* The seconds that reading n blocks may take: as long as computing them. Negative: reading is
 * expected to take longer. */
static double time_for(struct baton_kv_disk *disk, const struct baton_kv_load *load, int n_blocks)
{
    double compute_s = load->tokens_per_s > 0 ? n_blocks * BLOCK / load->tokens_per_s : INFINITY;
    double rate = baton_rate_per_s(&disk->read_rate);
    if (rate <= 0 || (double)bytes_of(disk, n_blocks) / rate < compute_s)
        return compute_s;
    return ++disk->n_not_worth % PROBE_EVERY ? -1 : compute_s;
}

/* Reads the block or state of hash `index` of the load into block `to` of its sequence. */
static bool read_one(struct baton_kv_disk *disk, struct baton_kv_tier *tier,
                     const struct baton_kv_load *load, int index, int to, int64_t used_ns)
{
    static struct baton_log_limit failures;
    enum baton_err err = baton_kv_tier_read(tier, &load->hashes[index], load->seq, to, used_ns);
    if (err && err != BATON_NOT_FOUND) {
        count_error(disk);
        baton_log_limited(&failures, BATON_LOG_WARN, "kv_disk_not_read", BATON_S("dir", disk->dir),
                          BATON_S("reason", baton_err_text(err)));
    }
    return !err;
}

/* Reads the last state of those behind the first n blocks that were read. Returns the number of
 * blocks before it; 0: there is none. */
static int read_state(struct baton_kv_disk *disk, const struct baton_kv_load *load, int n,
                      int64_t used_ns)
{
    int first = load->seq->n_shared;
    while (n && !read_one(disk, &disk->states, load, first + n - 1, load->n_hashes - 1, used_ns))
        n--;
    return n;
}

/* Earlier blocks count as used later, so that a prompt's end is evicted before its start, without
 * which it cannot be found. */
static void run_load(struct baton_kv_disk *disk, struct baton_kv_load *load)
{
    int n_found = count_found(disk, load), first = load->seq->n_shared, n = 0;
    double time_s = time_for(disk, load, n_found), taken_s = 0;
    int64_t begin_ns = baton_now_ns(), used_ns = wall_ns();
    while (n < n_found && taken_s < time_s && !atomic_load(load->canceled) &&
           read_one(disk, &disk->blocks, load, first + n, first + n, used_ns - first - n)) {
        n++;
        taken_s = baton_seconds(baton_now_ns() - begin_ns);
    }
    if (disk->states.file)
        n = read_state(disk, load, n, used_ns);
    taken_s = baton_seconds(baton_now_ns() - begin_ns);
    uint64_t n_bytes = bytes_of(disk, n);
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

static void count_write(struct baton_kv_disk *disk, const struct baton_kv_tier *tier,
                        enum baton_err err, bool evicted, double seconds)
{
    pthread_mutex_lock(&disk->mutex);
    disk->stats.write_s += seconds;
    disk->stats.evictions += evicted;
    disk->stats.dropped += err == BATON_AGAIN;
    if (!err)
        disk->stats.written_bytes += tier->block_bytes;
    pthread_mutex_unlock(&disk->mutex);
}

/* Writes a block or state of a save, or marks it as used if the file has it. False: nothing is
 * written for a while. */
static bool save_one(struct baton_kv_disk *disk, struct baton_kv_tier *tier,
                     const struct save *save, int index, int64_t used_ns)
{
    const struct baton_block_hash *hash = &save->prefix.hashes[index];
    int64_t begin_ns = baton_now_ns();
    bool evicted = false;
    if (baton_kv_tier_touch(tier, hash, used_ns))
        return true;
    if (begin_ns < disk->rest_until_ns)
        return false;
    enum baton_err err = baton_kv_tier_write(tier, hash, &save->seq, index, used_ns, &evicted);
    count_write(disk, tier, err, evicted, baton_seconds(baton_now_ns() - begin_ns));
    if (err && err != BATON_AGAIN) {
        rest(disk, err);
        return false;
    }
    disk->is_resting = false;
    return true;
}

/* Saves the next state that memory still has. */
static bool save_state(struct baton_kv_disk *disk, struct save *save)
{
    while (save->n_states < save->seq.n_blocks) {
        int index = save->n_states++;
        if (baton_seq_find_state(&save->seq, index, &save->prefix.hashes[index]))
            return save_one(disk, &disk->states, save, index, save->used_ns);
    }
    return true;
}

/* Writes one block or state at a time, so that a load waits for one only. */
static void step_save(struct baton_kv_disk *disk, struct save *save)
{
    int n = save->n_done, n_blocks = save->seq.n_blocks;
    bool goes_on = n < n_blocks ? save_one(disk, &disk->blocks, save, n, save->used_ns - n)
                                : save_state(disk, save);
    bool has_states = disk->states.file && save->n_states < n_blocks;
    pthread_mutex_lock(&disk->mutex);
    save->n_done += goes_on && n < n_blocks;
    bool is_over = !goes_on || save->is_given_up || (save->n_done == n_blocks && !has_states);
    if (is_over) {
        disk->stats.dropped += (uint64_t)(n_blocks - save->n_done);
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

static enum baton_err open_files(struct baton_kv_disk *disk,
                                 const struct baton_kv_disk_options *options,
                                 const struct baton_prefix_cache *cache, struct baton_why *why)
{
    enum baton_err err =
        baton_kv_tier_open(options->dir, options->bytes, cache, false, &disk->blocks, why);
    if (!err && baton_kv_has_states(cache->kv))
        err = baton_kv_tier_open(options->dir, options->bytes, cache, true, &disk->states, why);
    if (err)
        return err;
    const struct baton_kv_file *states = disk->states.file;
    baton_log(BATON_LOG_INFO, "kv_disk", BATON_S("dir", options->dir),
              BATON_I("tokens", baton_kv_file_n_slots(disk->blocks.file) * BLOCK),
              BATON_I("block_bytes", disk->blocks.block_bytes),
              BATON_I("states", states ? baton_kv_file_n_slots(states) : 0));
    return BATON_OK;
}

static enum baton_err start(struct baton_kv_disk *disk, struct baton_why *why)
{
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
    enum baton_err err = open_files(disk, options, cache, why);
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
    baton_kv_tier_close(&disk->blocks);
    baton_kv_tier_close(&disk->states);
    pthread_cond_destroy(&disk->changed);
    pthread_mutex_destroy(&disk->mutex);
    free(disk);
}

void baton_kv_disk_load(struct baton_kv_disk *disk, struct baton_kv_load *load)
{
    if (disk->states.file)
        baton_seq_expect_state(load->seq, load->n_hashes - 1);
    pthread_mutex_lock(&disk->mutex);
    load_list_push_back(&disk->loads, load);
    pthread_cond_signal(&disk->changed);
    pthread_mutex_unlock(&disk->mutex);
}

void baton_kv_disk_end_load(struct baton_kv_disk *disk, struct baton_kv_load *load)
{
    int end = load->seq->n_shared + load->n_loaded;
    if (!disk->states.file)
        return;
    baton_seq_place_state(load->seq, load->n_loaded ? end - 1 : -1);
    if (load->n_loaded)
        baton_seq_register_states(load->seq, end - 1, &load->hashes[end - 1], 1);
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
