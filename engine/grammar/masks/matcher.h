/* A grammar over a model's vocabulary, and where a sequence stands in it.
 *
 *     grammar   network, automaton and masks; many sequences share one
 *     matcher   one sequence's position, and the last few before it
 *
 * A grammar may be made after its matchers, by another thread. Until then these take notes, which
 * are made up for when it is ready, and nothing else.
 *
 * Ownership: a grammar is counted: who makes it and every matcher hold it. It borrows the tree of
 *            tokens.
 * Threading: a grammar may be used from any thread, a matcher by one at a time.
 * Errors:    create, make: those of baton_grammar_read, NO_MEMORY; also the grammar's state then.
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
/* The same in two steps: one that is still to be made, or given up. begin: NULL without memory. */
struct baton_grammar *baton_grammar_begin(void);
enum baton_err baton_grammar_make(struct baton_grammar *grammar,
                                  const struct baton_grammar_text *text,
                                  const struct baton_token_trie *trie,
                                  struct baton_why *why) BATON_MUST_CHECK;
void baton_grammar_give_up(struct baton_grammar *grammar, enum baton_err err);

/* AGAIN: it is not made yet. OK: ready. Else: why it never will be. */
enum baton_err baton_grammar_state(const struct baton_grammar *grammar);

/* Takes a hold more, and gives one back; NULL is fine for release. */
struct baton_grammar *baton_grammar_hold(struct baton_grammar *grammar);
void baton_grammar_release(struct baton_grammar *grammar);

/* At the start of the text. NULL: no memory. Holds the grammar. */
struct baton_matcher *baton_matcher_create(struct baton_grammar *grammar);
/* NULL is fine. */
void baton_matcher_destroy(struct baton_matcher *matcher);

/* That of its grammar, or NO_MEMORY for its notes. */
enum baton_err baton_matcher_state(const struct baton_matcher *matcher);

/* The token became part of the text. One that is not allowed leads nowhere: nothing may follow. */
void baton_matcher_note(struct baton_matcher *matcher, uint32_t token);
/* The last token noted is no part of it after all; at most BATON_MATCHER_MAX_DROPS in a row. */
void baton_matcher_drop(struct baton_matcher *matcher);

/* Guesses what comes next as far as the grammar leaves one text alone: the longest tokens of it, at
 * most n_max. Returns how many. */
int baton_matcher_forced(struct baton_matcher *matcher, uint32_t *tokens, int n_max);

/* The path in the schema of the part that a token is removed by: a text of the grammar's. NULL: the
 * grammar is no schema. */
const char *baton_matcher_removed_at(struct baton_matcher *matcher, uint32_t token);

/* Writes a bit per token id, [baton_mask_words(n_vocab)]: those that may come next. Of stops [n],
 * all may where the text may end or where nothing else can come, and none elsewhere. */
void baton_matcher_mask(struct baton_matcher *matcher, const uint32_t *stops, size_t n,
                        size_t n_vocab, uint64_t *mask);

#endif
