/* Any bytes unpack within the cap or not at all; what passes the check is packed and passes again.
 */
#include "tests/fuzz/fuzz.h"

#include <assert.h>

#include "common/wire/envelope/envelope.h"
#include "common/wire/frame.h"

/* A chunk's payload is not part of its envelope. */
static enum baton_err check_envelope(const baton_envelope *envelope)
{
    struct baton_why why;
    bool is_chunk = envelope->body_case == BATON__V1__ENVELOPE__BODY_KV_CHUNK;
    return baton_envelope_check(envelope, is_chunk ? 64 : 0, &why);
}

static void pack_and_check_again(const baton_envelope *envelope)
{
    baton_envelope *again;
    size_t n = baton__v1__envelope__get_packed_size(envelope);
    uint8_t *packed = malloc(n);
    struct baton_arena *arena = baton_arena_create(baton_envelope_arena_bytes(n));
    assert(packed && arena && n <= BATON_FRAME_MAX_HEADER);
    baton__v1__envelope__pack(envelope, packed);
    enum baton_err err = baton_envelope_unpack(packed, n, arena, &again, NULL);
    assert(!err && again->body_case == envelope->body_case && !check_envelope(again));
    (void)err;
    baton_arena_destroy(arena);
    free(packed);
}

FUZZ(data, size)
{
    baton_envelope *envelope;
    struct baton_why why;
    struct baton_arena *arena = baton_arena_create(baton_envelope_arena_bytes(size));
    if (arena && !baton_envelope_unpack(data, size, arena, &envelope, &why) &&
        !check_envelope(envelope))
        pack_and_check_again(envelope);
    baton_arena_destroy(arena);
}
