#include "tests/support/test.h"

#include <stdlib.h>
#include <string.h>

#include "common/wire/frame.h"

enum { HEADER = 41, PAYLOAD = 1000 };

static uint8_t *sealed(size_t header_bytes, size_t payload_bytes, size_t *n)
{
    *n = baton_frame_size(header_bytes, payload_bytes);
    size_t offset = baton_frame_payload_offset(header_bytes, payload_bytes);
    uint8_t *bytes = malloc(*n);
    assert_non_null(bytes);
    memset(bytes, 0xaa, *n);
    for (size_t i = 0; i < header_bytes; i++)
        bytes[BATON_FRAME_HEAD_BYTES + i] = (uint8_t)(i * 7 + 1);
    for (size_t i = 0; i < payload_bytes; i++)
        bytes[offset + i] = (uint8_t)(i * 13 + 5);
    baton_frame_seal(bytes, header_bytes, payload_bytes);
    return bytes;
}

TEST(a_sealed_frame_opens_to_what_was_put_in)
{
    for (size_t header_bytes = 1; header_bytes < 200; header_bytes++) {
        size_t n, payload_bytes = (header_bytes % 3) * 17;
        uint8_t *bytes = sealed(header_bytes, payload_bytes, &n);
        struct baton_frame frame;
        assert_ok(baton_frame_open(bytes, n, &frame, NULL));
        assert_int_equal(frame.header_bytes, header_bytes);
        assert_int_equal(frame.payload_bytes, payload_bytes);
        assert_int_equal(frame.header[header_bytes - 1], (uint8_t)((header_bytes - 1) * 7 + 1));
        if (payload_bytes) {
            assert_int_equal((size_t)(frame.payload - bytes) % BATON_FRAME_ALIGN, 0);
            assert_int_equal(frame.payload[payload_bytes - 1],
                             (uint8_t)((payload_bytes - 1) * 13 + 5));
        } else {
            assert_null(frame.payload);
        }
        free(bytes);
    }
}

TEST(the_head_is_little_endian_and_stands_where_the_header_says)
{
    size_t n;
    uint8_t *bytes = sealed(HEADER, PAYLOAD, &n);
    static const uint8_t head[16] = {'B', 'A', 'T',           'N',          5, 0, 0, 0, HEADER, 0,
                                     0,   0,   PAYLOAD & 255, PAYLOAD >> 8, 0, 0};
    assert_memory_equal(bytes, head, sizeof head);
    assert_int_equal(n, 128 + PAYLOAD);
    free(bytes);
}

TEST(every_flipped_bit_is_found)
{
    size_t n;
    uint8_t *bytes = sealed(HEADER, 100, &n);
    for (size_t bit = 0; bit < n * 8; bit++) {
        struct baton_frame frame;
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        enum baton_err err = baton_frame_open(bytes, n, &frame, NULL);
        assert_int_equal(err, bit / 16 == 2 ? BATON_VERSION : BATON_CORRUPT);
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    free(bytes);
}

TEST(a_frame_cut_short_or_too_long_is_corrupt)
{
    size_t n;
    uint8_t *bytes = sealed(HEADER, 100, &n);
    uint8_t *longer = calloc(1, n + 1);
    assert_non_null(longer);
    memcpy(longer, bytes, n);
    struct baton_frame frame;
    for (size_t cut = 0; cut < n; cut++)
        assert_int_equal(baton_frame_open(bytes, cut, &frame, NULL), BATON_CORRUPT);
    assert_int_equal(baton_frame_open(longer, n + 1, &frame, NULL), BATON_CORRUPT);
    free(longer);
    free(bytes);
}

TEST(another_version_is_told_apart_from_garbage)
{
    size_t n;
    struct baton_why why;
    struct baton_frame frame;
    uint8_t *bytes = sealed(HEADER, 0, &n);
    bytes[4] = 1;
    assert_int_equal(baton_frame_open(bytes, n, &frame, &why), BATON_VERSION);
    assert_string_equal(why.text, "frame: the peer speaks wire version 1, this process speaks 5");
    bytes[0] = 'X';
    assert_int_equal(baton_frame_open(bytes, n, &frame, &why), BATON_CORRUPT);
    free(bytes);
}

TEST(sizes_past_the_maxima_are_no_frames)
{
    assert_int_equal(baton_frame_size(0, 0), 0);
    assert_int_equal(baton_frame_size(0, 10), 0);
    assert_int_equal(baton_frame_size(1, 0), BATON_FRAME_HEAD_BYTES + 1);
    assert_int_equal(baton_frame_size(BATON_FRAME_MAX_HEADER + 1, 0), 0);
    assert_int_equal(baton_frame_size(1, BATON_FRAME_MAX_PAYLOAD + 1), 0);
    assert_int_equal(baton_frame_size(SIZE_MAX, SIZE_MAX), 0);
    assert_int_equal(baton_frame_size(BATON_FRAME_MAX_HEADER, BATON_FRAME_MAX_PAYLOAD),
                     BATON_FRAME_MAX_HEADER + BATON_FRAME_ALIGN + BATON_FRAME_MAX_PAYLOAD);
}
