/* One request under way: it takes a connection, sends, reads the answer into the record.
 *
 * A kept connection that ends before the first byte of the answer had been closed meanwhile, as any
 * server may: the request is sent again on a fresh one, which is not another attempt.
 *
 * Ownership: the starter owns the call and frees it once `over` was called; record and setting are
 * borrowed. Threading: the loop's. Errors:    all end in `over`, with the record's outcome.
 */
#ifndef BATON_BENCH_SERVE_CALL_H
#define BATON_BENCH_SERVE_CALL_H

#include "bench/serve/api.h"
#include "bench/serve/conn.h"
#include "bench/serve/response.h"

/* What all calls of a run share. */
struct sv_setting {
    struct sv_api_options api;
    const char *path;      /* before the API's own */
    const char *authority; /* the Host header */
    const char *api_key;   /* or NULL */
    double slow_bytes_per_s;
    struct sv_pool *pool;
    uint64_t n_reconnects; /* kept connections that turned out closed */
};

struct sv_call {
    struct sv_setting *setting;
    const struct sv_workload *workload;
    struct sv_record *record;
    void (*over)(struct sv_call *call);
    void *arg;
    struct baton_node node; /* the starter's, as the next two */
    int64_t wake_ns;
    bool retries;
    struct sv_conn *conn; /* NULL: nothing under way */
    struct sv_response response;
    struct sv_sse sse;
    struct baton_buf body; /* decoded and not yet looked at; of an error, all of it */
    bool got_bytes;
    bool ended; /* the stream's last event came */
};

struct sv_call *sv_call_create(struct sv_setting *setting, const struct sv_workload *workload,
                               struct sv_record *record, void (*over)(struct sv_call *call),
                               void *arg);
/* Nothing may be under way. */
void sv_call_destroy(struct sv_call *call);

/* Begins an attempt. `over` is called later, or before this returns. */
void sv_call_start(struct sv_call *call);
/* Ends it now, with outcome and, for FAILED, the reason. */
void sv_call_end(struct sv_call *call, enum sv_outcome outcome, const char *failure);

#endif
