#include "common/wire/frame.h"

#include <stdbool.h>
#include <string.h>

#include "common/base/digest.h"

enum {
    AT_MAGIC = 0,
    AT_VERSION = 4,
    AT_FLAGS = 6,
    AT_HEADER_BYTES = 8,
    AT_PAYLOAD_BYTES = 12,
    AT_PAYLOAD_CRC = 16,
    AT_HEADER_CRC = 20,
    AT_ZERO = 24
};

static const uint8_t magic[4] = {'B', 'A', 'T', 'N'};

static void put_u16(uint8_t *p, uint16_t v)
{
    p[0] = (uint8_t)v;
    p[1] = (uint8_t)(v >> 8);
}

static void put_u32(uint8_t *p, uint32_t v)
{
    put_u16(p, (uint16_t)v);
    put_u16(p + 2, (uint16_t)(v >> 16));
}

static uint16_t get_u16(const uint8_t *p)
{
    return (uint16_t)(p[0] | p[1] << 8);
}

static uint32_t get_u32(const uint8_t *p)
{
    return get_u16(p) | (uint32_t)get_u16(p + 2) << 16;
}

static bool all_zero(const uint8_t *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (p[i])
            return false;
    return true;
}

size_t baton_frame_payload_offset(size_t header_bytes, size_t payload_bytes)
{
    size_t end = BATON_FRAME_HEAD_BYTES + header_bytes;
    if (!payload_bytes)
        return end;
    return (end + BATON_FRAME_ALIGN - 1) & ~(size_t)(BATON_FRAME_ALIGN - 1);
}

size_t baton_frame_size(size_t header_bytes, size_t payload_bytes)
{
    if (!header_bytes || header_bytes > BATON_FRAME_MAX_HEADER ||
        payload_bytes > BATON_FRAME_MAX_PAYLOAD)
        return 0;
    return baton_frame_payload_offset(header_bytes, payload_bytes) + payload_bytes;
}

/* The head up to its own CRC, and the Envelope: everything that steers the receiver. */
static uint32_t header_crc(const uint8_t *bytes, size_t header_bytes)
{
    uint32_t crc = baton_crc32c(0, bytes, AT_HEADER_CRC);
    return baton_crc32c(crc, bytes + BATON_FRAME_HEAD_BYTES, header_bytes);
}

void baton_frame_seal(uint8_t *bytes, size_t header_bytes, size_t payload_bytes)
{
    size_t header_end = BATON_FRAME_HEAD_BYTES + header_bytes;
    size_t offset = baton_frame_payload_offset(header_bytes, payload_bytes);
    memset(bytes, 0, BATON_FRAME_HEAD_BYTES);
    memset(bytes + header_end, 0, offset - header_end);
    memcpy(bytes + AT_MAGIC, magic, sizeof magic);
    put_u16(bytes + AT_VERSION, BATON_WIRE_VERSION);
    put_u32(bytes + AT_HEADER_BYTES, (uint32_t)header_bytes);
    put_u32(bytes + AT_PAYLOAD_BYTES, (uint32_t)payload_bytes);
    if (payload_bytes)
        put_u32(bytes + AT_PAYLOAD_CRC, baton_crc32c(0, bytes + offset, payload_bytes));
    put_u32(bytes + AT_HEADER_CRC, header_crc(bytes, header_bytes));
}

/* Is this a frame of ours at all, and of our version? */
static enum baton_err open_head(const uint8_t *bytes, size_t n, struct baton_why *why)
{
    if (n < BATON_FRAME_HEAD_BYTES)
        return baton_fail(why, BATON_CORRUPT, "frame: %zu bytes are less than a head", n);
    if (memcmp(bytes + AT_MAGIC, magic, sizeof magic) != 0)
        return baton_fail(why, BATON_CORRUPT, "frame: it does not begin with the magic \"BATN\"");
    unsigned version = get_u16(bytes + AT_VERSION);
    if (version != BATON_WIRE_VERSION)
        return baton_fail(why, BATON_VERSION,
                          "frame: the peer speaks wire version %u, this process speaks %d", version,
                          BATON_WIRE_VERSION);
    if (get_u16(bytes + AT_FLAGS) || !all_zero(bytes + AT_ZERO, BATON_FRAME_HEAD_BYTES - AT_ZERO))
        return baton_fail(why, BATON_CORRUPT, "frame: reserved bytes of the head are not zero");
    return BATON_OK;
}

/* The lengths agree already; do the bytes agree with their checksums? */
static enum baton_err verify(const uint8_t *bytes, const struct baton_frame *frame,
                             struct baton_why *why)
{
    size_t header_end = BATON_FRAME_HEAD_BYTES + frame->header_bytes;
    size_t offset = baton_frame_payload_offset(frame->header_bytes, frame->payload_bytes);
    if (get_u32(bytes + AT_HEADER_CRC) != header_crc(bytes, frame->header_bytes))
        return baton_fail(why, BATON_CORRUPT, "frame: the header's CRC does not match");
    if (!all_zero(bytes + header_end, offset - header_end))
        return baton_fail(why, BATON_CORRUPT, "frame: the padding is not zero");
    uint32_t crc = frame->payload_bytes ? baton_crc32c(0, frame->payload, frame->payload_bytes) : 0;
    if (get_u32(bytes + AT_PAYLOAD_CRC) != crc)
        return baton_fail(why, BATON_CORRUPT, "frame: the payload's CRC does not match");
    return BATON_OK;
}

enum baton_err baton_frame_open(const uint8_t *bytes, size_t n, struct baton_frame *frame,
                                struct baton_why *why)
{
    enum baton_err err = open_head(bytes, n, why);
    if (err)
        return err;
    struct baton_frame opened = {.header = bytes + BATON_FRAME_HEAD_BYTES,
                                 .header_bytes = get_u32(bytes + AT_HEADER_BYTES),
                                 .payload_bytes = get_u32(bytes + AT_PAYLOAD_BYTES)};
    size_t size = baton_frame_size(opened.header_bytes, opened.payload_bytes);
    if (!size || size != n)
        return baton_fail(why, BATON_CORRUPT,
                          "frame: %zu bytes, but its head says header %zu and payload %zu", n,
                          opened.header_bytes, opened.payload_bytes);
    if (opened.payload_bytes)
        opened.payload =
            bytes + baton_frame_payload_offset(opened.header_bytes, opened.payload_bytes);
    err = verify(bytes, &opened, why);
    if (!err)
        *frame = opened;
    return err;
}
