#include "gateway/http/encode.h"

#include <isa-l/igzip_lib.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "gateway/http/syntax.h"

/* "q=0", "q=0.", "q=0.000" */
static bool is_refused(struct gw_view weight)
{
    if (weight.n < 3 || !gw_view_equals_nocase((struct gw_view){weight.p, 2}, "q="))
        return false;
    for (size_t i = 2; i < weight.n; i++)
        if (weight.p[i] != '0' && weight.p[i] != '.')
            return false;
    return true;
}

bool gw_accepts_gzip(const char *accept_encoding)
{
    struct gw_view list = {accept_encoding, strlen(accept_encoding)};
    while (list.n) {
        struct gw_view weight = gw_view_trim(gw_view_cut(&list, ','));
        struct gw_view name = gw_view_trim(gw_view_cut(&weight, ';'));
        if (gw_view_equals_nocase(name, "gzip"))
            return !is_refused(gw_view_trim(weight));
    }
    return false;
}

void gw_gzip(const void *bytes, size_t n, struct baton_buf *out)
{
    /* What does not shrink is stored, with a few bytes for each block and for the member. */
    size_t room = n + n / 8 + 1024;
    struct isal_zstream stream;
    uint8_t *level = malloc(ISAL_DEF_LVL3_DEFAULT), *member = malloc(room);
    isal_deflate_stateless_init(&stream);
    stream.level = 3;
    stream.level_buf = level;
    stream.level_buf_size = ISAL_DEF_LVL3_DEFAULT;
    stream.gzip_flag = IGZIP_GZIP;
    stream.end_of_stream = 1;
    stream.next_in = (uint8_t *)(uintptr_t)bytes; /* only read */
    stream.avail_in = (uint32_t)n;
    stream.next_out = member;
    stream.avail_out = (uint32_t)room;
    if (!level || !member || isal_deflate_stateless(&stream) != COMP_OK)
        out->err = BATON_NO_MEMORY;
    else
        baton_buf_append(out, member, room - stream.avail_out);
    free(level);
    free(member);
}
