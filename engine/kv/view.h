/* Another process's KV pool of the same layout, mapped to be read: contexts are copied out of it
 * without a way through a socket.
 *
 * The pool's owner may give a block to another sequence at any time: it waits for no reader, and a
 * reader that stood still for however long cannot be waited for. So a block is copied as one reads
 * under a seqlock (Boehm, "Can seqlocks get along with programming language memory models?", 2012):
 * the copy first, then the block's stamp, which is newer than as_of where the copy may be of what
 * the next sequence wrote.
 *
 * Nothing in the mapping is believed: numbers are checked against its size, which the file's seals
 * fix, and bytes are only copied.
 *
 * Ownership: the view owns the mapping; the memory lives for as long as it is mapped anywhere.
 * Threading: one thread.
 * Errors:    open: INVALID when the file is not a sealed pool of that size; NO_MEMORY.
 */
#ifndef BATON_ENGINE_KV_VIEW_H
#define BATON_ENGINE_KV_VIEW_H

#include "engine/kv/kv.h"

struct baton_kv_view;

/* Maps the pool of n_blocks in fd, which is borrowed for the call. own: a pool of the same layout,
 * borrowed until close. */
enum baton_err baton_kv_view_open(const struct baton_kv *own, int fd, int n_blocks,
                                  struct baton_kv_view **view,
                                  struct baton_why *why) BATON_MUST_CHECK;
/* NULL is harmless. */
void baton_kv_view_close(struct baton_kv_view *view);

int baton_kv_view_n_blocks(const struct baton_kv_view *view);

/* Copies a block of a layer that holds K and V. False when the block was allocated anew after the
 * pool's clock had shown as_of: what was copied is then of no use. */
bool baton_kv_view_copy(const struct baton_kv_view *view, int layer, int block, uint64_t as_of,
                        void *to) BATON_MUST_CHECK;

#endif
