/* Cut paths: pairs of a prefill and a decode worker that cannot reach each other, although the
 * gateway reaches both.
 *
 * A prefill worker reports a cut when a hand-off gets no acknowledgement. The pair is then avoided
 * for a while, twice as long after each further report, and tried again. A hand-off that arrives
 * removes the pair.
 *
 * Ownership: plain data; zeroed it is empty. Workers are known by their tags.
 * Threading: none; one owner at a time.
 * Errors:    at GW_MAX_CUT_PATHS the oldest report makes room.
 */
#ifndef BATON_GATEWAY_ROUTING_CUT_PATHS_H
#define BATON_GATEWAY_ROUTING_CUT_PATHS_H

#include "gateway/fleet/fleet.h"

enum { GW_MAX_CUT_PATHS = 256 };

struct gw_cut_path {
    uint32_t prefill, decode; /* tags */
    uint32_t n_reports;
    int64_t since_ns, until_ns; /* the first report; when the pair may be tried again */
};

struct gw_cut_paths {
    struct gw_cut_path paths[GW_MAX_CUT_PATHS];
    size_t n;
    uint64_t n_cuts; /* total since the start */
};

/* Records that a hand-off found no path between the two. Returns for how many nanoseconds the pair
 * is avoided. */
int64_t gw_cut_paths_note(struct gw_cut_paths *cut, uint32_t prefill, uint32_t decode,
                          int64_t now_ns);

/* Removes the pair, because a hand-off between the two arrived. True if the pair was cut. */
bool gw_cut_paths_mend(struct gw_cut_paths *cut, uint32_t prefill, uint32_t decode);

/* Removes all pairs of a worker that is gone. */
void gw_cut_paths_forget(struct gw_cut_paths *cut, uint32_t tag);

/* Whether the pair is avoided now. */
bool gw_cut_paths_has(const struct gw_cut_paths *cut, uint32_t prefill, uint32_t decode,
                      int64_t now_ns);

/* ---- of workers ---- */

/* As gw_cut_paths_note, and logs it. NULL (the worker is unknown) is ignored, and so is a suspect
 * receiver. */
void gw_cut_paths_report(struct gw_cut_paths *cut, const struct gw_worker *from,
                         const struct gw_worker *to);
/* As gw_cut_paths_mend, and logs it. NULL (the worker is unknown) is ignored. */
void gw_cut_paths_arrived(struct gw_cut_paths *cut, const struct gw_worker *from,
                          const struct gw_worker *to);

/* Whether a context can go from one worker to the other, as far as is known; and whether it can go
 * from a prefill worker to any decode worker that is READY. */
bool gw_cut_paths_reach(const struct gw_cut_paths *cut, const struct gw_worker *from,
                        const struct gw_worker *to);
bool gw_cut_paths_reach_any(const struct gw_cut_paths *cut, const struct gw_fleet *fleet,
                            const struct gw_worker *prefill);

#endif
