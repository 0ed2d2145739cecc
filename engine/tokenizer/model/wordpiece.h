/* WordPiece (Devlin et al., "BERT", 2018): a word is the longest token that begins it, then the
 * longest that continues it, and so on; private to engine/tokenizer.
 *
 * The vocabulary is that of GGUF files: a token that begins a word has U+2581 before its text. A
 * word that does not consist of tokens, or is longer than 100 characters, is the unknown token.
 *
 * Ownership: the struct is embedded; texts are borrowed.
 * Threading: immutable once sealed.
 * Errors:    add, encode: NO_MEMORY. encode: INVALID (no unknown token); ids of the failed word are
 *            not appended.
 */
#ifndef BATON_ENGINE_TOKENIZER_MODEL_WORDPIECE_H
#define BATON_ENGINE_TOKENIZER_MODEL_WORDPIECE_H

#include "engine/tokenizer/text_set.h"
#include "engine/tokenizer/tokenizer.h"

struct baton_wordpiece {
    struct baton_text_set begins, continues; /* each text -> its id */
    uint32_t unk_id;                         /* BATON_NO_TOKEN: there is none */
};

/* Adds a token of the vocabulary; one without characters is left out. */
enum baton_err baton_wordpiece_add(struct baton_wordpiece *wordpiece, const char *text, size_t n,
                                   uint32_t id) BATON_MUST_CHECK;
/* Call once, after the last add. */
void baton_wordpiece_seal(struct baton_wordpiece *wordpiece);
/* Frees everything but the texts. */
void baton_wordpiece_fini(struct baton_wordpiece *wordpiece);

/* Appends the ids of the n >= 1 bytes at word. */
enum baton_err baton_wordpiece_encode(const struct baton_wordpiece *wordpiece, const char *word,
                                      size_t n, struct baton_tokens *out,
                                      struct baton_why *why) BATON_MUST_CHECK;

#endif
