/* How the memory of an unpacked Envelope is laid out; private to envelope*.c.
 *
 * Ownership: nothing.
 * Threading: none.
 * Errors:    none.
 */
#ifndef BATON_COMMON_WIRE_ENVELOPE_PARTS_H
#define BATON_COMMON_WIRE_ENVELOPE_PARTS_H

#include <stddef.h>

/* protobuf-c hands strings out NUL-terminated and forgets their length, so a zero byte inside one
 * would silently cut it. Each allocation therefore remembers its size in front of it. */
struct baton_envelope_block {
    _Alignas(16) size_t size;
    char bytes[];
};

#endif
