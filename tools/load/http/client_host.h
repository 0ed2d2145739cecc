/* The machine of the client, and the client's own costs.
 *
 * Ownership: plain values.
 * Threading: any thread.
 * Errors:    files: LIMIT names the option and the system's limit; the rest cannot fail.
 */
#ifndef BATON_TOOLS_LOAD_HTTP_CLIENT_HOST_H
#define BATON_TOOLS_LOAD_HTTP_CLIENT_HOST_H

#include "common/base/json.h"

/* Raises the limit of open files to the hard limit. Fails when that is below n_connections and a
 * few more. */
enum baton_err ld_host_raise_files(int64_t n_connections, struct baton_why *why) BATON_MUST_CHECK;

/* Gives this thread real-time priority, so that servers which keep all cores busy do not delay its
 * reads. False where that is not allowed. For a thread that sleeps nearly all the time. */
bool ld_host_take_priority(void);

/* Returns the CPU time that this process used so far, in seconds. */
double ld_host_cpu_s(void);
/* Returns the greatest resident size so far, in bytes. */
int64_t ld_host_peak_bytes(void);

/* Writes the members cpu, cores, memory_bytes and kernel. */
void ld_host_put(struct baton_json_out *out);

#endif
