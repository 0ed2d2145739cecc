#include "gateway/api/files/upload.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/array.h"
#include "common/base/log.h"
#include "gateway/api/answer.h"
#include "gateway/api/files/form.h"

enum {
    MAX_PARTS = 16,
    MIN_EXPIRY_S = 3600,
    MAX_EXPIRY_S = 30 * 86400,
    PENDING_BYTES = 64 << 20 /* of uploads that wait to be written, but at least one */
};

bool gw_files_are_on(const struct gw_api *api, struct gw_exchange *exchange)
{
    if (!api->files)
        gw_answer_error(exchange, 501, "files_off",
                        "this gateway stores no files: start it with --files-dir DIR");
    return api->files;
}

void gw_file_put(struct baton_json_out *out, const struct gw_file *file)
{
    baton_json_put_string(out, "id", file->id);
    baton_json_put_string(out, "object", "file");
    baton_json_put_uint(out, "bytes", file->bytes);
    baton_json_put_int(out, "created_at", file->created_s);
    if (file->expires_s)
        baton_json_put_int(out, "expires_at", file->expires_s);
    baton_json_put_string(out, "filename", file->filename);
    baton_json_put_string(out, "purpose", file->purpose);
    baton_json_put_string(out, "status", "processed");
}

/* ---- writing ---- */

struct writing {
    uv_work_t work;
    struct gw_api *api;
    struct gw_new_file made;
    struct baton_buf header;
    struct baton_why why;
    enum baton_err err;
};

static void write_on_pool(uv_work_t *work)
{
    struct writing *writing = work->data;
    struct gw_file *file = &writing->made.file;
    writing->err =
        gw_disk_create(&writing->api->files->disk, file->id, &writing->header,
                       writing->made.contents, writing->made.n, &file->begin, &writing->why);
}

static void written(uv_work_t *work, int status)
{
    struct writing *writing = work->data;
    struct gw_files *files = writing->api->files;
    struct gw_file *file = NULL;
    (void)status; /* nothing cancels the work */
    files->pending_bytes -= writing->made.n;
    if (!writing->err)
        file = gw_files_add(files, &writing->made.file);
    if (writing->err)
        baton_log(BATON_LOG_WARN, "file_not_stored", BATON_S("reason", writing->why.text));
    else if (!file)
        (void)!gw_disk_remove(&files->disk, writing->made.file.id, NULL);
    writing->made.done(writing->made.arg, file, writing->err ? writing->err : BATON_NO_MEMORY);
    baton_buf_fini(&writing->header);
    free(writing->made.text);
    free(writing);
}

bool gw_files_write(struct gw_api *api, const struct gw_new_file *made)
{
    struct writing *writing = calloc(1, sizeof *writing);
    if (!writing) {
        free(made->text);
        return false;
    }
    writing->work.data = writing;
    writing->api = api;
    writing->made = *made;
    writing->made.file.bytes = made->n;
    gw_file_name(writing->made.file.id, "file-");
    baton_buf_init(&writing->header, GW_DISK_HEADER_MAX_BYTES);
    gw_file_put_header(&writing->header, &writing->made.file);
    if (uv_queue_work(api->loop, &writing->work, write_on_pool, written)) {
        baton_buf_fini(&writing->header);
        free(writing->made.text);
        free(writing);
        return false;
    }
    api->files->pending_bytes += made->n;
    return true;
}

/* ---- the form ---- */

/* The form's texts as an object, and its file; contents.p NULL: it has none. */
static struct baton_json *read_form(struct gw_exchange *exchange, struct gw_form_part *file,
                                    bool *is_whole)
{
    struct gw_form form;
    struct gw_form_part part;
    struct gw_view body;
    struct baton_json *texts = baton_json_new_object();
    char name[GW_FIELD_NAME_BYTES];
    body.p = gw_exchange_body(exchange, &body.n);
    *file = (struct gw_form_part){0};
    *is_whole = gw_form_begin(&form, gw_exchange_header(exchange, "content-type"), body);
    for (int i = 0; *is_whole && i <= MAX_PARTS && gw_form_next(&form, &part); i++) {
        (void)snprintf(name, sizeof name, "%.*s", (int)part.name.n, part.name.p ? part.name.p : "");
        if (!strcmp(name, "file"))
            *file = part;
        else if (part.is_file ||
                 !baton_json_set(texts, name,
                                 baton_json_new_text(part.contents.p, part.contents.n)))
            *is_whole = false;
    }
    *is_whole = *is_whole && form.has_ended && texts;
    return texts;
}

static void read_expiry(struct gw_fields *fields, struct gw_file *file)
{
    static const char *const anchors[] = {"created_at"};
    static const char wanted[] = "a number of seconds from 3600 to 2592000";
    (void)gw_field_word(fields, "expires_after[anchor]", anchors, BATON_N_OF(anchors));
    const char *text = baton_json_string(
        gw_field_of(fields, "expires_after[seconds]", GW_IS_STRING, wanted), NULL);
    char *end = NULL;
    long seconds = text ? strtol(text, &end, 10) : 0;
    if (text && (*end || seconds < MIN_EXPIRY_S || seconds > MAX_EXPIRY_S))
        gw_fields_fail(fields, "expires_after[seconds]", "out_of_range",
                       "expires_after[seconds]: must be %s", wanted);
    else if (text)
        file->expires_s = file->created_s + seconds;
}

/* Reads all fields but the file. */
static void read_fields(struct gw_fields *fields, struct gw_file *file)
{
    static const char *const purposes[] = {"batch",  "assistants", "fine-tune",
                                           "vision", "user_data",  "evals"};
    int purpose = gw_field_word(fields, "purpose", purposes, BATON_N_OF(purposes));
    file->created_s = (int64_t)time(NULL);
    read_expiry(fields, file);
    if (purpose < 0)
        gw_fields_fail(fields, "purpose", "missing_field", "purpose: must be given");
    else
        (void)snprintf(file->purpose, sizeof file->purpose, "%s", purposes[purpose]);
}

/* ---- the endpoint ---- */

struct upload {
    struct gw_other_user user; /* first: its exchange's data is this */
    struct gw_exchange *exchange;
};

static void gone(struct gw_other_user *self)
{
    ((struct upload *)self)->exchange = NULL;
}

static void refuse_disk(struct gw_exchange *exchange, enum baton_err err)
{
    gw_answer_error(exchange, 503, "overloaded",
                    err == BATON_LIMIT ? "the disk of --files-dir is full"
                                       : "the file could not be written");
}

static void done(void *arg, struct gw_file *file, enum baton_err err)
{
    struct upload *upload = arg;
    struct gw_answer answer;
    if (upload->exchange) {
        gw_exchange_set_data(upload->exchange, NULL);
        if (!file) {
            refuse_disk(upload->exchange, err);
        } else {
            gw_answer_open(&answer);
            gw_file_put(&answer.out, file);
            gw_answer_close(&answer, upload->exchange, 200);
        }
    }
    free(upload);
}

static void begin(struct gw_api *api, struct gw_exchange *exchange, const struct gw_file *file,
                  struct gw_view contents)
{
    struct upload *upload = calloc(1, sizeof *upload);
    struct gw_new_file made = {
        .file = *file, .contents = contents.p, .n = contents.n, .done = done, .arg = upload};
    if (upload) {
        *upload =
            (struct upload){.user = {.user = GW_USER_OTHER, .gone = gone}, .exchange = exchange};
        made.text = gw_exchange_take_body(exchange);
    }
    if (upload && gw_files_write(api, &made)) {
        gw_exchange_set_data(exchange, upload);
        return;
    }
    free(upload);
    gw_answer_error(exchange, 503, "overloaded", "no memory for the file");
}

static void keep(struct gw_api *api, struct gw_exchange *exchange, struct gw_file *file,
                 const struct gw_form_part *part)
{
    size_t n = part->contents.n;
    file->owner = gw_access_owner(api->access, exchange);
    (void)snprintf(file->filename, sizeof file->filename, "%.*s", (int)part->filename.n,
                   part->filename.p ? part->filename.p : "");
    if (!gw_files_may_grow(api->files, &file->owner, n))
        gw_answer_error(exchange, 413, "files_full",
                        "there is no room for the file: delete others, or raise --files-bytes, "
                        "half of which one API key may use");
    else if (api->files->pending_bytes && api->files->pending_bytes + n > PENDING_BYTES)
        gw_answer_error(exchange, 503, "overloaded", "too many files are being written");
    else
        begin(api, exchange, file, part->contents);
}

void gw_files_upload(struct gw_api *api, struct gw_exchange *exchange,
                     const struct baton_json *body)
{
    struct gw_form_part part = {0};
    struct gw_file file = {0};
    bool is_whole = true;
    struct baton_json *texts = NULL;
    if (!api->schema) {
        if (!gw_files_are_on(api, exchange))
            return;
        body = texts = read_form(exchange, &part, &is_whole);
    }
    if (!is_whole) {
        baton_json_free(texts);
        gw_answer_error(exchange, 400, "invalid_value",
                        "the body must be a form of multipart/form-data with purpose and file");
        return;
    }
    struct gw_fields fields = gw_fields(body);
    fields.schema = api->schema;
    read_fields(&fields, &file);
    (void)gw_field_of(&fields, "file", GW_IS_STRING, "a file");
    if (!part.contents.p)
        gw_fields_fail(&fields, "file", "missing_field", "file: must be given");
    gw_answer_end_fields(&fields, exchange, api->refuses_unknown);
    if (fields.failed)
        gw_answer_problem(exchange, &fields.problem);
    else
        keep(api, exchange, &file, &part);
    baton_json_free(texts);
}
