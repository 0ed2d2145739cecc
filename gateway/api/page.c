#include "gateway/api/page.h"

#include <stdio.h>
#include <string.h>

#include "gateway/api/answer.h"
#include "gateway/web/files.h"

#define PARTS "/web/"

enum { HEADERS_MAX_BYTES = 1024 };

/* Scripts may set styles (CSSOM), markup may not. trusted-types forbids innerHTML and similar
 * functions. */
static const char policy[] =
    "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'\r\n"
    "X-Content-Type-Options: nosniff\r\n"
    "Referrer-Policy: no-referrer\r\n"
    "Cache-Control: no-cache\r\n";

static void answer(struct gw_exchange *exchange, const struct gw_web_file *file)
{
    char headers[HEADERS_MAX_BYTES];
    bool same = gw_web_etag_matches(gw_exchange_header(exchange, "if-none-match"), file->etag);
    (void)snprintf(headers, sizeof headers, "%sETag: %s\r\n", policy, file->etag);
    gw_exchange_respond(exchange, same ? 304 : 200, file->content_type, headers,
                        (const char *)file->bytes, file->n);
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
