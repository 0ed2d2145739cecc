/* The private header of the fixture's files: fixture.c has the gateway and its time,
 * fixture_links.c replaces the clock and the links, fixture_workers.c sends the messages of
 * workers, and fixture_clients.c has the clients.
 *
 * Ownership, Threading, Errors: as in fixture.h.
 */
#ifndef BATON_TESTS_UNIT_GATEWAY_FIXTURE_PARTS_H
#define BATON_TESTS_UNIT_GATEWAY_FIXTURE_PARTS_H

#include "tests/unit/gateway/fixture.h"

enum { MAX_FAR = 24, MAX_SENT = 4096, FIRST_TOKEN = 400 };

/* The fixture's link: the gateway's half, with nothing at the other end. */
struct baton_link {
    uint64_t id;
    int64_t heard_ns;
    enum baton_outbox_state state;
    bool is_gap;
    double beat_s; /* the pause that the gateway told last */
    void (*wake)(void *arg);
    void *wake_arg;
};

extern int64_t clock_ns;

/* The messages that the gateway has sent since it was opened. */
extern struct sent sent[MAX_SENT];
extern size_t n_all_sent;

/* The workers that have said hello. */
extern struct far_worker *far[MAX_FAR];
extern size_t n_far;

/* The tokens that the gateway accepts. */
extern struct baton_cluster_token cluster_token;

/* The gateway looks at its clock, and routes what it can. */
void tick(void);

#endif
