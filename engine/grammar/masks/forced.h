/* Tokens that a grammar leaves no choice about, as a guess: the model still chooses how the bytes
 * that must come are cut into tokens, and mostly takes the longest.
 *
 * Ownership: none.
 * Threading: as the automaton's.
 * Errors:    none: what is not found is not forced.
 */
#ifndef BATON_ENGINE_GRAMMAR_MASKS_FORCED_H
#define BATON_ENGINE_GRAMMAR_MASKS_FORCED_H

#include "engine/grammar/automaton/automaton.h"
#include "engine/grammar/masks/token_trie.h"

enum { BATON_FORCED_MAX_BYTES = 128 };

/* The bytes of which each is the only one that may come, up to cap. */
size_t baton_forced_bytes(struct baton_automaton *automaton, uint32_t position, char *bytes,
                          size_t cap);

/* Cuts bytes [n] into the longest tokens, one after the other, at most n_max. What no token begins
 * is left. Returns how many. */
int baton_forced_tokens(const struct baton_token_trie *trie, const char *bytes, size_t n,
                        uint32_t *tokens, int n_max);

#endif
