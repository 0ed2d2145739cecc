/* The playground's files, embedded at build time (embed.cmake).
 *
 * Pure: everything is static and immutable. An unknown file is NULL.
 */
#ifndef BATON_GATEWAY_WEB_FILES_H
#define BATON_GATEWAY_WEB_FILES_H

#include <stdbool.h>
#include <stddef.h>

struct gw_web_file {
    const char *name; /* "app.js" */
    const char *content_type;
    const char *etag; /* a strong validator with its quotes: the head of the bytes' SHA-256 */
    const unsigned char *bytes;
    size_t n;
};

extern const struct gw_web_file gw_web_files[];
extern const size_t gw_web_n_files;

const struct gw_web_file *gw_web_find(const char *name);

/* Whether an If-None-Match header ("" if absent) names this tag: "*", or a list of tags, which are
 * compared weakly, so W/ is ignored (RFC 9110, section 13.1.2). Parsing stops at a syntax error. */
bool gw_web_etag_matches(const char *if_none_match, const char *etag);

#endif
