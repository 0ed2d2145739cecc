#include "gateway/api/files/files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"

enum { TICK_S = 10, FILE_COST_BYTES = 4096, OWNER_DIGITS = 2 * BATON_SHA256_BYTES };

/* ---- owners ---- */

bool gw_owner_is_same(const struct gw_owner *a, const struct gw_owner *b)
{
    return baton_equal_constant_time(a->digest, b->digest, sizeof a->digest);
}

static bool has_key(const struct gw_owner *owner)
{
    static const struct gw_owner nobody = {{0}};
    return !gw_owner_is_same(owner, &nobody);
}

void gw_owner_put(struct baton_json_out *out, const struct gw_owner *owner)
{
    char digits[OWNER_DIGITS + 1];
    for (size_t i = 0; i < sizeof owner->digest; i++)
        (void)snprintf(digits + 2 * i, 3, "%02x", owner->digest[i]);
    baton_json_put_string(out, "owner", digits);
}

bool gw_owner_read(const struct baton_json *value, struct gw_owner *owner)
{
    size_t n = 0;
    const char *digits = baton_json_string(value, &n);
    if (!digits || n != OWNER_DIGITS || strspn(digits, "0123456789abcdef") != n)
        return false;
    for (size_t i = 0; i < sizeof owner->digest; i++) {
        char pair[3] = {digits[2 * i], digits[2 * i + 1], '\0'};
        owner->digest[i] = (uint8_t)strtoul(pair, NULL, 16);
    }
    return true;
}

/* ---- headers ---- */

void gw_file_name(char id[GW_FILE_ID_BYTES], const char *prefix)
{
    char secret[BATON_SECRET_BYTES];
    baton_random_secret(secret);
    (void)snprintf(id, GW_FILE_ID_BYTES, "%s%s", prefix, secret);
}

void gw_file_put_header(struct baton_buf *header, const struct gw_file *file)
{
    struct baton_json_out out = baton_json_out(header);
    baton_json_open(&out, NULL, '{');
    gw_owner_put(&out, &file->owner);
    baton_json_put_string(&out, "filename", file->filename);
    baton_json_put_string(&out, "purpose", file->purpose);
    baton_json_put_int(&out, "created_at", file->created_s);
    baton_json_put_int(&out, "expires_at", file->expires_s);
    baton_json_close(&out, '}');
}

static void copy_text(char *to, size_t size, const struct baton_json *text)
{
    const char *from = baton_json_string(text, NULL);
    (void)snprintf(to, size, "%s", from ? from : "");
}

static bool read_file(const struct gw_disk_file *opened, const char *name, struct gw_file *file)
{
    const struct baton_json *header = opened->header;
    *file = (struct gw_file){.created_s = baton_json_int(baton_json_get(header, "created_at")),
                             .expires_s = baton_json_int(baton_json_get(header, "expires_at")),
                             .begin = opened->begin,
                             .bytes = opened->end - opened->begin};
    (void)snprintf(file->id, sizeof file->id, "%s", name);
    copy_text(file->filename, sizeof file->filename, baton_json_get(header, "filename"));
    copy_text(file->purpose, sizeof file->purpose, baton_json_get(header, "purpose"));
    return gw_owner_read(baton_json_get(header, "owner"), &file->owner);
}

/* ---- open ---- */

static void load(void *arg, const char *name)
{
    struct gw_files *files = arg;
    struct gw_disk_file opened;
    struct gw_file file;
    struct baton_why why = {""};
    enum baton_err err = gw_disk_open_file(&files->disk, name, false, &opened, &why);
    if (err || !read_file(&opened, name, &file) || !gw_files_add(files, &file))
        baton_log(BATON_LOG_WARN, "file_skipped", BATON_S("reason", why.text));
    gw_disk_close_file(&opened);
}

void gw_files_init(struct gw_files *files)
{
    *files = (struct gw_files){.disk = {.fd = -1}};
    gw_file_list_init(&files->list);
}

enum baton_err gw_files_open(struct gw_files *files, const char *dir, uint64_t max_bytes,
                             struct baton_why *why)
{
    gw_files_init(files);
    files->max_bytes = max_bytes;
    enum baton_err err = gw_disk_open(&files->disk, dir, why);
    if (!err)
        gw_disk_each(&files->disk, "file-", load, files);
    return err;
}

static void forget(struct gw_files *files, struct gw_file *file)
{
    gw_file_list_remove(&files->list, file);
    free(file);
}

void gw_files_close(struct gw_files *files)
{
    for (struct gw_file *file; (file = gw_file_list_first(&files->list));)
        forget(files, file);
    gw_disk_close(&files->disk);
}

/* ---- the index ---- */

struct gw_file *gw_files_add(struct gw_files *files, const struct gw_file *file)
{
    struct gw_file *made = malloc(sizeof *made), *next = gw_file_list_first(&files->list);
    if (!made)
        return NULL;
    *made = *file;
    made->in_files = (struct baton_node){0};
    while (next && next->created_s <= made->created_s)
        next = gw_file_list_next(&files->list, next);
    gw_file_list_insert_before(&files->list, made, next);
    return made;
}

struct gw_file *gw_files_find_any(const struct gw_files *files, const char *id)
{
    struct gw_file *file = gw_file_list_first(&files->list);
    while (file && strcmp(file->id, id) != 0)
        file = gw_file_list_next(&files->list, file);
    return file;
}

struct gw_file *gw_files_find(const struct gw_files *files, const struct gw_owner *owner,
                              const char *id)
{
    struct gw_file *file = gw_files_find_any(files, id);
    return file && !file->is_hidden && gw_owner_is_same(&file->owner, owner) ? file : NULL;
}

void gw_files_remove(struct gw_files *files, struct gw_file *file)
{
    struct baton_why why = {""};
    enum baton_err err = gw_disk_remove(&files->disk, file->id, &why);
    if (err && err != BATON_NOT_FOUND)
        baton_log(BATON_LOG_WARN, "file_not_removed", BATON_S("reason", why.text));
    forget(files, file);
}

bool gw_files_may_grow(const struct gw_files *files, const struct gw_owner *owner, uint64_t n)
{
    uint64_t all = files->pending_bytes, own = all;
    for (const struct gw_file *file = gw_file_list_first(&files->list); file;
         file = gw_file_list_next(&files->list, (struct gw_file *)file)) {
        uint64_t bytes = file->bytes + FILE_COST_BYTES;
        all += bytes;
        own += gw_owner_is_same(&file->owner, owner) ? bytes : 0;
    }
    uint64_t most = has_key(owner) ? files->max_bytes / 2 : files->max_bytes;
    return n <= files->max_bytes && all + n <= files->max_bytes && own + n <= most;
}

void gw_files_tick(struct gw_files *files, int64_t now_s)
{
    struct gw_file *next;
    if (now_s < files->ticked_s + TICK_S)
        return;
    files->ticked_s = now_s;
    for (struct gw_file *file = gw_file_list_first(&files->list); file; file = next) {
        next = gw_file_list_next(&files->list, file);
        if (file->expires_s && file->expires_s <= now_s && !file->is_hidden)
            gw_files_remove(files, file);
    }
}
