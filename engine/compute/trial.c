#include "engine/compute/trial.h"

#include "engine/compute/forward.h"
#include "engine/engine.h"
#include "engine/kv/state.h"
#include "engine/system/slab.h"

static int n_state_layers(const struct baton_spec *spec, int end)
{
    int n = 0;
    for (int i = 0; i < end; i++)
        n += baton_spec_has_state(spec, i);
    return n;
}

size_t baton_trial_row_floats(const struct baton_spec *spec)
{
    return (size_t)baton_state_n_channels(&spec->state) + 2 * (size_t)spec->state.n_heads;
}

size_t baton_trial_place(struct baton_forward *forward, char *memory)
{
    const struct baton_spec *spec = &forward->model->spec;
    const struct baton_state_spec *state = &spec->state;
    struct baton_trial *trial = &forward->trial;
    size_t n_taken = 0, n_threads = (size_t)baton_pool_n_threads(forward->pool),
           n_rows = (size_t)trial->max_rows, n_taps = (size_t)state->n_taps;
    if (!trial->max_rows)
        return 0;
    trial->chunks = baton_slab_take(memory, &n_taken, n_rows * sizeof *trial->chunks);
    trial->kept = baton_slab_take(memory, &n_taken,
                                  (size_t)n_state_layers(spec, spec->n_layers) * n_rows *
                                      baton_trial_row_floats(spec) * sizeof(float));
    trial->tails =
        baton_slab_take(memory, &n_taken,
                        n_threads * n_taps * (size_t)baton_state_n_channels(state) * sizeof(float));
    trial->columns = baton_slab_take(
        memory, &n_taken, n_threads * (size_t)state->n_keys * BATON_STATE_COLUMNS * sizeof(float));
    return n_taken;
}

float *baton_trial_row(const struct baton_forward *forward, int layer, int row)
{
    const struct baton_trial *trial = &forward->trial;
    size_t first = (size_t)n_state_layers(&forward->model->spec, layer) * (size_t)trial->max_rows;
    return trial->kept + (first + (size_t)row) * baton_trial_row_floats(&forward->model->spec);
}

bool baton_trial_add(struct baton_forward *forward, const struct baton_chunk *chunk)
{
    struct baton_trial *trial = &forward->trial;
    int first = forward->n_rows - chunk->n_tokens;
    if (!forward->model->spec.state.n_taps)
        return true;
    if (chunk->n_tokens > trial->max_rows - trial->n_rows || !baton_seq_may_try(chunk->seq))
        return false;
    trial->chunks[trial->n_chunks++] =
        (struct baton_trial_chunk){.seq = chunk->seq,
                                   .first_position = chunk->seq->n_tokens,
                                   .first_row = trial->n_rows,
                                   .n_rows = chunk->n_tokens};
    for (int i = 0; i < chunk->n_tokens; i++)
        forward->rows[first + i].trial = ++trial->n_rows;
    return true;
}

/* ---- the rows that were kept ---- */

static void replay(struct baton_forward *forward, struct baton_seq *seq, int first_row, int n)
{
    int n_layers;
    const int *layers = baton_kv_layers_with(seq->kv, true, &n_layers);
    for (int i = 0; i < n; i++)
        forward->rows[i] = (struct baton_row){.seq = seq, .position = seq->n_tokens + i};
    forward->n_rows = n;
    for (int i = 0; i < n_layers; i++)
        baton_forward_replay(forward, layers[i], first_row);
}

/* Ends at each border, as steps do. */
static void settle(struct baton_forward *forward, const struct baton_trial_chunk *chunk)
{
    struct baton_seq *seq = chunk->seq;
    int end = seq->n_tokens, row = chunk->first_row;
    seq->n_tokens = chunk->first_position;
    while (seq->n_tokens < end) {
        int n = baton_seq_cut(seq, end - seq->n_tokens);
        if (!baton_seq_carry_state(seq, n))
            break;
        replay(forward, seq, row, n);
        seq->n_tokens += n;
        row += n;
    }
    seq->n_tokens = end;
}

void baton_trial_settle(struct baton_forward *forward, const struct baton_trial *trial)
{
    for (int i = 0; i < trial->n_chunks; i++)
        settle(forward, &trial->chunks[i]);
}
