/* How fast the fleet works off its line, and what that means for whoever comes next.
 *
 *     QUEUED, RESERVING --room--> PREFILLING --compute--> first token
 *
 * Two meters run: places given, over the time in which there was a backlog, that is, somebody had
 * waited for one longer than it takes to ask; prompt tokens run, over the time in which a prompt
 * was with a worker. So neither a quiet hour looks like a slow fleet, nor a fleet that has room for
 * everybody like one that is quick to find some.
 *
 *     wait = those who wait x seconds a place (in a backlog) + tokens with workers x seconds a
 * token
 *
 * Ownership: plain data.
 * Threading: pure functions of their arguments; times are baton_now_ns's.
 * Errors:    none. What was never measured is 0: nobody is turned away by a guess.
 */
#ifndef BATON_GATEWAY_PACE_H
#define BATON_GATEWAY_PACE_H

#include "gateway/request.h"

enum { GW_METER_MARKS = 64 };

/* How long one of something takes, by a clock that runs while any is open. */
struct gw_meter {
    size_t n_open;
    int64_t seen_ns;  /* up to when clock_s counts */
    double clock_s;   /* of the time in which any was open */
    double done;      /* in all */
    uint64_t n_marks; /* in all */
    struct {
        double clock_s, done;
    } marks[GW_METER_MARKS]; /* the last times when something was done; mark i at i % n */
};

void gw_meter_begin(struct gw_meter *meter, int64_t now_ns);
/* So much was done; whoever it is about is still open. */
void gw_meter_note(struct gw_meter *meter, double done, int64_t now_ns);
/* done 0: it left without. */
void gw_meter_end(struct gw_meter *meter, double done, int64_t now_ns);
/* The clock's time for one of what is done, lately; while nothing was, as long as it has lasted. */
double gw_meter_per_unit_s(const struct gw_meter *meter);

struct gw_pace {
    struct gw_meter room, compute;          /* room is open during a backlog */
    size_t n_waiting, n_waiting_tokens;     /* for a place; of their prompts */
    size_t n_placed_tokens;                 /* of prompts that are with workers */
    double mean_output_tokens, per_token_s; /* of requests that ended well; 0: none did yet */
};

/* A request with a prompt of n_tokens goes from its state to another. */
void gw_pace_moved(struct gw_pace *pace, enum gw_state from, enum gw_state to, size_t n_tokens,
                   int64_t now_ns);

/* Time passes, whether or not anything moves; waited_s is how long the first in the queue has been
 * there, 0 when it is empty. Call every 25 ms or so: a backlog is noticed here. */
void gw_pace_tick(struct gw_pace *pace, double waited_s, int64_t now_ns);

/* A request ended well after n_output tokens; seconds are from the first to the end. */
void gw_pace_finished(struct gw_pace *pace, uint64_t n_output, double seconds);

/* Until so many more than those who wait would have a place, and so many more prompt tokens than
 * those with workers would be run; 0, 0: until all there are had their turn. */
double gw_pace_wait_s(const struct gw_pace *pace, size_t n_requests, size_t n_tokens);

/* Until so many of those who wait have a place; 0 without a backlog. */
double gw_pace_room_s(const struct gw_pace *pace, size_t n_requests);

/* For a request like the others: n_tokens of prompts to run, its own among them, and its output. */
double gw_pace_service_s(const struct gw_pace *pace, size_t n_tokens, int64_t max_new_tokens);

/* Seconds as Retry-After says them: whole, at least 1, and no more than can be foreseen. */
int gw_pace_retry_s(double seconds);

#endif
