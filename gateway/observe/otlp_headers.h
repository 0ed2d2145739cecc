/* The operator's headers for the endpoint of spans. They come from a file, because they are
 * secrets.
 *
 * The format is that of OTEL_EXPORTER_OTLP_HEADERS: NAME=VALUE, separated by commas or line ends,
 * values percent-encoded. A line that begins with # is a comment.
 *
 * Ownership: the lines are the caller's.
 * Threading: pure, except for reading the file.
 * Errors:    INVALID, and baton_file_read's. No message shows a value.
 */
#ifndef BATON_GATEWAY_OBSERVE_OTLP_HEADERS_H
#define BATON_GATEWAY_OBSERVE_OTLP_HEADERS_H

#include "common/base/buf.h"

/* Appends "NAME: VALUE" and CRLF for each header. */
enum baton_err gw_otlp_headers_parse(const char *text, struct baton_buf *lines,
                                     struct baton_why *why) BATON_MUST_CHECK;
enum baton_err gw_otlp_headers_read(const char *path, struct baton_buf *lines,
                                    struct baton_why *why) BATON_MUST_CHECK;

#endif
