#include "common/wire/envelope/envelope.h"

#include <stdbool.h>
#include <string.h>

#include "common/wire/envelope/parts.h"
#include "common/wire/frame.h"

struct unpacker {
    struct baton_arena *arena;
    bool out_of_memory;
};

static void *arena_alloc(void *data, size_t size)
{
    struct unpacker *unpacker = data;
    size_t whole;
    struct baton_envelope_block *block = NULL;
    if (!__builtin_add_overflow(size, sizeof *block, &whole))
        block = baton_arena_alloc(unpacker->arena, whole);
    if (!block) {
        unpacker->out_of_memory = true;
        return NULL;
    }
    block->size = size;
    return block + 1;
}

static void arena_free(void *data, void *pointer)
{
    (void)data; /* the arena forgets everything at once */
    (void)pointer;
}

static bool is_cut(const char *text)
{
    const struct baton_envelope_block *block =
        (const struct baton_envelope_block *)(const void *)text - 1;
    return strlen(text) + 1 != block->size;
}

static enum baton_err verify(const ProtobufCMessage *message, struct baton_why *why);

static enum baton_err verify_field(const ProtobufCMessage *message,
                                   const ProtobufCFieldDescriptor *field, struct baton_why *why)
{
    const char *base = (const char *)message;
    const void *const *value = (const void *const *)(const void *)(base + field->offset);
    const uint32_t *oneof = (const uint32_t *)(const void *)(base + field->quantifier_offset);
    if ((field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) && *oneof != field->id)
        return BATON_OK;
    if (field->type == PROTOBUF_C_TYPE_STRING && *value && *value != field->default_value &&
        is_cut(*value))
        return baton_fail(why, BATON_CORRUPT, "envelope: %s holds a zero byte", field->name);
    if (field->type != PROTOBUF_C_TYPE_MESSAGE || !*value)
        return BATON_OK;
    if (field->label != PROTOBUF_C_LABEL_REPEATED)
        return verify(*value, why);
    const ProtobufCMessage *const *elements = *value;
    size_t n = *(const size_t *)(const void *)(base + field->quantifier_offset);
    enum baton_err err = BATON_OK;
    for (size_t i = 0; i < n && !err; i++)
        err = verify(elements[i], why);
    return err;
}

/* The generated parser accepts zero bytes in strings and fields numbered 0, which protobuf forbids
 * and no other reader would accept. */
static enum baton_err verify(const ProtobufCMessage *message, struct baton_why *why)
{
    enum baton_err err = BATON_OK;
    for (unsigned i = 0; i < message->n_unknown_fields; i++)
        if (!message->unknown_fields[i].tag)
            return baton_fail(why, BATON_CORRUPT, "envelope: a field has the number 0");
    for (unsigned i = 0; !err && i < message->descriptor->n_fields; i++)
        err = verify_field(message, &message->descriptor->fields[i], why);
    return err;
}

enum baton_err baton_envelope_unpack(const uint8_t *bytes, size_t n, struct baton_arena *arena,
                                     baton_envelope **envelope, struct baton_why *why)
{
    struct unpacker unpacker = {.arena = arena};
    ProtobufCAllocator allocator = {arena_alloc, arena_free, &unpacker};
    if (!n || n > BATON_FRAME_MAX_HEADER)
        return baton_fail(why, BATON_CORRUPT, "envelope: %zu bytes are no Envelope", n);
    baton_envelope *unpacked = baton__v1__envelope__unpack(&allocator, n, bytes);
    if (!unpacked && unpacker.out_of_memory)
        return baton_fail(why, BATON_NO_MEMORY,
                          "envelope: %zu bytes would unpack into more memory than they may", n);
    if (!unpacked)
        return baton_fail(why, BATON_CORRUPT, "envelope: %zu bytes are no Envelope", n);
    enum baton_err err = verify(&unpacked->base, why);
    if (!err)
        *envelope = unpacked;
    return err;
}

const char *baton_envelope_kind(const baton_envelope *envelope)
{
    const ProtobufCFieldDescriptor *field = protobuf_c_message_descriptor_get_field(
        &baton__v1__envelope__descriptor, envelope->body_case);
    return field ? field->name : "none";
}
