/* Guesses the tokens of text that a grammar forces. The model still chooses how forced bytes are
 * split into tokens, and mostly takes the longest.
 *
 * Ownership: none.
 * Threading: as the automaton's.
 * Errors:    none: without memory nothing is forced.
 */
#ifndef BATON_ENGINE_GRAMMAR_MASKS_FORCED_H
#define BATON_ENGINE_GRAMMAR_MASKS_FORCED_H

#include "engine/grammar/automaton/automaton.h"
#include "engine/grammar/masks/token_trie.h"

enum { BATON_FORCED_MAX_BYTES = 128 };

/* Writes the forced bytes, each the only one that may follow, up to cap. Returns how many. */
size_t baton_forced_bytes(struct baton_automaton *automaton, uint32_t position, char *bytes,
                          size_t cap);

/* Splits bytes [n] into the longest tokens, one after another, at most n_max. The rest that begins
 * no token is left out. Returns the number of tokens. */
int baton_forced_tokens(const struct baton_token_trie *trie, const char *bytes, size_t n,
                        uint32_t *tokens, int n_max);

#endif
