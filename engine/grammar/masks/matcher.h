/* A grammar over a model's vocabulary, and the position of a sequence in it.
 *
 *     grammar   network, automaton and masks; many sequences share one
 *     matcher   one sequence's position, and the last few before it
 *
 * A grammar may be compiled after its matchers are created, by another thread. Until then matchers
 * only collect tokens, which are replayed when it is ready.
 *
 * Ownership: a grammar is reference-counted: its maker and every matcher hold it. It borrows the
 *            trie.
 * Threading: a grammar may be used from any thread, a matcher by one at a time.
 * Errors:    create, make: those of baton_grammar_read, NO_MEMORY; the error is also the grammar's
 *            state.
 */
#ifndef BATON_ENGINE_GRAMMAR_MASKS_MATCHER_H
#define BATON_ENGINE_GRAMMAR_MASKS_MATCHER_H

#include "engine/grammar/grammar.h"
#include "engine/grammar/masks/masks.h"

enum { BATON_MATCHER_MAX_DROPS = 32 };

struct baton_grammar;
struct baton_matcher;

enum baton_err baton_grammar_create(const struct baton_grammar_text *text,
                                    const struct baton_token_trie *trie,
                                    struct baton_grammar **grammar,
                                    struct baton_why *why) BATON_MUST_CHECK;
/* Create a grammar in two steps: begin one, then make it or give it up. begin returns NULL without
 * memory. */
struct baton_grammar *baton_grammar_begin(void);
enum baton_err baton_grammar_make(struct baton_grammar *grammar,
                                  const struct baton_grammar_text *text,
                                  const struct baton_token_trie *trie,
                                  struct baton_why *why) BATON_MUST_CHECK;
void baton_grammar_give_up(struct baton_grammar *grammar, enum baton_err err);

/* Returns AGAIN while the grammar is not made, OK when it is ready, otherwise the error that
 * prevents it. */
enum baton_err baton_grammar_state(const struct baton_grammar *grammar);

/* Add or drop a reference. release accepts NULL. */
struct baton_grammar *baton_grammar_hold(struct baton_grammar *grammar);
void baton_grammar_release(struct baton_grammar *grammar);

/* Creates a matcher at the start of the text, which holds the grammar. NULL without memory. */
struct baton_matcher *baton_matcher_create(struct baton_grammar *grammar);
/* Accepts NULL. */
void baton_matcher_destroy(struct baton_matcher *matcher);

/* Returns the grammar's state, or NO_MEMORY when the matcher lost a token. */
enum baton_err baton_matcher_state(const struct baton_matcher *matcher);

/* Adds a token to the text. After a token that is not allowed nothing may follow. */
void baton_matcher_accept(struct baton_matcher *matcher, uint32_t token);
/* Removes the last token; at most BATON_MATCHER_MAX_DROPS in a row. */
void baton_matcher_drop(struct baton_matcher *matcher);

/* Guesses the next tokens as far as the grammar forces the text: the longest tokens of it, at most
 * n_max. Returns the number of tokens. */
int baton_matcher_forced(struct baton_matcher *matcher, uint32_t *tokens, int n_max);

/* Returns a token's bytes of a matcher that is ready, which begin with BATON_SPECIAL_MARK for a
 * special token. *n is 0 for a token without text. */
const char *baton_matcher_text(const struct baton_matcher *matcher, uint32_t token, size_t *n);

/* Returns the path in the schema of the part that excludes a token: a text of the grammar. NULL:
 * the grammar is not a schema. */
const char *baton_matcher_removed_at(struct baton_matcher *matcher, uint32_t token);

/* Writes a bit per token id, [baton_mask_words(n_vocab)]: those that may come next. Of stops [n],
 * all may where the text may end or where nothing else can come, and none elsewhere. */
void baton_matcher_mask(struct baton_matcher *matcher, const uint32_t *stops, size_t n,
                        size_t n_vocab, uint64_t *mask);

#endif
