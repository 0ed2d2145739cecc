#include "gateway/api/page.h"

#include <stdio.h>
#include <string.h>

#include "gateway/api/answer.h"
#include "gateway/http/encode.h"
#include "gateway/web/files.h"

#define PARTS "/web/"

enum { HEADERS_MAX_BYTES = 1024, FILE_MAX_BYTES = 1 << 20 };

/* Scripts may set styles (CSSOM), markup may not. trusted-types forbids innerHTML and similar
 * functions. */
static const char policy[] =
    "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'\r\n"
    "X-Content-Type-Options: nosniff\r\n"
    "Referrer-Policy: no-referrer\r\n"
    "Cache-Control: no-cache\r\n"
    "Vary: Accept-Encoding\r\n";

/* Compressed and plain bytes have one tag, which is weak for the former: they mean the same. */
static void answer(struct gw_exchange *exchange, const struct gw_web_file *file)
{
    char headers[HEADERS_MAX_BYTES];
    struct baton_buf zipped;
    bool same = gw_web_etag_matches(gw_exchange_header(exchange, "if-none-match"), file->etag);
    bool zips = !same && gw_accepts_gzip(gw_exchange_header(exchange, "accept-encoding"));
    baton_buf_init(&zipped, FILE_MAX_BYTES);
    if (zips)
        gw_gzip(file->bytes, file->n, &zipped);
    zips = zips && !baton_buf_err(&zipped);
    (void)snprintf(headers, sizeof headers, "%s%sETag: %s%s\r\n", policy,
                   zips ? "Content-Encoding: gzip\r\n" : "", zips ? "W/" : "", file->etag);
    gw_exchange_respond(exchange, same ? 304 : 200, file->content_type, headers,
                        zips ? zipped.data : (const char *)file->bytes,
                        zips ? zipped.len : file->n);
    baton_buf_fini(&zipped);
}

static const struct gw_web_file *part(const char *path)
{
    size_t n = sizeof PARTS - 1;
    return strncmp(path, PARTS, n) ? NULL : gw_web_find(path + n);
}

bool gw_page_has(const char *path)
{
    return !strcmp(path, "/") || part(path);
}

void gw_page(struct gw_api *api, struct gw_exchange *exchange, const struct baton_json *body)
{
    (void)api;
    (void)body;
    answer(exchange, gw_web_find("index.html"));
}

void gw_page_part(struct gw_api *api, struct gw_exchange *exchange, const struct baton_json *body)
{
    const struct gw_web_file *file = part(gw_exchange_path(exchange));
    (void)api;
    (void)body;
    if (file)
        answer(exchange, file);
    else
        gw_answer_error(exchange, 404, "not_found", "the page has no such part");
}
