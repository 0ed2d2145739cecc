#include "engine/arch/draft_head.h"

void baton_spec_make_draft_head(const struct baton_spec *spec, struct baton_spec *head)
{
    int layer = 0;
    while (layer < spec->n_layers - 1 && spec->layers[layer].mixer != BATON_MIXER_ATTENTION)
        layer++;
    *head = *spec;
    head->layers[0] = spec->layers[layer];
    head->layers[0].kv_from = 0;
    head->n_layers = 1;
    head->state = (struct baton_state_spec){0};
    head->has_tied_head = false;
    head->position_offset = BATON_DRAFT_HEAD_OFFSET;
}
