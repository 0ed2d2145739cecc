/* POST /v1/files: keeps a file of a form.
 *
 * Ownership: an upload owns its body until libuv's pool has written it.
 * Threading: loop thread; the pool writes.
 * Errors:    400 with the field; 413 beyond the bounds of files; 503 without memory or space.
 */
#ifndef BATON_GATEWAY_API_FILES_UPLOAD_H
#define BATON_GATEWAY_API_FILES_UPLOAD_H

#include "gateway/api/api.h"
#include "gateway/api/files/files.h"

void gw_files_upload(struct gw_api *api, struct gw_exchange *exchange,
                     const struct baton_json *body);

/* Writes an object for the file: FileObject of OpenAI's API. */
void gw_file_put(struct baton_json_out *out, const struct gw_file *file);

/* False: the gateway stores no files, and the exchange was answered. */
bool gw_files_are_on(const struct gw_api *api, struct gw_exchange *exchange);

/* Writes a new file with libuv's pool, and then calls done with it; NULL: it failed, for the
 * reason. The file's owner, names, purpose and times are set; its bounds were checked. text is
 * taken, and the contents are in it. False: nothing was begun, and text is freed. */
struct gw_new_file {
    struct gw_file file;
    char *text;
    const char *contents;
    size_t n;
    void (*done)(void *arg, struct gw_file *file, enum baton_err err);
    void *arg;
};
bool gw_files_write(struct gw_api *api, const struct gw_new_file *made);

#endif
