#include "gateway/api/files/routes.h"

#include <stdlib.h>
#include <string.h>

#include "gateway/api/answer.h"
#include "gateway/api/files/download.h"
#include "gateway/api/files/upload.h"
#include "gateway/api/listing.h"

enum { ID_AT = 2 /* in /v1/files/{id} */, MAX_LIMIT = 10000 };

/* NULL: the exchange was answered. */
static struct gw_file *find(const struct gw_api *api, struct gw_exchange *exchange)
{
    char id[GW_URL_PART_BYTES];
    struct gw_owner owner = gw_access_owner(api->access, exchange);
    if (!gw_files_are_on(api, exchange))
        return NULL;
    struct gw_file *file = gw_files_find(api->files, &owner, gw_path_segment(exchange, ID_AT, id));
    if (!file)
        gw_answer_error(exchange, 404, "file_not_found",
                        "there is no such file: it was deleted, has expired, or belongs to another "
                        "API key");
    return file;
}

void gw_files_get(struct gw_api *api, struct gw_exchange *exchange, const struct baton_json *none)
{
    struct gw_answer answer;
    const struct gw_file *file = find(api, exchange);
    (void)none;
    if (!file)
        return;
    gw_answer_open(&answer);
    gw_file_put(&answer.out, file);
    gw_answer_close(&answer, exchange, 200);
}

void gw_files_delete(struct gw_api *api, struct gw_exchange *exchange,
                     const struct baton_json *none)
{
    struct gw_answer answer;
    struct gw_file *file = find(api, exchange);
    (void)none;
    if (!file)
        return;
    gw_answer_open(&answer);
    baton_json_put_string(&answer.out, "id", file->id);
    baton_json_put_string(&answer.out, "object", "file");
    baton_json_put_bool(&answer.out, "deleted", true);
    gw_files_remove(api->files, file);
    gw_answer_close(&answer, exchange, 200);
}

void gw_files_content(struct gw_api *api, struct gw_exchange *exchange,
                      const struct baton_json *none)
{
    struct gw_disk_file opened;
    const struct gw_file *file = find(api, exchange);
    (void)none;
    if (!file)
        return;
    if (gw_disk_open_file(&api->files->disk, file->id, false, &opened, NULL)) {
        gw_answer_error(exchange, 503, "overloaded", "the file cannot be read");
        return;
    }
    const struct gw_download_source source =
        gw_download_of_file(opened.fd, opened.begin, opened.end);
    opened.fd = -1; /* the source's now */
    gw_disk_close_file(&opened);
    if (source.arg)
        gw_download(api, exchange, "application/octet-stream", &source);
    else
        gw_answer_error(exchange, 503, "overloaded", "no memory for the answer");
}

/* ---- the list ---- */

static const char *id_of(const void *items, size_t i)
{
    const struct gw_file *const *files = items;
    return files[i]->id;
}

/* The client's files of the purpose, "" for any, in found. Returns their number. */
static size_t select_files(const struct gw_files *files, const struct gw_owner *owner,
                           const char *purpose, const struct gw_file **found)
{
    size_t n = 0;
    for (const struct gw_file *file = gw_file_list_first(&files->list); file;
         file = gw_file_list_next(&files->list, (struct gw_file *)file))
        if (!file->is_hidden && gw_owner_is_same(&file->owner, owner) &&
            (!*purpose || !strcmp(purpose, file->purpose)))
            found[n++] = file;
    return n;
}

static void answer_page(struct gw_exchange *exchange, const struct gw_listing *page)
{
    const struct gw_file *const *files = page->items;
    struct gw_answer answer;
    gw_answer_open(&answer);
    baton_json_put_string(&answer.out, "object", "list");
    baton_json_open(&answer.out, "data", '[');
    for (size_t i = 0; i < page->n_page; i++) {
        baton_json_open(&answer.out, NULL, '{');
        gw_file_put(&answer.out, files[gw_listing_at(page, i)]);
        baton_json_close(&answer.out, '}');
    }
    baton_json_close(&answer.out, ']');
    gw_listing_put_edges(page, &answer.out);
    gw_answer_close(&answer, exchange, 200);
}

void gw_files_list(struct gw_api *api, struct gw_exchange *exchange, const struct baton_json *none)
{
    char purpose[GW_URL_PART_BYTES];
    struct gw_owner owner = gw_access_owner(api->access, exchange);
    (void)none;
    if (!gw_files_are_on(api, exchange))
        return;
    const struct gw_file **found = malloc((api->files->list.n + 1) * sizeof(const void *));
    if (!found) {
        gw_answer_error(exchange, 503, "overloaded", "no memory for the list");
        return;
    }
    struct gw_listing page = {.items = found,
                              .id_of = id_of,
                              .default_limit = MAX_LIMIT,
                              .max_limit = MAX_LIMIT,
                              .after = "after"};
    page.n = select_files(api->files, &owner, gw_query_value(exchange, "purpose", purpose), found);
    if (gw_listing_read(&page, exchange))
        answer_page(exchange, &page);
    free(found);
}
