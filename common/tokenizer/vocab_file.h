/* A vocabulary and its merges as Hugging Face writes them; private to common/tokenizer.
 *
 *     vocab:  {"h": 71, "\u0120the": 262, ...}       token in the byte-level alphabet -> id
 *     merges: ["h e", ...] or [["h","e"], ...]       in order of rank; or merges.txt, a line each
 *
 * Ownership: nothing is kept of the JSON.
 * Threading: any thread.
 * Errors:    INVALID with the file and the token or merge, NO_MEMORY.
 */
#ifndef BATON_TOKENIZER_VOCAB_FILE_H
#define BATON_TOKENIZER_VOCAB_FILE_H

#include "common/base/json.h"
#include "common/tokenizer/tokenizer_parts.h"

/* Where the data comes from, where it goes, and where the reason for a failure goes. */
struct baton_vocab_source {
    const char *file; /* for messages */
    struct baton_tokenizer *tokenizer;
    struct baton_why *why;
};

/* Fills the tokenizer's vocab, and its bpe from an array of merges. */
enum baton_err baton_vocab_read(const struct baton_vocab_source *source,
                                const struct baton_json *vocab,
                                const struct baton_json *merges) BATON_MUST_CHECK;

/* The same, with merges.txt's content. */
enum baton_err baton_vocab_read_text(const struct baton_vocab_source *source,
                                     const struct baton_json *vocab, const char *merges,
                                     size_t n) BATON_MUST_CHECK;

#endif
