/* Whatever opens is whole and lies inside its bytes; whatever is sealed opens to the same parts. */
#include "tests/fuzz/fuzz.h"

#include <assert.h>

#include "common/wire/frame.h"

static void open_anything(const uint8_t *data, size_t size)
{
    struct baton_frame frame;
    struct baton_why why;
    if (baton_frame_open(data, size, &frame, &why))
        return;
    assert(frame.header >= data && frame.header + frame.header_bytes <= data + size);
    assert(baton_frame_size(frame.header_bytes, frame.payload_bytes) == size);
    assert(!frame.payload == !frame.payload_bytes);
    assert(!frame.payload || frame.payload + frame.payload_bytes == data + size);
}

static void seal_and_open(const uint8_t *header, size_t header_bytes, const uint8_t *payload,
                          size_t payload_bytes)
{
    struct baton_frame frame;
    size_t n = baton_frame_size(header_bytes, payload_bytes);
    uint8_t *bytes = n ? malloc(n) : NULL;
    if (!bytes)
        return;
    memcpy(bytes + BATON_FRAME_HEAD_BYTES, header, header_bytes);
    memcpy(bytes + baton_frame_payload_offset(header_bytes, payload_bytes), payload, payload_bytes);
    baton_frame_seal(bytes, header_bytes, payload_bytes);
    enum baton_err err = baton_frame_open(bytes, n, &frame, NULL);
    assert(!err && frame.header_bytes == header_bytes && frame.payload_bytes == payload_bytes);
    assert(!memcmp(frame.header, header, header_bytes));
    assert(!payload_bytes || !memcmp(frame.payload, payload, payload_bytes));
    (void)err;
    free(bytes);
}

FUZZ(data, size)
{
    open_anything(data, size);
    if (size > 1) { /* the first byte says where the header ends */
        size_t split = 1 + data[0] * (size - 1) / 255;
        seal_and_open(data + 1, split - 1, data + split, size - split);
    }
}
