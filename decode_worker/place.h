/* Contexts arriving from prefill workers: checked, placed block by block, acknowledged with credit.
 * Blocks that are shared with earlier prompts do not travel.
 *
 * Owns the bulk inbox, so that tensors never queue before heartbeats and tokens.
 *
 * Ownership: contexts are borrowed; the inbox and the links back to the senders belong to it.
 * Threading: main thread.
 * Errors:    a gap, a bad frame or a chunk that does not fit fails that transfer: the context is
 * marked canceled and its gateway told CONTEXT_LOST.
 */
#ifndef BATON_DECODE_PLACE_H
#define BATON_DECODE_PLACE_H

#include "decode_worker/contexts.h"

struct dc_place;

struct dc_place_options {
    const char *bulk_url;               /* where to listen */
    const struct dc_contexts *contexts; /* where what arrives goes */
    uint64_t epoch;
    int n_layers;
    void (*wake)(void *arg);
    void *wake_arg;
};

enum baton_err dc_place_create(const struct dc_place_options *options, struct dc_place **place,
                               struct baton_why *why) BATON_MUST_CHECK;
void dc_place_destroy(struct dc_place *place);

/* As listened on, with the real port. */
const char *dc_place_url(const struct dc_place *place);

/* Takes everything that has arrived. Contexts whose last block is in become DC_PREFILLED. */
void dc_place_work(struct dc_place *place, int64_t now_ns);

#endif
