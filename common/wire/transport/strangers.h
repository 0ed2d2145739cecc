/* Strangers: the connections to an inbox that no message with a right to be here has come by yet.
 *
 * Anybody who reaches the port can connect, announce a message of megabytes and wait. NNG bounds
 * neither the connections nor what they hold, so a thread of its own looks after those that have
 * not shown who they are. NNG reports a connection, as a pipe, only after the handshakes of TLS and
 * SP, which may never end. So the thread looks for connections itself, among the descriptors of the
 * process: they are strangers from then on, and the pipe that follows takes their place. It ends
 *
 *     crowded   the oldest silent one, when there are too many in all or from one address. Half of
 *               the places are kept for a fifth of the patience whoever comes later: when many
 *               workers begin at once, those who have one get the time to speak. The other half
 *               goes to who comes: a flood that fills all places leaves a worker a moment, and who
 *               belongs here speaks at once.
 *     silent    one by which nothing with a right came in time, the handshakes included
 *     greedy    the largest, when what they hold of unfinished messages is too much together
 *     rejected  a pipe that the inbox's owner rejected, stranger or not
 *
 * It also closes pipes whose connection is over, stranger's or not, if NNG does not.
 *
 * A stranger leaves the table when it is admitted or gone. The thread looks for connections every
 * 100 ms, and takes a hundredth of a core at most for it. While it finds some that it did not know,
 * for 10 s after a crowd, and with strangers, it makes a pass every 10 ms, and takes a tenth of a
 * core at most.
 *
 * Ownership: descriptors are NNG's; pipes are known by their numbers.
 * Threading: any thread; nothing blocks for longer than a look into a table of 256 rows.
 * Errors:    start: IO without descriptors, NO_MEMORY.
 */
#ifndef BATON_COMMON_WIRE_TRANSPORT_STRANGERS_H
#define BATON_COMMON_WIRE_TRANSPORT_STRANGERS_H

#include <stdint.h>

#include "common/wire/transport/hang_up.h"
#include "common/wire/transport/inbox.h"

enum {
    BATON_MAX_STRANGERS = 128,
    BATON_MAX_STRANGERS_OF_ADDRESS = 32,
    BATON_MAX_STRANGERS_BYTES = 16 << 20, /* that they may hold together */
    BATON_GRACES_A_PATIENCE = 5
};

struct baton_strangers;

/* patience_ns: the time that a connection has to show its right to be here. */
enum baton_err baton_strangers_start(int64_t patience_ns,
                                     struct baton_strangers **strangers) BATON_MUST_CHECK;
/* The port that the inbox listens on, as soon as it is known. Before that nothing is looked for. */
void baton_strangers_set_port(struct baton_strangers *strangers, int local_port);
void baton_strangers_stop(struct baton_strangers *strangers);

/* A pipe came. False: there is no room or no memory; NNG may close it at once, nothing is read from
 * it yet. */
bool baton_strangers_add(struct baton_strangers *strangers, uint32_t pipe,
                         const struct sockaddr_storage *peer);

/* A whole message came by it. False: it is being ended, and the message must be dropped: who is
 * answered would not be there any more. */
bool baton_strangers_heard(struct baton_strangers *strangers, uint32_t pipe);

bool baton_strangers_has(struct baton_strangers *strangers, uint32_t pipe);

/* It is no stranger any more. */
void baton_strangers_admit(struct baton_strangers *strangers, uint32_t pipe);

/* It is gone. */
void baton_strangers_forget(struct baton_strangers *strangers, uint32_t pipe);

/* It is to be ended soon, whatever it is. */
void baton_strangers_reject(struct baton_strangers *strangers, uint32_t pipe,
                            const struct sockaddr_storage *peer);

/* Whether messages wait for the inbox's owner: a stranger's may be among them, so none is
 * silent. */
void baton_strangers_set_waiting(struct baton_strangers *strangers, bool waiting);

/* Ends every connection to the inbox. */
void baton_strangers_end_all(struct baton_strangers *strangers);

void baton_strangers_get_stats(struct baton_strangers *strangers,
                               struct baton_strangers_stats *stats);

#endif
