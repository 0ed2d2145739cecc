/* Sends the contents of a file as a stream, as fast as its client reads, a piece at a time.
 *
 * Ownership: a download owns its source until its end.
 * Threading: loop thread; libuv's pool fills.
 * Errors:    a file that cannot be read to its end cuts the answer off.
 */
#ifndef BATON_GATEWAY_API_FILES_DOWNLOAD_H
#define BATON_GATEWAY_API_FILES_DOWNLOAD_H

#include "gateway/api/api.h"

enum { GW_DOWNLOAD_PIECE_BYTES = 128 << 10 };

struct gw_download_source {
    /* Appends the next piece; nothing: there is no more. On the pool. */
    enum baton_err (*fill)(void *arg, struct baton_buf *piece);
    void (*fini)(void *arg);
    void *arg;
};

/* Takes ownership of the source. */
void gw_download(struct gw_api *api, struct gw_exchange *exchange, const char *content_type,
                 const struct gw_download_source *source);

/* The bytes from `begin` to `end` of an open file, which it closes. arg NULL: no memory. */
struct gw_download_source gw_download_of_file(int fd, uint64_t begin, uint64_t end);

#endif
