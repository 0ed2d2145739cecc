/* In which pieces a context leaves: part by part as the prompt is computed, and of each part layer
 * by layer. Of every layer each block from the first wanted one on is given exactly once.
 *
 *     blocks ->  0 .. first_block | part | part | part
 *     layer 0        not sent     |  1   |  4   |  7      the order when all layers of a part
 *     layer 1                     |  2   |  5   |  8      follow each other; a part is what was
 *     layer 2                     |  3   |  6   |  9      ready, or began, when it was begun with
 *
 * Ownership: plain data.
 * Threading: one owner.
 * Errors:    none.
 */
#ifndef BATON_PREFILL_PIECES_H
#define BATON_PREFILL_PIECES_H

#include <stdbool.h>

#include "prefill_worker/progress.h"

struct pf_pieces {
    int n_layers, n_blocks;
    int begin, end;   /* the part under way: blocks; begin == end: none */
    int layer, block; /* next of it */
};

/* Blocks of one layer that lie side by side. */
struct pf_piece {
    int layer, block, n_blocks;
};

/* The blocks first_block..n_blocks - 1 of n_layers layers. */
void pf_pieces_init(struct pf_pieces *pieces, int n_layers, int first_block, int n_blocks);

/* What can go next, as far as the progress reaches; false when nothing can. */
bool pf_pieces_next(struct pf_pieces *pieces, struct pf_progress progress, struct pf_piece *piece);

/* The first n_blocks of the piece that next gave are gone. */
void pf_pieces_sent(struct pf_pieces *pieces, int n_blocks);

/* Everything is gone. */
bool pf_pieces_are_over(const struct pf_pieces *pieces);

#endif
