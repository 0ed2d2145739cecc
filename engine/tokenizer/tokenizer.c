#include "engine/tokenizer/tokenizer.h"

#include <stdlib.h>
#include <string.h>

#include "engine/checkpoint/tokenizer_tables.h"
#include "engine/tokenizer/build.h"
#include "engine/tokenizer/internal.h"

enum baton_err baton_tokenizer_create(const struct baton_tokenizer_tables *tables,
                                      struct baton_tokenizer **tokenizer, struct baton_why *why)
{
    struct baton_why reason = {""};
    struct baton_tokenizer *made = calloc(1, sizeof *made);
    if (!made)
        return baton_fail(why, BATON_NO_MEMORY, "%s: out of memory", tables->file);
    baton_vocab_init(&made->vocab);
    enum baton_err err = baton_tokenizer_build(made, tables, &reason);
    if (err) {
        baton_tokenizer_close(made);
        return baton_fail(why, err, "%s: %s", tables->file,
                          reason.text[0] ? reason.text : "out of memory");
    }
    *tokenizer = made;
    return BATON_OK;
}

/* Gives a copy of another tokenizer, which has none yet, the parts that encoding changes. */
static enum baton_err make_own_parts(struct baton_tokenizer *tokenizer,
                                     const struct baton_tokenizer_tables *tables,
                                     struct baton_why *why)
{
    const uint8_t *whole = tokenizer->whole;
    size_t n = tokenizer->vocab.n_tokens;
    tokenizer->normalizer = NULL;
    tokenizer->pretokenizer = NULL;
    baton_bpe_forget_scratch(&tokenizer->bpe);
    baton_unigram_forget_scratch(&tokenizer->unigram);
    tokenizer->whole = whole ? malloc(n + 1) : NULL;
    if (whole && !tokenizer->whole)
        return baton_fail(why, BATON_NO_MEMORY, "%s: out of memory", tables->file);
    if (whole)
        memcpy(tokenizer->whole, whole, n);
    enum baton_err err = baton_normalizer_create(&tables->steps, &tokenizer->normalizer, why);
    return err ? err
               : baton_pretokenizer_create(&tables->steps, true, &tokenizer->pretokenizer, why);
}

enum baton_err baton_tokenizer_create_second(const struct baton_tokenizer *original,
                                             const struct baton_tokenizer_tables *tables,
                                             struct baton_tokenizer **tokenizer,
                                             struct baton_why *why)
{
    struct baton_tokenizer *made = malloc(sizeof *made);
    if (!made)
        return baton_fail(why, BATON_NO_MEMORY, "%s: out of memory", tables->file);
    *made = *original;
    made->is_second = true;
    enum baton_err err = make_own_parts(made, tables, why);
    if (err)
        baton_tokenizer_close(made);
    else
        *tokenizer = made;
    return err;
}

enum baton_err baton_tokenizer_open(const char *model_path, struct baton_tokenizer **tokenizer,
                                    struct baton_why *why)
{
    struct baton_tokenizer_tables *tables = NULL;
    enum baton_err err = baton_tokenizer_tables_read(model_path, &tables, why);
    if (!err)
        err = baton_tokenizer_create(tables, tokenizer, why);
    baton_tokenizer_tables_free(tables);
    return err;
}

/* Frees the tables of the original. */
static void free_vocabulary(struct baton_tokenizer *tokenizer)
{
    for (int i = 0; i < BATON_N_ADDED; i++)
        baton_added_fini(&tokenizer->added[i]);
    baton_text_set_fini(&tokenizer->specials);
    baton_token_index_fini(&tokenizer->words);
    baton_bpe_fini(&tokenizer->bpe);
    baton_unigram_fini(&tokenizer->unigram);
    baton_wordpiece_fini(&tokenizer->wordpiece);
    baton_vocab_fini(&tokenizer->vocab);
    baton_arena_destroy(tokenizer->texts);
}

void baton_tokenizer_close(struct baton_tokenizer *tokenizer)
{
    if (!tokenizer)
        return;
    baton_normalizer_destroy(tokenizer->normalizer);
    baton_pretokenizer_destroy(tokenizer->pretokenizer);
    baton_bpe_drop_scratch(&tokenizer->bpe);
    baton_unigram_drop_scratch(&tokenizer->unigram);
    free(tokenizer->whole);
    if (!tokenizer->is_second)
        free_vocabulary(tokenizer);
    free(tokenizer);
}

size_t baton_tokenizer_n_vocab(const struct baton_tokenizer *tokenizer)
{
    return tokenizer->vocab.n_tokens;
}

const char *baton_tokenizer_bytes(const struct baton_tokenizer *tokenizer, uint32_t id, size_t *n)
{
    return baton_vocab_bytes(&tokenizer->vocab, id, n);
}

bool baton_tokenizer_is_special(const struct baton_tokenizer *tokenizer, uint32_t id)
{
    return id < tokenizer->vocab.n_tokens && tokenizer->vocab.tokens[id].special;
}

bool baton_tokenizer_special_id(const struct baton_tokenizer *tokenizer, const char *text, size_t n,
                                uint32_t *id)
{
    const struct baton_text_set *specials = &tokenizer->specials;
    struct baton_text_range range;
    bool found = n && baton_text_set_begin(specials, text[0], &range);
    for (size_t i = 1; found && i < n; i++)
        found = baton_text_set_narrow(specials, text[i], &range);
    const struct baton_text_entry *token = found ? baton_text_set_complete(specials, &range) : NULL;
    if (token)
        *id = token->value;
    return token != NULL;
}

struct baton_pair_ends baton_tokenizer_pair_ends(const struct baton_tokenizer *tokenizer)
{
    return (struct baton_pair_ends){.first = tokenizer->first_ids,
                                    .between = tokenizer->between_ids,
                                    .last = tokenizer->last_ids,
                                    .n_first = tokenizer->n_first,
                                    .n_between = tokenizer->n_between,
                                    .n_last = tokenizer->n_last};
}

bool baton_tokenizer_exceeds(const struct baton_tokenizer *tokenizer, size_t n, size_t max_tokens)
{
    size_t most = tokenizer->text_bytes_per_token;
    return most && n / most > max_tokens;
}
