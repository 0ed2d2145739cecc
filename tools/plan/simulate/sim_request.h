/* One request on its way through the simulated fleet.
 *
 *     due --before--> QUEUED --routed--> prompt: passes --after--> first token
 *                                                   \--hand-off--> RECEIVED --steps--> end
 *
 * Ownership: the cluster's; the record belongs to its table.
 * Threading: one owner.
 * Errors:    none.
 */
#ifndef BATON_TOOLS_PLAN_SIMULATE_SIM_REQUEST_H
#define BATON_TOOLS_PLAN_SIMULATE_SIM_REQUEST_H

#include "common/base/list.h"
#include "tools/load/workload/record.h"

struct sim_prefill;
struct sim_decode;
struct sim_nic_queue;

struct sim_request {
    struct ld_record *record;
    struct baton_node node;     /* in the gateway's queue */
    int64_t n_prompt, n_output; /* tokens, at least 1 each */
    int64_t n_computed;         /* of the prompt */
    int64_t n_made;             /* tokens of the answer */
    int64_t n_blocks;           /* reserved by the decode worker */
    double way;                 /* factor of its time through the gateway */
    struct sim_prefill *prefill;
    struct sim_decode *decode; /* NULL: one token is the whole answer */
    struct sim_nic_queue *nic; /* the decode worker's, which receives its context */
    /* Times: queued, routed; its prompt's begin and end; its context received; its steps could
     * begin, and began. 0: not yet. */
    int64_t queued_ns, sent_ns, begun_ns, computed_ns, received_ns, ready_ns, stepped_ns;
    bool has_first, is_received; /* with both its steps may begin */
};

BATON_LIST(sim_request_list, struct sim_request, node)

#endif
