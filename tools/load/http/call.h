/* One request in progress: takes a connection, sends, and reads the answer into the record.
 *
 * A server may close an idle connection at any time. When one ends before the first byte of the
 * answer, the request is sent again on a new connection, which does not count as another attempt.
 *
 * Ownership: the starter owns the call and frees it after `over` was called; record and setting are
 *            borrowed.
 * Threading: the loop's.
 * Errors:    all end in `over`, with the record's outcome.
 */
#ifndef BATON_TOOLS_LOAD_HTTP_CALL_H
#define BATON_TOOLS_LOAD_HTTP_CALL_H

#include "common/http/response.h"
#include "tools/load/http/api.h"
#include "tools/load/http/conn.h"

/* The settings that all calls of a run share. */
struct ld_setting {
    struct ld_api_options api;
    const char *path;      /* prefix of the API's path */
    const char *authority; /* value of the Host header */
    const char *api_key;   /* or NULL */
    double slow_bytes_per_s;
    struct ld_pool *pool;
    uint64_t n_reconnects; /* idle connections that turned out to be closed */
};

struct ld_call {
    struct ld_setting *setting;
    const struct ld_workload *workload;
    struct ld_record *record;
    void (*over)(struct ld_call *call);
    void *arg;
    struct baton_node node; /* the starter's, like the next two */
    int64_t wake_ns;
    bool retries;
    struct ld_conn *conn; /* NULL: nothing is in progress */
    struct baton_http_response response;
    struct ld_sse sse;
    struct baton_buf body; /* decoded bytes that were not processed yet; of an error, all of them */
    bool got_bytes;
    bool ended; /* the stream's last event arrived */
};

struct ld_call *ld_call_create(struct ld_setting *setting, const struct ld_workload *workload,
                               struct ld_record *record, void (*over)(struct ld_call *call),
                               void *arg);
/* Frees the call, which must not be in progress. */
void ld_call_destroy(struct ld_call *call);

/* Begins an attempt. `over` is called later, or before this returns. */
void ld_call_start(struct ld_call *call);
/* Ends the call now, with outcome and, for FAILED, the reason. */
void ld_call_end(struct ld_call *call, enum ld_outcome outcome, const char *failure);

#endif
