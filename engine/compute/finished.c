#include "engine/compute/finished.h"

#include <string.h>

#include "engine/compute/decoder.h"

/* The number of a chunk's last rows that run to the end. */
int baton_n_finished(const struct baton_chunk *chunk)
{
    return chunk->n_logits > chunk->n_pooled ? chunk->n_logits : chunk->n_pooled;
}

/* The first of them, in a chunk that ends before row `end`. */
static int first_finished(const struct baton_chunk *chunk, int end)
{
    return end - (chunk->pools_first ? chunk->n_tokens : baton_n_finished(chunk));
}

/* Drops all rows but those that want logits or are pooled, which move to the front. Each moves to
 * its own index or a lower one, so none overwrites a row that has not moved yet. */
void baton_keep_finished_rows(struct baton_forward *forward, const struct baton_chunk *chunks,
                              int n_chunks)
{
    int n_kept = 0;
    for (int i = 0, end = 0; i < n_chunks; i++) {
        end += chunks[i].n_tokens;
        for (int row = first_finished(&chunks[i], end), n = baton_n_finished(&chunks[i]); n > 0;
             row++, n--)
            baton_forward_move_row(forward, row, n_kept++);
    }
    forward->n_rows = n_kept;
}

/* Adds row after row in one order and in double precision, so that a sum's bits do not depend on
 * the chunks that its rows came in. */
static void add_pooled(int n_embd, const float *row, int n, double *pooled)
{
    for (int r = 0; r < n; r++, row += n_embd)
        for (int i = 0; i < n_embd; i++)
            pooled[i] += row[i];
}

/* Pools finished rows, and keeps those that want logits. */
void baton_pool_rows(struct baton_forward *forward, const struct baton_chunk *chunks, int n_chunks)
{
    int n_kept = 0, n_embd = forward->model->spec.n_embd;
    const float *hidden = baton_decoder_hidden(forward);
    for (int i = 0, end = 0; i < n_chunks; i++) {
        end += baton_n_finished(&chunks[i]);
        if (chunks[i].n_pooled)
            add_pooled(n_embd, hidden + (size_t)(end - chunks[i].n_pooled) * (size_t)n_embd,
                       chunks[i].n_pooled, chunks[i].pooled);
        for (int row = end - chunks[i].n_logits; row < end; row++)
            baton_forward_move_row(forward, row, n_kept++);
    }
    forward->n_rows = n_kept;
}

bool baton_any_pooled(const struct baton_chunk *chunks, int n_chunks)
{
    for (int i = 0; i < n_chunks; i++)
        if (chunks[i].n_pooled)
            return true;
    return false;
}

void baton_give_hidden(const struct baton_forward *forward, const struct baton_chunk *chunks,
                       int n_chunks, const float *hidden)
{
    size_t n_embd = (size_t)forward->model->spec.n_embd;
    for (int i = 0; i < n_chunks; i++) {
        size_t n = (size_t)chunks[i].n_logits * n_embd;
        if (chunks[i].hidden)
            memcpy(chunks[i].hidden, hidden, n * sizeof *hidden);
        hidden += n;
    }
}
