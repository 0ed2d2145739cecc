/* Envelopes in and out of bytes: unpacked into a capped arena, then every field checked.
 *
 * The generated parser accepts too much (empty input, bad UTF-8, embedded NUL, enum values that do
 * not exist), so nothing reaches a process before baton_envelope_check said yes.
 *
 * Ownership: an unpacked Envelope lives in the arena it was unpacked into.
 * Threading: pure functions over the caller's arena.
 * Errors:    CORRUPT (not an Envelope), INVALID (a field out of range, named in *why),
 *            NO_MEMORY (the arena's cap: the message is too greedy).
 */
#ifndef BATON_COMMON_WIRE_ENVELOPE_ENVELOPE_H
#define BATON_COMMON_WIRE_ENVELOPE_ENVELOPE_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/arena.h"
#include "common/base/error.h"
#include "common/base/request_tag.h"
#include "proto/baton.pb-c.h"

typedef Baton__V1__Envelope baton_envelope; /* the one typedef: generated names are long */

enum {
    BATON_MAX_PROMPT_TOKENS = 1 << 20,
    BATON_MAX_TOKENS_IN_MESSAGE = 4096,
    BATON_MAX_STEP_EVENTS = 4096,
    BATON_MAX_EMBEDDING = 1 << 16, /* values */
    BATON_MAX_LOGIT_IDS = 8,
    BATON_MAX_BORDERS = 16,    /* of one prompt */
    BATON_MAX_KV_OWNERS = 256, /* in one KvAccount */
    BATON_N_KV_REASONS = 5,
    BATON_MAX_PARTS = 4,       /* workers that compute one prompt */
    BATON_MAX_ID_BYTES = 64,   /* worker ids, dtypes */
    BATON_MAX_TEXT_BYTES = 512 /* urls, reasons, names */
};

/* A Decision of two bytes takes 185 bytes: itself, its place in a list, and protobuf-c's notes on
 * it. Tests go through all messages. */
enum {
    BATON_ENVELOPE_BASE_BYTES = 16 << 10,
    BATON_ENVELOPE_BYTES_PER_BYTE = 96,
    BATON_ENVELOPE_MAX_UNPACKED = 32 << 20
};

enum baton_err baton_envelope_unpack(const uint8_t *bytes, size_t n, struct baton_arena *arena,
                                     baton_envelope **envelope,
                                     struct baton_why *why) BATON_MUST_CHECK;

/* The cap of an arena fit for unpacking n bytes. Up to a third of a megabyte, whatever a sender
 * packs fits: no element of a message takes more than BATON_ENVELOPE_BYTES_PER_BYTE for each byte
 * that it has on the wire. A larger message may take BATON_ENVELOPE_MAX_UNPACKED, which is enough
 * for the longest prompt, and senders hold themselves to it (baton_envelope_fits). */
size_t baton_envelope_arena_bytes(size_t n);

/* The most memory that unpacking takes, counted as protobuf-c allocates. */
size_t baton_envelope_unpacked_bytes(const baton_envelope *envelope);

/* Checks that a receiver's arena holds an envelope of n packed bytes; LIMIT names both sizes. */
enum baton_err baton_envelope_fits(const baton_envelope *envelope, size_t n,
                                   struct baton_why *why) BATON_MUST_CHECK;

/* payload_bytes is that of the frame: a KvChunk without a place must have one, nothing else may. */
enum baton_err baton_envelope_check(const baton_envelope *envelope, size_t payload_bytes,
                                    struct baton_why *why) BATON_MUST_CHECK;

/* A text for a string field (NULL is ""): the generated fields lack const, though packing only
 * reads. */
static inline char *baton_envelope_text(const char *text)
{
    return (char *)(uintptr_t)(text ? text : "");
}

/* Names the request of the message for the receiver's logs; borrows the tag. */
static inline void baton_envelope_set_tag(baton_envelope *envelope,
                                          const struct baton_request_tag *tag)
{
    envelope->client_id = baton_envelope_text(tag->id);
    envelope->trace_id = baton_envelope_text(tag->trace_id);
}

/* "hello", "kv_chunk", ... for logs and metrics. */
const char *baton_envelope_kind(const baton_envelope *envelope);

#endif
