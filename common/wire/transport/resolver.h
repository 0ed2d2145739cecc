/* Resolves host names into numeric addresses, again and again, on a thread of its own, so that a
 * name server that does not answer blocks no other work.
 *
 * Ownership: the answer handed out belongs to the taker until baton_addresses_free. The thread
 *            keeps its own hold on what it needs, so destroy does not wait for a look-up under way.
 * Threading: create, ask, take and destroy from one thread; wake is called from the resolver's.
 * Errors:    create: INVALID (a url), NO_MEMORY. A name that does not resolve is logged and tried
 *            again by the next ask.
 */
#ifndef BATON_COMMON_WIRE_TRANSPORT_RESOLVER_H
#define BATON_COMMON_WIRE_TRANSPORT_RESOLVER_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/error.h"

struct baton_resolver;

/* Every address of every name, as numeric urls, each once. complete is false when a name did not
 * resolve: its addresses are then unknown, not gone. */
struct baton_addresses {
    char **urls;
    size_t n;
    bool complete;
};

/* urls: "tcp://gateway:7100[,tcp://...]"; IPv4 addresses of names, whatever a literal is. */
enum baton_err baton_resolver_create(const char *urls, void (*wake)(void *arg), void *wake_arg,
                                     struct baton_resolver **resolver,
                                     struct baton_why *why) BATON_MUST_CHECK;
void baton_resolver_destroy(struct baton_resolver *resolver);

/* Begins a look-up unless one is under way. */
void baton_resolver_ask(struct baton_resolver *resolver);

/* Takes the newest answer; false when there is none since the last take. */
bool baton_resolver_take(struct baton_resolver *resolver, struct baton_addresses *addresses);

void baton_addresses_free(struct baton_addresses *addresses);

#endif
