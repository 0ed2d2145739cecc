/* Cut paths: pairs of a prefill and a decode worker that cannot reach each other, although the
 * gateway reaches both.
 *
 * A prefill worker reports it when a hand-off gets no acknowledgement. The pair is then avoided for
 * a while, twice as long after each further report, and tried again. A hand-off that arrives mends
 * it.
 *
 * Ownership: plain data; zeroed there is none. Workers are known by their tags.
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
    int64_t since_ns, until_ns; /* the first report; when it may be tried again */
};

struct gw_cut_paths {
    struct gw_cut_path paths[GW_MAX_CUT_PATHS];
    size_t n;
    uint64_t n_cuts; /* in all */
};

/* A hand-off between the two found no path. Returns for how long the pair is avoided. */
int64_t gw_cut_paths_note(struct gw_cut_paths *cut, uint32_t prefill, uint32_t decode,
                          int64_t now_ns);

/* A hand-off between the two arrived. True when they counted as cut. */
bool gw_cut_paths_mend(struct gw_cut_paths *cut, uint32_t prefill, uint32_t decode);

/* The worker is gone. */
void gw_cut_paths_forget(struct gw_cut_paths *cut, uint32_t tag);

/* Whether the pair is to be avoided now. */
bool gw_cut_paths_has(const struct gw_cut_paths *cut, uint32_t prefill, uint32_t decode,
                      int64_t now_ns);

/* ---- of workers ---- */

/* As gw_cut_paths_note, and logged. NULL: nothing is known. A worker that is suspect may only stand
 * still, so nothing is known of the path to it either. */
void gw_cut_paths_report(struct gw_cut_paths *cut, const struct gw_worker *from,
                         const struct gw_worker *to);
/* As gw_cut_paths_mend, and logged. NULL: nothing is known. */
void gw_cut_paths_arrived(struct gw_cut_paths *cut, const struct gw_worker *from,
                          const struct gw_worker *to);

/* Whether a context gets from one worker to the other, as far as is known; and whether it gets from
 * a prefill worker to any decode worker that is ready. */
bool gw_cut_paths_reach(const struct gw_cut_paths *cut, const struct gw_worker *from,
                        const struct gw_worker *to);
bool gw_cut_paths_reach_any(const struct gw_cut_paths *cut, const struct gw_fleet *fleet,
                            const struct gw_worker *prefill);

#endif
