#include "prefill_worker/pieces.h"

void pf_pieces_init(struct pf_pieces *pieces, int n_layers, int first_block, int n_blocks)
{
    *pieces = (struct pf_pieces){.n_layers = n_layers,
                                 .n_blocks = n_blocks,
                                 .begin = first_block,
                                 .end = first_block,
                                 .block = first_block};
}

/* As many blocks as possible: whole ones if there are any, else those being computed. */
static void begin_part(struct pf_pieces *pieces, struct pf_progress progress)
{
    int n_complete = pf_progress_complete(progress, pieces->n_layers);
    pieces->end = pieces->begin < n_complete ? n_complete : progress.n_end;
    if (pieces->end < pieces->begin)
        pieces->end = pieces->begin; /* what is computed now is not wanted */
}

/* Layers of the part under way that are ready. */
static int ready_layers(const struct pf_pieces *pieces, struct pf_progress progress)
{
    return pieces->end <= progress.n_done ? pieces->n_layers : progress.n_layers;
}

bool pf_pieces_next(struct pf_pieces *pieces, struct pf_progress progress, struct pf_piece *piece)
{
    if (!pieces->layer && pieces->block == pieces->begin)
        begin_part(pieces, progress);
    if (pieces->begin == pieces->end || pieces->layer >= ready_layers(pieces, progress))
        return false;
    *piece = (struct pf_piece){
        .layer = pieces->layer, .block = pieces->block, .n_blocks = pieces->end - pieces->block};
    return true;
}

void pf_pieces_sent(struct pf_pieces *pieces, int n_blocks)
{
    pieces->block += n_blocks;
    if (pieces->block < pieces->end)
        return;
    pieces->layer++;
    if (pieces->layer == pieces->n_layers) {
        pieces->layer = 0;
        pieces->begin = pieces->end;
    }
    pieces->block = pieces->begin;
}

bool pf_pieces_are_over(const struct pf_pieces *pieces)
{
    return pieces->begin == pieces->n_blocks;
}
