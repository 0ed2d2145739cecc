/* The memory of an unpacked Envelope, counted as protobuf-c allocates. */
#include <stdbool.h>
#include <string.h>

#include "common/wire/envelope/envelope.h"
#include "common/wire/envelope/parts.h"
#include "common/wire/frame.h"

/* protobuf-c keeps a record of each field that it finds in a message: the first 16 on the stack,
 * more in blocks for 32, 64, 128, ... An arena does not get these back. */
enum { RECORDS_ON_STACK = 16, RECORD_BYTES = 32 };

static size_t message_bytes(const ProtobufCMessage *message);

static size_t block_bytes(size_t n)
{
    return n ? sizeof(struct baton_envelope_block) + (n + 15) / 16 * 16 : 0;
}

static size_t record_bytes(size_t n_fields)
{
    size_t n_bytes = 0;
    for (size_t known = RECORDS_ON_STACK, more = 2 * known; known < n_fields;
         known += more, more *= 2)
        n_bytes += block_bytes(more * RECORD_BYTES);
    return n_bytes;
}

static size_t element_bytes(ProtobufCType type)
{
    switch (type) {
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_MESSAGE:
        return sizeof(void *);
    case PROTOBUF_C_TYPE_BYTES:
        return sizeof(ProtobufCBinaryData);
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_SFIXED64:
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_FIXED64:
    case PROTOBUF_C_TYPE_DOUBLE:
        return 8;
    default:
        return 4;
    }
}

/* The memory behind a pointer, without the pointer itself. */
static size_t pointee_bytes(const ProtobufCFieldDescriptor *field, const void *value)
{
    const void *pointer;
    if (field->type == PROTOBUF_C_TYPE_BYTES)
        return block_bytes(((const ProtobufCBinaryData *)value)->len);
    if (field->type != PROTOBUF_C_TYPE_STRING && field->type != PROTOBUF_C_TYPE_MESSAGE)
        return 0;
    memcpy(&pointer, value, sizeof pointer);
    if (!pointer || pointer == field->default_value)
        return 0;
    return field->type == PROTOBUF_C_TYPE_STRING ? block_bytes(strlen(pointer) + 1)
                                                 : message_bytes(pointer);
}

/* Adds to *n_notes how many fields of the wire this field is. */
static size_t repeated_bytes(const ProtobufCMessage *message, const ProtobufCFieldDescriptor *field,
                             size_t *n_notes)
{
    const char *base = (const char *)message, *elements;
    size_t n, size = element_bytes(field->type);
    memcpy(&n, base + field->quantifier_offset, sizeof n);
    memcpy(&elements, base + field->offset, sizeof elements);
    *n_notes += field->flags & PROTOBUF_C_FIELD_FLAG_PACKED ? n > 0 : n;
    size_t n_bytes = block_bytes(n * size);
    if (field->type == PROTOBUF_C_TYPE_MESSAGE || field->type == PROTOBUF_C_TYPE_STRING ||
        field->type == PROTOBUF_C_TYPE_BYTES)
        for (size_t i = 0; i < n; i++)
            n_bytes += pointee_bytes(field, elements + i * size);
    return n_bytes;
}

static bool is_set(const ProtobufCMessage *message, const ProtobufCFieldDescriptor *field)
{
    uint32_t id;
    if (!(field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF))
        return true;
    memcpy(&id, (const char *)message + field->quantifier_offset, sizeof id);
    return id == field->id;
}

static size_t message_bytes(const ProtobufCMessage *message)
{
    const ProtobufCMessageDescriptor *descriptor = message->descriptor;
    size_t n_notes = 0, n_bytes = block_bytes(descriptor->sizeof_message);
    for (unsigned i = 0; i < descriptor->n_fields; i++) {
        const ProtobufCFieldDescriptor *field = &descriptor->fields[i];
        if (field->label == PROTOBUF_C_LABEL_REPEATED) {
            n_bytes += repeated_bytes(message, field, &n_notes);
        } else if (is_set(message, field)) {
            n_notes++;
            n_bytes += pointee_bytes(field, (const char *)message + field->offset);
        }
    }
    return n_bytes + record_bytes(n_notes);
}

size_t baton_envelope_unpacked_bytes(const baton_envelope *envelope)
{
    return message_bytes(&envelope->base);
}

/* The arena of a message of n bytes, when nothing is ever refused: see the header. */
static size_t worst_bytes(size_t n)
{
    return BATON_ENVELOPE_BASE_BYTES + BATON_ENVELOPE_BYTES_PER_BYTE * n;
}

size_t baton_envelope_arena_bytes(size_t n)
{
    return n < BATON_ENVELOPE_MAX_UNPACKED / BATON_ENVELOPE_BYTES_PER_BYTE
               ? worst_bytes(n)
               : worst_bytes(BATON_ENVELOPE_MAX_UNPACKED / BATON_ENVELOPE_BYTES_PER_BYTE);
}

enum baton_err baton_envelope_fits(const baton_envelope *envelope, size_t n, struct baton_why *why)
{
    size_t max = baton_envelope_arena_bytes(n);
    if (n > BATON_FRAME_MAX_HEADER)
        return baton_fail(why, BATON_LIMIT, "%s: %zu bytes are more than the %d of an Envelope",
                          baton_envelope_kind(envelope), n, BATON_FRAME_MAX_HEADER);
    if (max >= worst_bytes(n))
        return BATON_OK;
    size_t unpacked = baton_envelope_unpacked_bytes(envelope);
    if (unpacked > max)
        return baton_fail(why, BATON_LIMIT,
                          "%s: %zu bytes unpack into %zu, more than the %zu that they may",
                          baton_envelope_kind(envelope), n, unpacked, max);
    return BATON_OK;
}
