#include "engine/checkpoint/digest/model.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/os/file.h"
#include "common/base/os/once_file.h"
#include "engine/checkpoint/digest/file.h"

enum { MAX_MEMORY_BYTES = 1 << 20, SETTLED_S = 2, NAME_DIGITS = 16 };
/* The wait for another process that hashes the same files: this long, and longer by their size. */
enum { WAIT_S = 60, WAIT_BYTES_PER_S = 16 << 20 };
/* Smaller files are hashed too fast for a line in the log. */
enum { TELL_FROM_BYTES = 1 << 30 };

#define MAGIC      "baton weights digest 1\n"
#define DIGEST_KEY "sha256="

/* The identity of the weight files, taken without reading them. */
struct identity {
    struct baton_buf text;
    time_t newest; /* the latest of all their times */
    int64_t n_bytes;
};

static time_t later(time_t a, time_t b)
{
    return a > b ? a : b;
}

static enum baton_err identify_file(void *arg, const char *path, struct baton_why *why)
{
    struct identity *identity = arg;
    const char *slash = strrchr(path, '/');
    struct stat s;
    if (stat(path, &s))
        return baton_fail(why, errno == ENOENT ? BATON_NOT_FOUND : BATON_IO, "%s: %s", path,
                          strerror(errno));
    baton_buf_printf(&identity->text, "%s size=%lld inode=%llu mtime=%lld.%09ld ctime=%lld.%09ld\n",
                     slash ? slash + 1 : path, (long long)s.st_size, (unsigned long long)s.st_ino,
                     (long long)s.st_mtim.tv_sec, s.st_mtim.tv_nsec, (long long)s.st_ctim.tv_sec,
                     s.st_ctim.tv_nsec);
    identity->n_bytes += s.st_size;
    identity->newest = later(identity->newest, later(s.st_mtim.tv_sec, s.st_ctim.tv_sec));
    return BATON_OK;
}

/* Describes the weight files. The caller frees identity, also after an error. */
static enum baton_err identify(const char *model_path, struct identity *identity,
                               struct baton_why *why)
{
    *identity = (struct identity){.newest = 0};
    baton_buf_init(&identity->text, MAX_MEMORY_BYTES);
    baton_buf_puts(&identity->text, MAGIC);
    enum baton_err err =
        baton_model_files_visit(model_path, BATON_PART_WEIGHTS, identify_file, identity, why);
    if (!err && baton_buf_err(&identity->text))
        err = baton_fail(why, baton_buf_err(&identity->text), "%s: too many weight files",
                         model_path);
    return err;
}

/* True when the files are older than a tick of their clock: a second change within one tick would
 * leave the same times. */
static bool is_settled(const struct identity *identity)
{
    return identity->newest < time(NULL) - SETTLED_S;
}

/* True when text is the identity and then a digest, which is copied to hex. */
static bool parse(const struct identity *identity, const struct baton_buf *text,
                  char hex[BATON_SHA256_HEX])
{
    const size_t n_key = sizeof DIGEST_KEY - 1, n_hex = BATON_SHA256_HEX - 1;
    size_t n = identity->text.len;
    if (text->len != n + n_key + n_hex + 1 || memcmp(text->data, identity->text.data, n) != 0 ||
        memcmp(text->data + n, DIGEST_KEY, n_key) != 0 ||
        strspn(text->data + n + n_key, "0123456789abcdef") != n_hex)
        return false;
    memcpy(hex, text->data + n + n_key, n_hex);
    hex[n_hex] = 0;
    return true;
}

static bool recall(const char *path, uid_t owner, const struct identity *identity,
                   char hex[BATON_SHA256_HEX])
{
    struct baton_buf text;
    struct baton_why why = {""};
    baton_buf_init(&text, MAX_MEMORY_BYTES);
    enum baton_err err = baton_file_read_owned(path, owner, &text, &why);
    if (err == BATON_INVALID)
        baton_log(BATON_LOG_WARN, "digest_refused", BATON_S("reason", why.text));
    bool found = !err && parse(identity, &text, hex);
    baton_buf_fini(&text);
    return found;
}

/* The hash of a sequence of files. */
struct hash {
    struct baton_sha256 *sha;
    int64_t n_all, n_done, begin_ns; /* bytes; n_all 0: no progress is logged */
};

static enum baton_err hash_file(void *arg, const char *path, struct baton_why *why)
{
    struct hash *hash = arg;
    struct stat s;
    enum baton_err err = baton_file_digest_add(hash->sha, path, why);
    if (err || hash->n_all < TELL_FROM_BYTES || stat(path, &s))
        return err;
    hash->n_done += s.st_size;
    double n_left = (double)(hash->n_all - hash->n_done);
    baton_log(BATON_LOG_INFO, "weights_digest",
              BATON_I("percent", 100 * hash->n_done / hash->n_all),
              BATON_F("left_s", baton_seconds(baton_now_ns() - hash->begin_ns) * n_left /
                                    (double)hash->n_done));
    return BATON_OK;
}

static enum baton_err hash_files(const char *model_path, enum baton_model_part part, int64_t n_all,
                                 char hex[BATON_SHA256_HEX], struct baton_why *why)
{
    struct hash hash = {.sha = baton_sha256_create(), .n_all = n_all, .begin_ns = baton_now_ns()};
    char made[BATON_SHA256_HEX];
    if (!hash.sha)
        return baton_fail(why, BATON_NO_MEMORY, "%s: out of memory", model_path);
    enum baton_err err = baton_model_files_visit(model_path, part, hash_file, &hash, why);
    baton_sha256_final(hash.sha, made);
    if (!err)
        memcpy(hex, made, sizeof made);
    return err;
}

enum baton_err baton_model_digest(const char *model_path, enum baton_model_part part,
                                  char hex[BATON_SHA256_HEX], struct baton_why *why)
{
    return hash_files(model_path, part, 0, hex, why);
}

/* Remembers the digest only if the files were the same before and after they were hashed. */
static void remember(const char *model_path, struct baton_once_file *file,
                     const struct identity *identity, const char *hex)
{
    struct identity now;
    struct baton_why why;
    bool same = !identify(model_path, &now, NULL) && now.text.len == identity->text.len &&
                !memcmp(now.text.data, identity->text.data, now.text.len);
    if (same)
        baton_buf_printf(&now.text, DIGEST_KEY "%s\n", hex);
    if (!same || baton_buf_err(&now.text) ||
        write(file->fd, now.text.data, now.text.len) != (ssize_t)now.text.len)
        baton_once_file_abort(file);
    else if (baton_once_file_commit(file, &why))
        baton_log(BATON_LOG_WARN, "digest_not_remembered", BATON_S("reason", why.text));
    baton_buf_fini(&now.text);
}

/* Hashes under the lock of the remembered file and remembers; AGAIN when it cannot be written. */
static enum baton_err hash_once(const char *model_path, const char *path, uid_t owner,
                                const struct identity *identity, char hex[BATON_SHA256_HEX],
                                struct baton_why *why)
{
    struct baton_once_file file;
    double wait_s = WAIT_S + (double)identity->n_bytes / WAIT_BYTES_PER_S;
    if (baton_once_file_begin(path, MAGIC, wait_s, &file, NULL))
        return BATON_AGAIN;
    /* Another process may have hashed while this one waited for the lock. */
    if (recall(path, owner, identity, hex)) {
        baton_once_file_abort(&file);
        return BATON_OK;
    }
    enum baton_err err = hash_files(model_path, BATON_PART_WEIGHTS, identity->n_bytes, hex, why);
    if (err)
        baton_once_file_abort(&file);
    else
        remember(model_path, &file, identity, hex);
    return err;
}

/* Writes DIR/<digest of the model's real path>.digest for each of dirs. */
static enum baton_err name_memories(const char *model_path, const struct baton_cache_dirs *dirs,
                                    char paths[BATON_CACHE_MAX_DIRS][PATH_MAX],
                                    struct baton_why *why)
{
    char *real = realpath(model_path, NULL), hex[BATON_SHA256_HEX], name[NAME_DIGITS + 8];
    struct baton_sha256 *sha = baton_sha256_create();
    enum baton_err err = BATON_OK;
    if (!sha) {
        free(real);
        return baton_fail(why, BATON_NO_MEMORY, "%s: out of memory", model_path);
    }
    baton_sha256_update(sha, real ? real : model_path, strlen(real ? real : model_path));
    baton_sha256_final(sha, hex);
    free(real);
    (void)snprintf(name, sizeof name, "%.*s.digest", NAME_DIGITS, hex);
    for (int i = 0; i < dirs->n && !err; i++)
        err = baton_file_path(paths[i], dirs->paths[i], name, why);
    return err;
}

static enum baton_err find(const char *model_path, const struct baton_cache_dirs *dirs,
                           const struct identity *identity, char hex[BATON_SHA256_HEX],
                           struct baton_why *why)
{
    char paths[BATON_CACHE_MAX_DIRS][PATH_MAX];
    enum baton_err err = name_memories(model_path, dirs, paths, why);
    if (err)
        return err;
    for (int i = 0; i < dirs->n; i++)
        if (recall(paths[i], dirs->owners[i], identity, hex))
            return BATON_OK;
    /* The first writable directory keeps the digest; AGAIN means that this one is not writable. */
    for (int i = 0; i < dirs->n && is_settled(identity); i++) {
        err = hash_once(model_path, paths[i], dirs->owners[i], identity, hex, why);
        if (err != BATON_AGAIN)
            return err;
    }
    return hash_files(model_path, BATON_PART_WEIGHTS, identity->n_bytes, hex, why);
}

enum baton_err baton_model_digest_weights(const char *model_path,
                                          const struct baton_cache_dirs *dirs,
                                          char hex[BATON_SHA256_HEX], struct baton_why *why)
{
    struct identity identity;
    if (!dirs || !dirs->n)
        return baton_model_digest(model_path, BATON_PART_WEIGHTS, hex, why);
    enum baton_err err = identify(model_path, &identity, why);
    if (!err)
        err = find(model_path, dirs, &identity, hex, why);
    baton_buf_fini(&identity.text);
    return err;
}
