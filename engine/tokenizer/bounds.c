/* A lower bound on the number of tokens of a text, by its length. It refuses hopeless texts
 * unread. */
#include "engine/tokenizer/build.h"

/* True when the model may join any number of unknown characters into one token. */
static bool may_fuse(const struct baton_tokenizer *tokenizer)
{
    const struct baton_bpe *bpe = &tokenizer->bpe;
    const uint32_t *ids = bpe->by_characters ? bpe->fallback_ids : bpe->byte_ids;
    if (tokenizer->model != BATON_TOKENIZER_BPE) /* an unknown word of WordPiece is one token */
        return true;
    if (!bpe->fuse_unk || bpe->unk_id == BATON_NO_TOKEN)
        return false;
    for (int i = 0; i < 256; i++)
        if (ids[i] == BATON_NO_TOKEN)
            return true;
    return false;
}

/* True when a text may lose bytes before it is split into words. */
static bool may_shrink(const struct baton_tokenizer_tables *tables)
{
    const struct baton_tokenizer_steps *steps = &tables->steps;
    for (int i = 0; i < steps->n_normalizer; i++) {
        const struct baton_normalizer_step *step = &steps->normalizer[i];
        bool grows = step->kind == BATON_NORMALIZER_REPLACE && !step->pattern.is_regex &&
                     step->content.n >= step->pattern.text.n;
        if (!grows && step->kind != BATON_NORMALIZER_PREPEND && step->kind != BATON_NORMALIZER_NFC)
            return true;
    }
    for (int i = 0; i < steps->n_pretokenizer; i++)
        if (steps->pretokenizer[i].behavior == BATON_SPLIT_REMOVED)
            return true;
    for (size_t i = 0; i < tables->n_added; i++)
        if (tables->added[i].lstrip || tables->added[i].rstrip)
            return true;
    return false;
}

/* NFC turns at most four bytes into one: a composition joins two characters, and its result is
 * never a single byte. */
enum { NFC_SHRINKS = 4 };

void baton_tokenizer_find_bounds(struct baton_tokenizer *tokenizer,
                                 const struct baton_tokenizer_tables *tables)
{
    size_t longest = 1;
    if (may_fuse(tokenizer))
        return;
    for (size_t id = 0; id < tables->n_tokens; id++)
        longest = tables->tokens[id].n_bytes > longest ? tables->tokens[id].n_bytes : longest;
    tokenizer->word_bytes_per_token = longest;
    if (may_shrink(tables))
        return;
    for (size_t i = 0; i < tables->n_added; i++)
        longest = tables->added[i].n_bytes > longest ? tables->added[i].n_bytes : longest;
    tokenizer->text_bytes_per_token = tables->steps.n_normalizer ? NFC_SHRINKS * longest : longest;
}
