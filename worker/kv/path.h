/* How contexts go from worker to worker: --kv-path.
 *
 * Pure.
 */
#ifndef BATON_WORKER_KV_PATH_H
#define BATON_WORKER_KV_PATH_H

/* The order of the option's words. */
enum baton_kv_path {
    BATON_KV_PATH_AUTO,   /* shared where both workers are on one host and of one user, else wire */
    BATON_KV_PATH_SHARED, /* through shared memory, or not at all */
    BATON_KV_PATH_WIRE    /* over the link */
};

#endif
