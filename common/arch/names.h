/* Short words for lists of tensor names (tensor_names.h), for the architectures' files only:
 *
 *     static const struct baton_tensor_row rows[] = {
 *         {TENSOR("wte.weight", TOKEN_EMBEDDING)},
 *         {TENSOR("self_attn.q_proj.weight", QKV), PART(Q)},
 *     };
 *     .lists = {LIST(rows)},
 *
 * Pure.
 */
#ifndef BATON_ARCH_NAMES_H
#define BATON_ARCH_NAMES_H

#include "common/arch/tensor_names.h"

#define TENSOR(text, of) .name = (text), .slot = BATON_SLOT_##of
#define PART(of)         .part = BATON_PART_##of
#define LIST(rows)                                                                                 \
    {                                                                                              \
        rows, sizeof(rows) / sizeof(rows)[0]                                                       \
    }

#endif
