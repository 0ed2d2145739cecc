#include "engine/checkpoint/tokenizer_cache.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/base/os/file.h"
#include "common/base/os/once_file.h"

enum { VERSION = 1, DIGEST_CHARS = BATON_SHA256_HEX - 1, MAX_BYTES = 512 << 20, WAIT_S = 60 };

#define MAGIC "BATONTOK"

enum {
    FUSE_UNK = 1,
    BYTE_FALLBACK = 2,
    IGNORE_MERGES = 4, /* of the header */
    SPECIAL = 1,
    NORMALIZED = 2,
    LSTRIP = 4,
    RSTRIP = 8,
    SINGLE_WORD = 16 /* of an added token */
};

/* Numbers have the host's byte order: the file never leaves it. Sections follow in the order of the
 * counts, scores first. */
struct header {
    char magic[8];
    uint32_t version;
    uint32_t crc; /* CRC-32C of everything after this field */
    char digest[DIGEST_CHARS];
    uint32_t model, unk_id, flags, reserved;
    uint64_t n_scores, n_tokens, n_merges, n_added, n_texts, n_json;
};

struct cached_text {
    uint32_t offset; /* into the texts; BATON_NO_TOKEN: no token has this id */
    uint32_t n_bytes;
};

struct cached_added {
    struct cached_text text;
    uint32_t id, flags;
};

/* ---- writing ---- */

/* Writes a text's place. Each text is followed by a zero. */
static void put_place(struct baton_buf *out, size_t *offset, const char *text, size_t n)
{
    struct cached_text place = {.offset = BATON_NO_TOKEN};
    if (text) {
        place = (struct cached_text){.offset = (uint32_t)*offset, .n_bytes = (uint32_t)n};
        *offset += n + 1;
    }
    baton_buf_append(out, &place, sizeof place);
}

static void put_added(struct baton_buf *out, size_t *offset, const struct baton_added_row *row)
{
    uint32_t ends[2] = {row->id, (row->special ? SPECIAL : 0u) |
                                     (row->normalized ? NORMALIZED : 0u) |
                                     (row->lstrip ? LSTRIP : 0u) | (row->rstrip ? RSTRIP : 0u) |
                                     (row->single_word ? SINGLE_WORD : 0u)};
    put_place(out, offset, row->text, row->n_bytes);
    baton_buf_append(out, ends, sizeof ends);
}

static void put_text(struct baton_buf *out, const char *text, size_t n)
{
    if (!text)
        return;
    baton_buf_append(out, text, n);
    baton_buf_putc(out, 0);
}

static size_t count_text_bytes(const struct baton_tokenizer_tables *tables)
{
    size_t n = 0;
    for (size_t id = 0; id < tables->n_tokens; id++)
        n += tables->tokens[id].text ? tables->tokens[id].n_bytes + 1 : 0;
    for (size_t i = 0; i < tables->n_added; i++)
        n += tables->added[i].n_bytes + 1;
    return n;
}

static struct header header_of(const struct baton_tokenizer_tables *tables,
                               const char digest[BATON_SHA256_HEX])
{
    struct header header = {.version = VERSION,
                            .model = tables->model,
                            .unk_id = tables->unk_id,
                            .flags = (tables->fuse_unk ? FUSE_UNK : 0u) |
                                     (tables->byte_fallback ? BYTE_FALLBACK : 0u) |
                                     (tables->ignore_merges ? IGNORE_MERGES : 0u),
                            .n_scores = tables->scores ? tables->n_tokens : 0,
                            .n_tokens = tables->n_tokens,
                            .n_merges = tables->n_merges,
                            .n_added = tables->n_added,
                            .n_texts = count_text_bytes(tables),
                            .n_json = tables->n_steps_json};
    memcpy(header.magic, MAGIC, sizeof header.magic);
    memcpy(header.digest, digest, sizeof header.digest);
    return header;
}

static void put_sections(const struct baton_tokenizer_tables *tables, struct baton_buf *out)
{
    size_t offset = 0;
    if (tables->scores)
        baton_buf_append(out, tables->scores, tables->n_tokens * sizeof *tables->scores);
    for (size_t id = 0; id < tables->n_tokens; id++)
        put_place(out, &offset, tables->tokens[id].text, tables->tokens[id].n_bytes);
    baton_buf_append(out, tables->merges, tables->n_merges * sizeof *tables->merges);
    for (size_t i = 0; i < tables->n_added; i++)
        put_added(out, &offset, &tables->added[i]);
    for (size_t id = 0; id < tables->n_tokens; id++)
        put_text(out, tables->tokens[id].text, tables->tokens[id].n_bytes);
    for (size_t i = 0; i < tables->n_added; i++)
        put_text(out, tables->added[i].text, tables->added[i].n_bytes);
    baton_buf_append(out, tables->steps_json, tables->n_steps_json);
}

static const size_t checked_from = offsetof(struct header, digest);

void baton_tokenizer_cache_write(const struct baton_tokenizer_tables *tables,
                                 const char digest[BATON_SHA256_HEX], struct baton_buf *out)
{
    struct header header = header_of(tables, digest);
    baton_buf_reset(out);
    baton_buf_append(out, &header, sizeof header);
    put_sections(tables, out);
    if (baton_buf_err(out))
        return;
    header.crc = baton_crc32c(0, out->data + checked_from, out->len - checked_from);
    memcpy(out->data, &header, sizeof header);
}

/* ---- reading ---- */

struct reading {
    struct header header;
    const char *at, *end; /* the sections not yet taken */
    const char *texts;
    struct baton_tokenizer_tables *tables;
    struct baton_why *why;
};

static enum baton_err corrupt(const struct reading *reading, const char *what)
{
    return baton_fail(reading->why, BATON_CORRUPT, "the kept tokenizer %s", what);
}

/* Returns the next section of n items; NULL when it does not fit in the file. */
static const char *take(struct reading *reading, uint64_t n, size_t item_bytes)
{
    const char *section = reading->at;
    if (n > (size_t)(reading->end - reading->at) / item_bytes)
        return NULL;
    reading->at += n * item_bytes;
    return section;
}

/* Copies the next section into an array; NULL when it does not fit in the file or without
 * memory. */
static void *take_copy(struct reading *reading, uint64_t n, size_t item_bytes)
{
    const char *section = take(reading, n, item_bytes);
    void *copy = section ? malloc(n * item_bytes + 1) : NULL;
    if (copy)
        memcpy(copy, section, n * item_bytes);
    return copy;
}

/* The zero after a text is checked too, because the file may be damaged and texts are used as C
 * strings. */
static bool has_place(const struct reading *reading, struct cached_text place)
{
    return place.n_bytes < reading->header.n_texts &&
           place.offset < reading->header.n_texts - place.n_bytes &&
           !reading->texts[place.offset + place.n_bytes];
}

static enum baton_err set_tokens(const struct reading *reading, const char *section)
{
    struct baton_tokenizer_tables *tables = reading->tables;
    tables->tokens = calloc(reading->header.n_tokens + 1, sizeof *tables->tokens);
    if (!tables->tokens)
        return baton_fail(reading->why, BATON_NO_MEMORY, "out of memory");
    tables->n_tokens = reading->header.n_tokens;
    for (size_t id = 0; id < tables->n_tokens; id++) {
        struct cached_text place;
        memcpy(&place, section + id * sizeof place, sizeof place);
        if (place.offset == BATON_NO_TOKEN)
            continue;
        if (!has_place(reading, place) || (reading->header.model == BATON_TOKENIZER_UNIGRAM &&
                                           place.n_bytes > BATON_UNIGRAM_PIECE_MAX_BYTES))
            return corrupt(reading, "has a token outside its texts");
        tables->tokens[id] = (struct baton_token_row){.text = reading->texts + place.offset,
                                                      .n_bytes = place.n_bytes};
    }
    return BATON_OK;
}

static enum baton_err set_added(const struct reading *reading, const char *section)
{
    struct baton_tokenizer_tables *tables = reading->tables;
    tables->added = calloc(reading->header.n_added + 1, sizeof *tables->added);
    if (!tables->added)
        return baton_fail(reading->why, BATON_NO_MEMORY, "out of memory");
    for (size_t i = 0; i < reading->header.n_added; i++) {
        struct cached_added added;
        memcpy(&added, section + i * sizeof added, sizeof added);
        if (!added.text.n_bytes || added.text.n_bytes > BATON_ADDED_TOKEN_MAX_BYTES ||
            !has_place(reading, added.text) || added.id >= BATON_MAX_TOKEN_IDS)
            return corrupt(reading, "has an added token outside its texts");
        tables->added[tables->n_added++] =
            (struct baton_added_row){.text = reading->texts + added.text.offset,
                                     .n_bytes = added.text.n_bytes,
                                     .id = added.id,
                                     .special = added.flags & SPECIAL,
                                     .normalized = added.flags & NORMALIZED,
                                     .lstrip = added.flags & LSTRIP,
                                     .rstrip = added.flags & RSTRIP,
                                     .single_word = added.flags & SINGLE_WORD};
    }
    return BATON_OK;
}

static bool is_token(const struct baton_tokenizer_tables *tables, uint32_t id)
{
    return id < tables->n_tokens && tables->tokens[id].text;
}

static enum baton_err check_merges(const struct reading *reading)
{
    const struct baton_tokenizer_tables *tables = reading->tables;
    for (size_t i = 0; i < tables->n_merges; i++) {
        const struct baton_merge_row *row = &tables->merges[i];
        if (!is_token(tables, row->left) || !is_token(tables, row->right) ||
            !is_token(tables, row->merged))
            return corrupt(reading, "has a merge without a token");
    }
    return BATON_OK;
}

static enum baton_err set_flags(const struct reading *reading)
{
    struct baton_tokenizer_tables *tables = reading->tables;
    const struct header *header = &reading->header;
    if (header->model > BATON_TOKENIZER_WORDPIECE ||
        (header->model == BATON_TOKENIZER_UNIGRAM) != (header->n_scores > 0) ||
        (header->unk_id != BATON_NO_TOKEN && !is_token(tables, header->unk_id)))
        return corrupt(reading, "has an unknown model");
    tables->model = (enum baton_tokenizer_model)header->model;
    tables->unk_id = header->unk_id;
    tables->fuse_unk = header->flags & FUSE_UNK;
    tables->byte_fallback = header->flags & BYTE_FALLBACK;
    tables->ignore_merges = header->flags & IGNORE_MERGES;
    return BATON_OK;
}

/* Copies the sections that must be aligned and borrows the texts. */
static enum baton_err read_sections(struct reading *reading)
{
    const struct header *header = &reading->header;
    struct baton_tokenizer_tables *tables = reading->tables;
    if (header->n_tokens > BATON_MAX_TOKEN_IDS ||
        (header->n_scores && header->n_scores != header->n_tokens))
        return corrupt(reading, "has wrong sizes");
    tables->scores =
        header->n_scores ? take_copy(reading, header->n_scores, sizeof *tables->scores) : NULL;
    const char *tokens = take(reading, header->n_tokens, sizeof(struct cached_text));
    tables->merges = tokens ? take_copy(reading, header->n_merges, sizeof *tables->merges) : NULL;
    const char *added =
        tables->merges ? take(reading, header->n_added, sizeof(struct cached_added)) : NULL;
    reading->texts = added ? take(reading, header->n_texts, 1) : NULL;
    tables->steps_json = reading->texts ? take_copy(reading, header->n_json, 1) : NULL;
    if (!tables->steps_json || (header->n_scores && !tables->scores) || reading->at != reading->end)
        return corrupt(reading, "has wrong sizes");
    tables->n_steps_json = header->n_json;
    tables->n_merges = header->n_merges;
    enum baton_err err = set_tokens(reading, tokens);
    if (!err)
        err = set_added(reading, added);
    if (!err)
        err = check_merges(reading);
    return err ? err : set_flags(reading);
}

enum baton_err baton_tokenizer_cache_parse(const void *bytes, size_t n,
                                           const char digest[BATON_SHA256_HEX],
                                           struct baton_tokenizer_tables *tables,
                                           struct baton_why *why)
{
    struct reading reading = {.tables = tables, .why = why};
    const char *start = bytes;
    if (n < sizeof reading.header)
        return corrupt(&reading, "is too short");
    memcpy(&reading.header, start, sizeof reading.header);
    if (memcmp(reading.header.magic, MAGIC, sizeof reading.header.magic) != 0 ||
        reading.header.version != VERSION ||
        memcmp(reading.header.digest, digest, sizeof reading.header.digest) != 0)
        return corrupt(&reading, "is of another version or model");
    if (baton_crc32c(0, start + checked_from, n - checked_from) != reading.header.crc)
        return corrupt(&reading, "has a wrong checksum");
    reading.at = start + sizeof reading.header;
    reading.end = start + n;
    return read_sections(&reading);
}

/* ---- files ---- */

static enum baton_err name_file(char path[PATH_MAX], const char *dir,
                                const char digest[BATON_SHA256_HEX])
{
    char name[64];
    (void)snprintf(name, sizeof name, "%.16s.tokenizer", digest);
    return baton_file_path(path, dir, name, NULL);
}

static struct baton_tokenizer_tables *open_file(const char *path, uid_t owner,
                                                const char digest[BATON_SHA256_HEX])
{
    struct baton_why why = {""};
    struct baton_tokenizer_tables *tables = calloc(1, sizeof *tables);
    if (!tables)
        return NULL;
    if (!baton_file_map_owned(path, owner, &tables->kept, &why) &&
        !baton_tokenizer_cache_parse(tables->kept.data, tables->kept.n_bytes, digest, tables, &why))
        return tables;
    baton_log(BATON_LOG_WARN, "tokenizer_cache_refused", BATON_S("path", path),
              BATON_S("reason", why.text));
    baton_tokenizer_tables_free(tables);
    return NULL;
}

struct baton_tokenizer_tables *baton_tokenizer_cache_find(const struct baton_cache_dirs *dirs,
                                                          const char digest[BATON_SHA256_HEX])
{
    char path[PATH_MAX];
    struct baton_tokenizer_tables *tables = NULL;
    for (int i = 0; i < dirs->n && !tables; i++)
        if (!name_file(path, dirs->paths[i], digest) && !access(path, R_OK))
            tables = open_file(path, dirs->owners[i], digest);
    return tables;
}

static bool write_all(int fd, const char *bytes, size_t n)
{
    while (n) {
        ssize_t written = write(fd, bytes, n);
        if (written <= 0)
            return false;
        bytes += written;
        n -= (size_t)written;
    }
    return true;
}

static bool keep_in(const char *path, const struct baton_buf *form)
{
    struct baton_once_file file;
    if (baton_once_file_begin(path, MAGIC, WAIT_S, &file, NULL))
        return false;
    if (write_all(file.fd, form->data, form->len))
        return !baton_once_file_commit(&file, NULL);
    baton_once_file_abort(&file);
    return false;
}

void baton_tokenizer_cache_keep(const struct baton_cache_dirs *dirs,
                                const char digest[BATON_SHA256_HEX],
                                const struct baton_tokenizer_tables *tables)
{
    char path[PATH_MAX];
    struct baton_buf form;
    baton_buf_init(&form, MAX_BYTES);
    baton_tokenizer_cache_write(tables, digest, &form);
    for (int i = 0; i < dirs->n && !baton_buf_err(&form); i++)
        if (!name_file(path, dirs->paths[i], digest) && keep_in(path, &form))
            break;
    baton_buf_fini(&form);
}
