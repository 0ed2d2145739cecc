/* The judgement of strangers (strangers.h): of a copy of their rows, which ones end, and their end.
 *
 * Ownership: the judge owns what hanging up has reserved.
 * Threading: one thread at a time.
 * Errors:    none; a connection without a descriptor is left for a later pass, a few times.
 */
#ifndef BATON_COMMON_WIRE_TRANSPORT_STRANGER_JUDGE_H
#define BATON_COMMON_WIRE_TRANSPORT_STRANGER_JUDGE_H

#include <stdint.h>

#include "common/wire/transport/hang_up.h"
#include "common/wire/transport/inbox.h"
#include "common/wire/transport/known_pipes.h"

enum { BATON_MAX_STRANGER_ROWS = 256, BATON_MAX_STRANGER_LOOKS = 3 };

/* A connection in the table of strangers. */
struct baton_stranger {
    uint64_t serial; /* of this stranger; 0: the row is free */
    uint64_t n_scan; /* the scan of descriptors that saw it last */
    uint32_t pipe;   /* 0: NNG has not reported it yet */
    struct baton_peer_key peer;
    bool heard;       /* a whole message came */
    bool ends;        /* to be hung up */
    bool is_kept;     /* not crowded out before its grace is over */
    bool is_crowded;  /* it ends for no other reason than that others came */
    bool is_judged;   /* to be hung up in the pass that runs: there is no way back */
    uint8_t n_looks;  /* how often its descriptor was not found, or it was hung up */
    int64_t since_ns; /* when it was first seen */
    struct baton_hang_up_target target;
};

struct baton_stranger_judge {
    int64_t patience_ns;
    struct baton_hang_up hang_up;
    int64_t last_pass_ns;
};

/* One pass over rows [n], whose descriptors were looked for: marks with `ends` those that are
 * silent for too long or hold too much, and hangs up all that are marked. is_waiting: messages of
 * theirs may wait for the inbox's owner, so that none is silent. ended counts what was marked. */
void baton_stranger_judge_all(struct baton_stranger_judge *judge, struct baton_stranger *rows,
                              size_t n, bool is_waiting, struct baton_strangers_stats *ended);

#endif
