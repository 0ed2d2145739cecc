#include "gateway/api/files/download.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gateway/api/answer.h"

enum { PIECE_MAX_BYTES = 64 << 20 };

struct download {
    struct gw_other_user user; /* first: its exchange's data is this */
    uv_work_t work;
    struct gw_api *api;
    struct gw_exchange *exchange; /* NULL: its client left */
    struct gw_download_source source;
    struct baton_buf piece;
    enum baton_err err;
    bool is_running, is_full;
};

static void finish(struct download *download)
{
    download->source.fini(download->source.arg);
    baton_buf_fini(&download->piece);
    free(download);
}

static void fill_on_pool(uv_work_t *work)
{
    struct download *download = work->data;
    baton_buf_reset(&download->piece);
    download->err = download->source.fill(download->source.arg, &download->piece);
    if (!download->err)
        download->err = baton_buf_err(&download->piece);
}

static void next(struct download *download);

static void filled(uv_work_t *work, int status)
{
    struct download *download = work->data;
    struct gw_exchange *exchange = download->exchange;
    (void)status; /* nothing cancels the work */
    download->is_running = false;
    if (!exchange) {
        finish(download);
    } else if (download->err || !download->piece.len) {
        gw_exchange_set_data(exchange, NULL);
        if (download->err)
            gw_exchange_cut(exchange, "the file cannot be read");
        else
            gw_exchange_stream_end(exchange);
        finish(download);
    } else {
        gw_exchange_stream_write(exchange, download->piece.data, download->piece.len);
        next(download);
    }
}

static void next(struct download *download)
{
    if (download->is_full || download->is_running)
        return;
    download->is_running = true;
    if (!uv_queue_work(download->api->loop, &download->work, fill_on_pool, filled))
        return;
    gw_exchange_set_data(download->exchange, NULL);
    gw_exchange_cut(download->exchange, "the pool takes no work");
    finish(download);
}

static void gone(struct gw_other_user *self)
{
    struct download *download = (struct download *)self;
    download->exchange = NULL;
    if (!download->is_running)
        finish(download);
}

static void full(struct gw_other_user *self, bool is_full)
{
    struct download *download = (struct download *)self;
    download->is_full = is_full;
    if (!is_full)
        next(download);
}

void gw_download(struct gw_api *api, struct gw_exchange *exchange, const char *content_type,
                 const struct gw_download_source *source)
{
    struct download *download = calloc(1, sizeof *download);
    if (!download) {
        source->fini(source->arg);
        gw_answer_error(exchange, 503, "overloaded", "no memory for the answer");
        return;
    }
    *download = (struct download){
        .user = {.user = GW_USER_OTHER, .gone = gone, .full = full},
        .api = api,
        .exchange = exchange,
        .source = *source,
    };
    download->work.data = download;
    baton_buf_init(&download->piece, PIECE_MAX_BYTES);
    gw_exchange_set_data(exchange, download);
    gw_exchange_stream_begin(exchange, 200, content_type, GW_STREAM_HEADERS);
    next(download);
}

/* ---- a file ---- */

struct range {
    int fd;
    uint64_t at, end;
};

static enum baton_err fill_range(void *arg, struct baton_buf *piece)
{
    struct range *range = arg;
    char bytes[16 << 10];
    while (range->at < range->end && piece->len < GW_DOWNLOAD_PIECE_BYTES) {
        uint64_t left = range->end - range->at;
        ssize_t n =
            pread(range->fd, bytes, left < sizeof bytes ? left : sizeof bytes, (off_t)range->at);
        if (n <= 0 && errno != EINTR)
            return BATON_IO;
        baton_buf_append(piece, bytes, n > 0 ? (size_t)n : 0);
        range->at += n > 0 ? (uint64_t)n : 0;
    }
    return BATON_OK;
}

static void end_range(void *arg)
{
    struct range *range = arg;
    if (range)
        (void)close(range->fd);
    free(range);
}

struct gw_download_source gw_download_of_file(int fd, uint64_t begin, uint64_t end)
{
    struct range *range = malloc(sizeof *range);
    if (range)
        *range = (struct range){.fd = fd, .at = begin, .end = end};
    else
        (void)close(fd);
    return (struct gw_download_source){.fill = fill_range, .fini = end_range, .arg = range};
}
