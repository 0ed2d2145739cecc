/* The Hello of a worker: all that it says of itself when it joins a gateway, or shows a new token.
 *
 * Ownership: borrows what it is given.
 * Threading: the worker's main thread; calls the member's status.
 * Errors:    as baton_link_send.
 */
#ifndef BATON_COMMON_WIRE_MEMBER_HELLO_H
#define BATON_COMMON_WIRE_MEMBER_HELLO_H

#include "common/wire/member.h"

enum baton_err baton_member_say_hello(const struct baton_member_options *options,
                                      struct baton_link *link) BATON_MUST_CHECK;

#endif
