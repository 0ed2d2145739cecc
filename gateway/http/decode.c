#include "gateway/http/decode.h"

#include <isa-l/igzip_lib.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "gateway/http/syntax.h"

/* RFC 8878 section 3.1.1.1.2: decoders support windows of 8 MiB. It bounds a frame's memory. */
enum { PIECE_BYTES = 64 << 10, ZSTD_WINDOW_LOG = 23 };

enum gw_coding gw_coding_of(const char *content_encoding)
{
    static const struct {
        const char *name;
        enum gw_coding coding;
    } names[] = {{"gzip", GW_CODING_GZIP},
                 {"x-gzip", GW_CODING_GZIP},
                 {"deflate", GW_CODING_DEFLATE},
                 {"zstd", GW_CODING_ZSTD}};
    enum gw_coding coding = GW_CODING_NONE;
    struct gw_view list = {content_encoding, strlen(content_encoding)};
    while (list.n) {
        struct gw_view name = gw_view_trim(gw_view_cut(&list, ','));
        enum gw_coding met = GW_N_CODINGS;
        if (!name.n || gw_view_equals_nocase(name, "identity"))
            continue;
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            if (gw_view_equals_nocase(name, names[i].name))
                met = names[i].coding;
        coding = coding == GW_CODING_NONE ? met : GW_N_CODINGS;
    }
    return coding;
}

/* ---- gzip and deflate ---- */

/* Clients send "deflate" with zlib's header, as RFC 9110 says, or without it. */
static bool has_zlib_header(const struct baton_buf *body)
{
    const unsigned char *at = (const unsigned char *)body->data;
    return body->len >= 2 && (at[0] & 0x0f) == 8 && (at[0] << 8 | at[1]) % 31 == 0;
}

static enum baton_err inflate_member(struct inflate_state *state, struct baton_buf *out,
                                     unsigned char piece[PIECE_BYTES])
{
    do {
        state->next_out = piece;
        state->avail_out = PIECE_BYTES;
        if (isal_inflate(state) != ISAL_DECOMP_OK)
            return BATON_INVALID;
        baton_buf_append(out, piece, PIECE_BYTES - state->avail_out);
        if (baton_buf_err(out))
            return baton_buf_err(out);
    } while (!state->avail_out && state->block_state != ISAL_BLOCK_FINISH);
    return state->block_state == ISAL_BLOCK_FINISH ? BATON_OK : BATON_INVALID;
}

/* A gzip file may consist of several members. */
static enum baton_err inflate_all(enum gw_coding coding, const struct baton_buf *body,
                                  struct inflate_state *state, struct baton_buf *out,
                                  unsigned char piece[PIECE_BYTES])
{
    unsigned char *next = (unsigned char *)body->data;
    uint32_t n = (uint32_t)body->len;
    enum baton_err err = BATON_INVALID; /* of an empty body */
    while (n) {
        isal_inflate_init(state);
        state->crc_flag = coding == GW_CODING_GZIP ? ISAL_GZIP
                          : has_zlib_header(body)  ? ISAL_ZLIB
                                                   : ISAL_DEFLATE;
        state->next_in = next;
        state->avail_in = n;
        err = inflate_member(state, out, piece);
        if (err || coding != GW_CODING_GZIP)
            return err;
        next = state->next_in;
        n = state->avail_in;
    }
    return err;
}

static enum baton_err inflate(enum gw_coding coding, const struct baton_buf *body,
                              struct baton_buf *out, unsigned char piece[PIECE_BYTES])
{
    struct inflate_state *state = malloc(sizeof *state);
    if (!state || body->len > UINT32_MAX) {
        free(state);
        return BATON_NO_MEMORY;
    }
    enum baton_err err = inflate_all(coding, body, state, out, piece);
    free(state);
    return err;
}

/* ---- zstd ---- */

static enum baton_err decompress_all(ZSTD_DCtx *context, const struct baton_buf *body,
                                     struct baton_buf *out, unsigned char piece[PIECE_BYTES])
{
    ZSTD_inBuffer in = {.src = body->data, .size = body->len};
    ZSTD_outBuffer produced = {.dst = piece, .size = PIECE_BYTES};
    size_t left = 1; /* 0 at the end of a frame, of which there may be several */
    do {
        produced.pos = 0;
        left = ZSTD_decompressStream(context, &produced, &in);
        if (ZSTD_isError(left))
            return BATON_INVALID;
        baton_buf_append(out, piece, produced.pos);
        if (baton_buf_err(out))
            return baton_buf_err(out);
    } while (in.pos < in.size || (left && produced.pos == produced.size));
    return left ? BATON_INVALID : BATON_OK;
}

static enum baton_err decompress(const struct baton_buf *body, struct baton_buf *out,
                                 unsigned char piece[PIECE_BYTES])
{
    ZSTD_DCtx *context = ZSTD_createDCtx();
    if (!context)
        return BATON_NO_MEMORY;
    (void)ZSTD_DCtx_setParameter(context, ZSTD_d_windowLogMax, ZSTD_WINDOW_LOG);
    enum baton_err err = decompress_all(context, body, out, piece);
    (void)ZSTD_freeDCtx(context);
    return err;
}

enum baton_err gw_decode(enum gw_coding coding, struct baton_buf *body, size_t max_bytes)
{
    struct baton_buf out;
    unsigned char *piece = malloc(PIECE_BYTES);
    enum baton_err err = BATON_NO_MEMORY;
    baton_buf_init(&out, max_bytes);
    if (piece)
        err = coding == GW_CODING_ZSTD ? decompress(body, &out, piece)
                                       : inflate(coding, body, &out, piece);
    free(piece);
    baton_buf_fini(body);
    if (err)
        baton_buf_fini(&out);
    *body = out;
    return err;
}
