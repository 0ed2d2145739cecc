/* The tokens that may follow a position of a grammar: a bit per token id.
 *
 * A token is allowed when some text that begins with it continues from the position. A position has
 * several ways and allows what any of them allows. A way's tokens depend mostly on its state alone:
 * these are the tokens that do not leave the state's rule. They are found once for each state, by a
 * walk over the whole vocabulary, with the nodes at which the rule is left. From there the walk is
 * repeated for each list of returns, which is short. (Dong et al., "XGrammar: Flexible and
 * Efficient Structured Generation Engine for Large Language Models", 2024, split the vocabulary in
 * the same way.)
 *
 * Both kinds are cached, those of states up to BATON_LOCAL_BYTES, those of positions up to
 * BATON_MAX_MASKS.
 *
 * Ownership: owns its caches; borrows the automaton and the trie.
 * Threading: one owner at a time.
 * Errors:    create: NO_MEMORY. A later mask that cannot be cached is computed each time.
 */
#ifndef BATON_ENGINE_GRAMMAR_MASKS_MASKS_H
#define BATON_ENGINE_GRAMMAR_MASKS_MASKS_H

#include "engine/grammar/automaton/automaton.h"
#include "engine/grammar/masks/token_trie.h"

enum { BATON_LOCAL_BYTES = 4 << 20, BATON_MAX_MASKS = 64 };

struct baton_masks;

/* Returns the number of 64-bit words of a mask over n_vocab ids. */
static inline size_t baton_mask_words(size_t n_vocab)
{
    return (n_vocab + 63) / 64;
}

struct baton_masks *baton_masks_create(struct baton_automaton *automaton,
                                       const struct baton_token_trie *trie);
void baton_masks_destroy(struct baton_masks *masks);

/* Writes the mask [baton_mask_words] of the tokens that may follow the position. Steps the
 * automaton. */
void baton_masks_get(struct baton_masks *masks, uint32_t position, uint64_t *mask);

/* Drops the masks of positions, after these have new numbers. */
void baton_masks_forget_positions(struct baton_masks *masks);

#endif
