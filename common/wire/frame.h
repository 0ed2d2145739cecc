/* The frame: what one message looks like on the wire. Pure bytes, no sockets.
 *
 *     offset size
 *          0    4  magic "BATN"
 *          4    2  version (BATON_WIRE_VERSION)
 *          6    2  flags, 0
 *          8    4  header_bytes: length of the packed Envelope, 1..BATON_FRAME_MAX_HEADER
 *         12    4  payload_bytes
 *         16    4  payload CRC-32C, 0 when there is no payload
 *         20    4  header CRC-32C, over bytes 0..19 and the Envelope
 *         24    8  zero
 *         32    .  Envelope (protobuf)
 *          .    .  zero padding to a multiple of 64, when a payload follows
 *          .    .  payload
 *
 * All integers are little-endian. A frame is exactly as long as its head says.
 *
 * Ownership: views into the caller's bytes.
 * Threading: pure functions.
 * Errors:    VERSION for another protocol version, CORRUPT for everything else that is not a frame.
 */
#ifndef BATON_COMMON_WIRE_FRAME_H
#define BATON_COMMON_WIRE_FRAME_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"

enum {
    BATON_WIRE_VERSION = 5,
    BATON_FRAME_HEAD_BYTES = 32,
    BATON_FRAME_ALIGN = 64,
    BATON_FRAME_MAX_HEADER = 5 << 20, /* an Envelope; 1M prompt tokens and their hashes fit */
    BATON_FRAME_MAX_PAYLOAD = 8 << 20
};

struct baton_frame {
    const uint8_t *header; /* packed Envelope */
    size_t header_bytes;
    const uint8_t *payload; /* NULL when payload_bytes is 0 */
    size_t payload_bytes;
};

/* Length of the whole frame; 0 when a part is larger than its maximum or the header is empty. */
size_t baton_frame_size(size_t header_bytes, size_t payload_bytes);

/* Offset of the payload in a frame of that shape. The Envelope is at BATON_FRAME_HEAD_BYTES. */
size_t baton_frame_payload_offset(size_t header_bytes, size_t payload_bytes);

/* Fills in the head and the padding of a frame whose Envelope and payload are in place already.
 * bytes holds baton_frame_size(header_bytes, payload_bytes) bytes. */
void baton_frame_seal(uint8_t *bytes, size_t header_bytes, size_t payload_bytes);

/* Checks lengths, padding and both CRCs. */
enum baton_err baton_frame_open(const uint8_t *bytes, size_t n, struct baton_frame *frame,
                                struct baton_why *why) BATON_MUST_CHECK;

#endif
