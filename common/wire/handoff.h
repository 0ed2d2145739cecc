/* How a context travels: the sizes that both ends of a hand-off and the benches agree on.
 *
 * Pure.
 */
#ifndef BATON_COMMON_WIRE_HANDOFF_H
#define BATON_COMMON_WIRE_HANDOFF_H

enum {
    BATON_HANDOFF_CHUNK_BYTES = 512 << 10,      /* so that no other message waits long behind one */
    BATON_HANDOFF_FIRST_CREDIT_BYTES = 4 << 20, /* may be in flight before the first KvAck */
    BATON_HANDOFF_CREDIT_BYTES = 8 << 20,       /* beyond what a KvAck acknowledges */
    BATON_HANDOFF_ACK_EVERY_BYTES = 1 << 20
};

#endif
