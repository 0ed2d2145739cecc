/* Fill in the middle: prompts that ask a code model for the text between a prefix and a suffix.
 *
 *     [BOS] [REPO]myproject\n [FILE]name\n text ... [FILE]filename\n
 *     [PREFIX] prefix [SUFFIX] suffix [MIDDLE]        most families
 *     [SUFFIX] suffix [PREFIX] prefix ([MIDDLE])      families that begin with the suffix
 *
 * The files of the repository stand first, as in llama.cpp's /infill, so that prompts which differ
 * only at the cursor share the KV blocks of the files.
 *
 * Ownership: a baton_fim is plain data; ids go to the caller's growable array.
 * Threading: a baton_fim is immutable once found; encode as baton_tokenizer_encode.
 * Errors:    LIMIT (more than max_tokens), INVALID (not UTF-8), NO_MEMORY.
 */
#ifndef BATON_ENGINE_TOKENIZER_FIM_H
#define BATON_ENGINE_TOKENIZER_FIM_H

#include "engine/checkpoint/config/model_config.h"
#include "engine/tokenizer/tokenizer.h"

enum { BATON_FIM_MAX_ENDS = 12 };

struct baton_fim {
    uint32_t ids[BATON_N_FIM_TOKENS]; /* BATON_NO_TOKEN: the model has none */
    /* [n_ends] the tokens that end a middle besides the model's own, the most common first */
    uint32_t ends[BATON_FIM_MAX_ENDS];
    int n_ends;
    bool suffix_first; /* the suffix stands before the prefix */
    bool no_middle;    /* the prompt ends with the prefix */
    bool bare_suffix;  /* the suffix has no space that SentencePiece puts before a text */
};

/* Finds the model's tokens: by named [BATON_N_FIM_TOKENS], which a file's keys say (-1: no key),
 * and by the texts that the known families have. Ids from n_vocab on are none of the model's. */
void baton_fim_find(const struct baton_tokenizer_tables *tables, const int64_t *named,
                    int64_t n_vocab, struct baton_fim *fim);

/* Writes which tokens are missing, in llama.cpp's words; returns false when none is. */
bool baton_fim_lacks(const struct baton_fim *fim, struct baton_why *why);

struct baton_fim_text {
    const char *bytes;
    size_t n;
};

/* A file that the model sees before the cursor's file. */
struct baton_fim_file {
    struct baton_fim_text name, text;
};

struct baton_fim_parts {
    struct baton_fim_text prefix, suffix;
    const struct baton_fim_file *files; /* [n_files] the least important first */
    size_t n_files;
    bool has_repo; /* the prompt names a repository and the cursor's file */
};

/* The sizes of a prompt in tokens. With batch 0 nothing is shortened. */
struct baton_fim_limits {
    size_t max_tokens; /* of the prompt */
    size_t batch;      /* of prefix (the last 3/4) and suffix (the first 1/4) with their tokens */
    size_t files;      /* of the files; the first ones are left out */
};

/* Appends the prompt's ids and sets *was_cut when a part was shortened. Texts are plain text, also
 * where they spell one of the tokens. */
enum baton_err baton_fim_encode(struct baton_tokenizer *tokenizer, const struct baton_fim *fim,
                                const struct baton_fim_parts *parts,
                                const struct baton_fim_limits *limits, struct baton_tokens *out,
                                bool *was_cut, struct baton_why *why) BATON_MUST_CHECK;

#endif
