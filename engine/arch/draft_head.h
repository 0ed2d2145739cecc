/* The head with which a model drafts its own tokens (DeepSeek-AI, "DeepSeek-V3", 2024, 2.2), as a
 * model of one layer. A row has the final hidden state h of the position before its token:
 *
 *     x = in [norm of the token's embedding; norm of h];  a layer with attention;  norm;  head
 *
 * It has no embedding and no head (V rows) of its own: they are the model's.
 *
 * Pure.
 */
#ifndef BATON_ENGINE_ARCH_DRAFT_HEAD_H
#define BATON_ENGINE_ARCH_DRAFT_HEAD_H

#include "engine/arch/spec.h"

/* A spec says it by the place of the states that its rows read: one position before. */
enum { BATON_DRAFT_HEAD_OFFSET = -1 };

static inline bool baton_spec_is_draft_head(const struct baton_spec *spec)
{
    return spec->position_offset == BATON_DRAFT_HEAD_OFFSET;
}

/* The spec of the head of a model of this spec, which has a layer with attention. */
void baton_spec_make_draft_head(const struct baton_spec *spec, struct baton_spec *head);

#endif
