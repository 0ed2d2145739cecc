#include "engine/grammar/masks/plain_vocab.h"

#include <stdlib.h>
#include <string.h>

#include "engine/grammar/language/plain.h"
#include "engine/grammar/masks/masks.h"

/* Counts the plain characters at the start of a text, at most BATON_PLAIN_MAX_CHARS, and their
 * bytes. */
static size_t count_plain(const char *text, size_t n, size_t *n_bytes)
{
    size_t n_chars = 0, length;
    *n_bytes = 0;
    while (n_chars < BATON_PLAIN_MAX_CHARS &&
           (length = baton_plain_length((const uint8_t *)text + *n_bytes, n - *n_bytes))) {
        *n_bytes += length;
        n_chars++;
    }
    return n_chars;
}

struct texts {
    const struct baton_token_trie *trie;
    char text[BATON_TRIE_MAX_DEPTH + 1];
};

/* Returns a token's count and tail; NULL for a token that is in the masks. */
static const char *tail_of(void *arg, uint32_t id, size_t *n)
{
    struct texts *texts = arg;
    size_t n_plain, n_text;
    const char *text = baton_token_trie_bytes(texts->trie, id, &n_text);
    if (!text)
        return NULL;
    size_t n_chars = count_plain(text, n_text, &n_plain);
    if (n_plain == n_text)
        return NULL;
    texts->text[0] = (char)n_chars;
    memcpy(texts->text + 1, text + n_plain, n_text - n_plain);
    *n = 1 + n_text - n_plain;
    return texts->text;
}

static void fill_masks(struct baton_plain_vocab *vocab, const struct baton_token_trie *trie)
{
    for (uint32_t id = 0; id < trie->n_vocab; id++) {
        size_t n, n_plain;
        const char *text = baton_token_trie_bytes(trie, id, &n);
        size_t n_chars = text ? count_plain(text, n, &n_plain) : 0;
        if (text && n_plain == n)
            vocab->masks[n_chars * vocab->n_words + id / 64] |= (uint64_t)1 << (id % 64);
    }
    /* Each mask includes the shorter tokens: where n characters fit, fewer do too. */
    for (size_t i = vocab->n_words; i < (BATON_PLAIN_MAX_CHARS + 1) * vocab->n_words; i++)
        vocab->masks[i] |= vocab->masks[i - vocab->n_words];
}

enum baton_err baton_plain_vocab_add(struct baton_token_trie *trie)
{
    struct texts texts = {.trie = trie};
    struct baton_plain_vocab *vocab = calloc(1, sizeof *vocab);
    if (!vocab)
        return BATON_NO_MEMORY;
    vocab->n_words = baton_mask_words(trie->n_vocab);
    vocab->masks = calloc((BATON_PLAIN_MAX_CHARS + 1) * vocab->n_words + 1, sizeof *vocab->masks);
    enum baton_err err =
        vocab->masks ? baton_token_trie_create(trie->n_vocab, tail_of, &texts, &vocab->tails)
                     : BATON_NO_MEMORY;
    if (err) {
        baton_plain_vocab_destroy(vocab);
        return err;
    }
    fill_masks(vocab, trie);
    trie->plain = vocab;
    return BATON_OK;
}

void baton_plain_vocab_destroy(struct baton_plain_vocab *vocab)
{
    if (!vocab)
        return;
    baton_token_trie_destroy(vocab->tails);
    free(vocab->masks);
    free(vocab);
}
