#include "engine/model/pack.h"

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/os/file.h"
#include "common/base/os/once_file.h"
#include "engine/kernels/pack/encode_panels.h"
#include "engine/model/storage.h"
#include "engine/model/tensors_load.h"

enum { PACK_WAIT_S = 120, PACK_BYTES_PER_S = 4 << 20, LINE_BYTES = 64 };
enum { LOG_SEAL_FROM_BYTES = 1 << 30 };

struct build {
    struct baton_model *model;
    const struct baton_tensor_names *names;
    const struct baton_model_options *options;
    const struct baton_weights *weights;
    struct baton_pool *pool;
};

/* A known row is a whole block, a group and a ragged rest, so that the signature covers padding. */
enum { SIGNED_INPUTS = BATON_BLOCK_MAX_VALUES + BATON_Q8_GROUP + 5 };

/* The values repeat after 101 inputs, a prime, so no two blocks are equal. */
static void write_known_floats(const struct baton_packed *packed)
{
    float rows[BATON_PANEL * SIGNED_INPUTS];
    for (int i = 0; i < BATON_PANEL * packed->n_in; i++)
        rows[i] = (float)(i * 37 % 101 - 50) * 0.019F;
    baton_packed_write(packed, 0, rows);
}

static void write_known_blocks(const struct baton_packed *packed)
{
    uint8_t bytes[BATON_BLOCK_MAX_VALUES * sizeof(float) + BATON_PANEL];
    const uint8_t *rows[BATON_PANEL];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * 37 % 101);
    for (int i = 0; i < BATON_PANEL; i++)
        rows[i] = bytes + i;
    baton_packed_write_blocks(packed, 0, rows);
}

/* Adds a known matrix, as `write` packs it in a dtype, to the CRC. */
static uint32_t sign_panel(enum baton_dtype dtype, enum baton_layout layout, int n_in,
                           void (*write)(const struct baton_packed *packed), uint32_t crc)
{
    /* Zeroed, since padding that a writer leaves alone is part of the CRC. */
    _Alignas(LINE_BYTES) uint8_t panel[BATON_PANEL * SIGNED_INPUTS * 2 * sizeof(float)] = {0};
    const struct baton_packed packed = {
        .dtype = dtype, .layout = layout, .n_out = BATON_PANEL, .n_in = n_in, .data = panel};
    write(&packed);
    return baton_crc32c(crc, panel, baton_packed_read_bytes(&packed));
}

/* A dtype has two ways into its layout: blocks are packed as they are, or encoded from floats. */
static uint32_t sign_dtype(enum baton_dtype dtype, enum baton_layout layout, uint32_t crc)
{
    bool has_blocks = baton_dtype_has_blocks(dtype);
    if (has_blocks)
        crc = sign_panel(dtype, layout, BATON_BLOCK_MAX_VALUES, write_known_blocks, crc);
    if (!has_blocks || baton_packed_encodes(dtype))
        crc = sign_panel(dtype, layout, SIGNED_INPUTS, write_known_floats, crc);
    return crc;
}

/* Changes when the bytes that baton_packed_write writes or the places of tensors change, so that no
 * build ever reads a file that another build packed differently. */
static uint32_t packing_signature(const struct baton_model *model)
{
    uint32_t crc = baton_model_layout_digest(model);
    for (int i = 0; i < BATON_N_DTYPES; i++)
        if (baton_model_has_dtype(model, (enum baton_dtype)i))
            crc = sign_dtype((enum baton_dtype)i, model->kernels->layout, crc);
    return crc;
}

static enum baton_err pack(const struct build *build, struct baton_why *why)
{
    struct baton_packing packing = {0};
    enum baton_err err =
        baton_tensors_load(build->model, build->names, build->weights, &packing, why);
    if (!err) {
        err = baton_packing_run(&packing, build->pool, build->options->show_progress);
        if (err)
            (void)baton_fail(why, err, "packing: out of memory");
    }
    baton_packing_fini(&packing);
    return err;
}

static enum baton_err map(const struct build *build, const char *path, uid_t owner,
                          const struct baton_pack_key *key, struct baton_why *why)
{
    enum baton_err err =
        baton_pack_file_map(path, owner, key, build->pool, &build->model->pack, why);
    if (err)
        return err;
    baton_model_place(build->model, build->model->pack.payload);
    baton_log(BATON_LOG_INFO, "weights_mapped", BATON_S("file", path));
    return BATON_OK;
}

/* Makes the file, whose lock is held; commits or aborts begun in any case. */
static enum baton_err make(const struct build *build, struct baton_once_file *begun,
                           const struct baton_pack_key *key, struct baton_why *why)
{
    struct baton_pack_file *file = &build->model->pack;
    int64_t begin_ns = baton_now_ns();
    enum baton_err err = baton_pack_file_create(begun->fd, key, file, why);
    if (!err) {
        baton_model_place(build->model, file->payload);
        err = pack(build, why);
    }
    if (err) {
        baton_once_file_abort(begun);
        baton_pack_file_unmap(file);
        build->model->slab = NULL;
        return err;
    }
    /* Sealing reads the file once more, for its checksums. */
    if (key->n_bytes >= LOG_SEAL_FROM_BYTES)
        baton_log(BATON_LOG_INFO, "weights_sealing",
                  BATON_F("mib", (double)key->n_bytes / (1 << 20)));
    baton_pack_file_seal(file, key, build->pool);
    /* If it cannot be named, only other processes lack the file: this one has it open. */
    if (baton_once_file_commit(begun, why))
        baton_log(BATON_LOG_WARN, "weights_not_shared", BATON_S("reason", why->text));
    else
        baton_log(BATON_LOG_INFO, "weights_packed", BATON_S("file", begun->path),
                  BATON_F("pack_s", baton_seconds(baton_now_ns() - begin_ns)));
    return BATON_OK;
}

/* Maps once more under the lock: the process that held it before has usually made the file. */
static enum baton_err map_or_make(const struct build *build, const char *path, uid_t owner,
                                  const struct baton_pack_key *key, struct baton_why *why)
{
    struct baton_once_file begun;
    /* Long enough for a process that packs on a slow disk, or encodes q4 on one core: giving up
     * early packs a private copy, and two copies may exceed the memory. */
    double wait_s = PACK_WAIT_S + (double)key->n_bytes / PACK_BYTES_PER_S;
    enum baton_err err = baton_once_file_begin(path, BATON_PACK_MAGIC, wait_s, &begun, why);
    if (err)
        return err;
    err = map(build, path, owner, key, why);
    if (err) {
        err = baton_once_file_may_commit(&begun, why);
        if (!err)
            return make(build, &begun, key, why);
    }
    baton_once_file_abort(&begun);
    return err;
}

/* IO and TIMEOUT mean that no file exists and none can be made; other errors are the weights'.
 * All directories are searched before one gets a new file: the first may have become writable after
 * a file was made in the second. */
static enum baton_err share(const struct build *build, struct baton_why *why)
{
    const struct baton_cache_dirs *dirs = build->options->cache;
    const struct baton_fingerprint *fingerprint = build->options->fingerprint;
    const struct baton_model *model = build->model;
    struct baton_pack_key key = {.weights = fingerprint->weights,
                                 .config = fingerprint->config,
                                 .dtype = model->info.dtype,
                                 .layout = model->kernels->layout,
                                 .signature = packing_signature(model),
                                 .n_bytes = model->n_taken};
    char name[BATON_PACK_NAME_BYTES], paths[BATON_CACHE_MAX_DIRS][PATH_MAX];
    enum baton_err err = baton_fail(why, BATON_IO, "no directory for packed weights");
    baton_pack_file_name(&key, name);
    for (int i = 0; i < dirs->n; i++) {
        if (baton_file_path(paths[i], dirs->paths[i], name, why))
            return BATON_IO;
        err = map(build, paths[i], dirs->owners[i], &key, why);
        if (!err)
            return BATON_OK;
        /* A missing file is the usual case; one that exists and is rejected is not. */
        if (err == BATON_CORRUPT || err == BATON_INVALID)
            baton_log(BATON_LOG_WARN, "weights_unusable", BATON_S("reason", why->text));
    }
    for (int i = 0; i < dirs->n; i++) {
        err = map_or_make(build, paths[i], dirs->owners[i], &key, why);
        if (err != BATON_IO && err != BATON_TIMEOUT)
            return err;
    }
    return err;
}

static enum baton_err fill(const struct build *build, struct baton_why *why)
{
    enum baton_err err = BATON_IO;
    if (build->options->cache && build->options->fingerprint) {
        err = share(build, why);
        if (err == BATON_IO || err == BATON_TIMEOUT)
            baton_log(BATON_LOG_WARN, "weights_not_shared", BATON_S("reason", why->text));
    }
    if (err != BATON_IO && err != BATON_TIMEOUT)
        return err;
    err = baton_model_allocate(build->model, why);
    return err ? err : pack(build, why);
}

enum baton_err baton_model_fill(struct baton_model *model, const struct baton_tensor_names *names,
                                const struct baton_model_options *options,
                                const struct baton_weights *weights, struct baton_why *why)
{
    struct build build = {.model = model, .names = names, .options = options, .weights = weights};
    enum baton_err err =
        baton_pool_create(options->n_threads ? options->n_threads : 1, &build.pool, why);
    if (!err)
        err = fill(&build, why);
    baton_pool_destroy(build.pool);
    model->info.mapped_bytes = model->pack.payload ? model->n_taken : 0;
    return err;
}
