#include "engine/tokenizer/model/bpe.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/hash.h"
#include "common/base/utf8.h"
#include "engine/tokenizer/model/vocab.h"
#include "engine/tokenizer/tokens.h"

/* Larger scratch is freed after use, so one hostile word does not keep memory. */
enum { KEEP_SCRATCH_BYTES = 16384, FIRST_SCRATCH_BYTES = 256 };

struct baton_bpe_pair {
    uint32_t left, right, rank, merged; /* left BATON_NO_TOKEN: a free slot */
};

/* A word starts with one symbol per byte or character; a merge keeps the left symbol and removes
 * the right one. */
struct baton_bpe_symbol {
    uint32_t id; /* merged into its left neighbour */
    int32_t prev, next;
};

/* A queued pair. It carries its two ids, which show when it is popped whether the symbols still
 * have them, so a merge need not remove stale candidates from the heap. */
struct baton_bpe_candidate {
    uint32_t rank, left, right, merged;
    int32_t at; /* of the left symbol */
};

enum baton_err baton_bpe_init(struct baton_bpe *bpe, size_t n_pairs)
{
    *bpe = (struct baton_bpe){.n_slots = 16};
    /* At most half full, so that a search for an absent pair ends soon. */
    while (bpe->n_slots / 2 < n_pairs)
        bpe->n_slots *= 2;
    bpe->pairs = calloc(bpe->n_slots, sizeof *bpe->pairs);
    if (!bpe->pairs)
        return BATON_NO_MEMORY;
    for (size_t i = 0; i < bpe->n_slots; i++)
        bpe->pairs[i].left = BATON_NO_TOKEN;
    memset(bpe->byte_ids, 0xff, sizeof bpe->byte_ids);
    memset(bpe->fallback_ids, 0xff, sizeof bpe->fallback_ids);
    bpe->unk_id = BATON_NO_TOKEN;
    return BATON_OK;
}

void baton_bpe_forget_scratch(struct baton_bpe *bpe)
{
    bpe->symbols = NULL;
    bpe->heap = NULL;
    bpe->scratch_bytes = 0;
}

void baton_bpe_drop_scratch(struct baton_bpe *bpe)
{
    free(bpe->symbols);
    free(bpe->heap);
    baton_bpe_forget_scratch(bpe);
}

void baton_bpe_fini(struct baton_bpe *bpe)
{
    baton_bpe_drop_scratch(bpe);
    baton_token_index_fini(&bpe->characters);
    free(bpe->pairs);
    *bpe = (struct baton_bpe){0};
}

/* Returns the pair's slot, or the free slot for it. */
static struct baton_bpe_pair *find_pair(const struct baton_bpe *bpe, uint32_t left, uint32_t right)
{
    size_t mask = bpe->n_slots - 1, i = (size_t)baton_hash_pair(left, right) & mask;
    for (;; i = (i + 1) & mask) {
        struct baton_bpe_pair *pair = &bpe->pairs[i];
        if ((pair->left == left && pair->right == right) || pair->left == BATON_NO_TOKEN)
            return pair;
    }
}

void baton_bpe_add(struct baton_bpe *bpe, uint32_t left, uint32_t right, uint32_t rank,
                   uint32_t merged)
{
    *find_pair(bpe, left, right) =
        (struct baton_bpe_pair){.left = left, .right = right, .rank = rank, .merged = merged};
}

/* Orders by the lowest rank, then leftmost. The reference merges in that order, and ids depend on
 * it. */
static int before(const struct baton_bpe_candidate *a, const struct baton_bpe_candidate *b)
{
    return a->rank < b->rank || (a->rank == b->rank && a->at < b->at);
}

static void heap_push(struct baton_bpe_candidate *heap, size_t *n, struct baton_bpe_candidate item)
{
    size_t i = (*n)++;
    for (; i && before(&item, &heap[(i - 1) / 2]); i = (i - 1) / 2)
        heap[i] = heap[(i - 1) / 2];
    heap[i] = item;
}

static struct baton_bpe_candidate heap_pop(struct baton_bpe_candidate *heap, size_t *n)
{
    struct baton_bpe_candidate top = heap[0], item = heap[--*n];
    size_t i = 0;
    for (size_t child; (child = 2 * i + 1) < *n; i = child) {
        if (child + 1 < *n && before(&heap[child + 1], &heap[child]))
            child++;
        if (!before(&heap[child], &item))
            break;
        heap[i] = heap[child];
    }
    heap[i] = item;
    return top;
}

/* Queues the pair whose left symbol is at, if it has a rank. */
static void consider(struct baton_bpe *bpe, int32_t at, size_t *n_heap)
{
    if (at < 0 || bpe->symbols[at].next < 0)
        return;
    uint32_t left = bpe->symbols[at].id, right = bpe->symbols[bpe->symbols[at].next].id;
    const struct baton_bpe_pair *pair = find_pair(bpe, left, right);
    if (pair->left != BATON_NO_TOKEN)
        heap_push(bpe->heap, n_heap,
                  (struct baton_bpe_candidate){.rank = pair->rank,
                                               .left = left,
                                               .right = right,
                                               .merged = pair->merged,
                                               .at = at});
}

static void merge_all(struct baton_bpe *bpe, int32_t n)
{
    struct baton_bpe_symbol *symbols = bpe->symbols;
    size_t n_heap = 0;
    for (int32_t i = 0; i + 1 < n; i++)
        consider(bpe, i, &n_heap);
    while (n_heap) {
        struct baton_bpe_candidate top = heap_pop(bpe->heap, &n_heap);
        struct baton_bpe_symbol *left = &symbols[top.at];
        /* One of the two has merged with another neighbour since this pair was queued. */
        if (left->id != top.left || left->next < 0 || symbols[left->next].id != top.right)
            continue;
        struct baton_bpe_symbol *right = &symbols[left->next];
        left->id = top.merged;
        left->next = right->next;
        right->id = BATON_NO_TOKEN;
        if (left->next >= 0)
            symbols[left->next].prev = top.at;
        /* The merged symbol has two new neighbours. */
        consider(bpe, left->prev, &n_heap);
        consider(bpe, top.at, &n_heap);
    }
}

/* Scratch for a word of n bytes. The heap starts with at most n - 1 candidates and each of at most
 * n - 1 merges pops one and pushes at most two, so it never holds 2n. */
static enum baton_err reserve_scratch(struct baton_bpe *bpe, size_t n)
{
    if (n <= bpe->scratch_bytes)
        return BATON_OK;
    if (n < FIRST_SCRATCH_BYTES)
        n = FIRST_SCRATCH_BYTES;
    baton_bpe_drop_scratch(bpe);
    bpe->symbols = calloc(n, sizeof *bpe->symbols);
    bpe->heap = calloc(n, 2 * sizeof *bpe->heap);
    if (!bpe->symbols || !bpe->heap) {
        baton_bpe_drop_scratch(bpe);
        return BATON_NO_MEMORY;
    }
    bpe->scratch_bytes = n;
    return BATON_OK;
}

/* The state while a word's symbols are made. */
struct filling {
    struct baton_bpe *bpe;
    int32_t n;
    bool has_unknown; /* the last characters are unknown and not yet a symbol */
};

static void put_symbol(struct filling *filling, uint32_t id)
{
    int32_t i = filling->n++;
    filling->bpe->symbols[i] = (struct baton_bpe_symbol){.id = id, .prev = i - 1, .next = i + 1};
}

static void put_unknown(struct filling *filling)
{
    if (filling->has_unknown)
        put_symbol(filling, filling->bpe->unk_id);
    filling->has_unknown = false;
}

/* Adds the tokens of a character's bytes, if every byte has one. */
static bool put_fallback(struct filling *filling, const char *character, size_t n)
{
    const uint32_t *ids = filling->bpe->fallback_ids;
    for (size_t i = 0; i < n; i++)
        if (ids[(uint8_t)character[i]] == BATON_NO_TOKEN)
            return false;
    for (size_t i = 0; i < n; i++)
        put_symbol(filling, ids[(uint8_t)character[i]]);
    return true;
}

static enum baton_err refuse(const struct filling *filling, const char *unit, struct baton_why *why)
{
    if (filling->bpe->by_characters)
        return baton_fail(why, BATON_INVALID, "the vocabulary has no token for U+%04X",
                          (unsigned)baton_utf8_at(unit, NULL));
    return baton_fail(why, BATON_INVALID, "the vocabulary has no token for byte 0x%02x",
                      (unsigned)(uint8_t)unit[0]);
}

/* Adds a byte or a character. The order of unknowns and bytes is the reference's. */
static enum baton_err put_unit(struct filling *filling, const char *unit, size_t n,
                               struct baton_why *why)
{
    const struct baton_bpe *bpe = filling->bpe;
    uint32_t id =
        n == 1 ? bpe->byte_ids[(uint8_t)unit[0]] : baton_token_index_get(&bpe->characters, unit, n);
    if (id != BATON_NO_TOKEN) {
        put_unknown(filling);
        put_symbol(filling, id);
        return BATON_OK;
    }
    /* The unknown characters before stay pending, so their token follows these bytes, as in the
     * reference. */
    if (put_fallback(filling, unit, n))
        return BATON_OK;
    if (bpe->unk_id == BATON_NO_TOKEN)
        return refuse(filling, unit, why);
    if (!bpe->fuse_unk)
        put_unknown(filling);
    filling->has_unknown = true;
    return BATON_OK;
}

/* Makes the symbols of a word. *n_symbols is at least 1 and at most n. */
static enum baton_err set_symbols(struct baton_bpe *bpe, const char *word, size_t n,
                                  int32_t *n_symbols, struct baton_why *why)
{
    struct filling filling = {.bpe = bpe};
    for (size_t i = 0, length = 1; i < n; i += length) {
        if (bpe->by_characters)
            (void)baton_utf8_at(word + i, &length);
        enum baton_err err = put_unit(&filling, word + i, length, why);
        if (err)
            return err;
    }
    put_unknown(&filling);
    bpe->symbols[filling.n - 1].next = -1;
    *n_symbols = filling.n;
    return BATON_OK;
}

enum baton_err baton_bpe_encode(struct baton_bpe *bpe, const char *word, size_t n,
                                struct baton_tokens *out, struct baton_why *why)
{
    if (n > INT32_MAX)
        return baton_fail(why, BATON_LIMIT, "a word of %zu bytes is too long", n);
    if (reserve_scratch(bpe, n) || baton_tokens_reserve(out, n))
        return baton_fail(why, BATON_NO_MEMORY, "out of memory for a word of %zu bytes", n);
    int32_t n_symbols;
    enum baton_err err = set_symbols(bpe, word, n, &n_symbols, why);
    if (!err) {
        merge_all(bpe, n_symbols);
        for (int32_t i = 0; i >= 0; i = bpe->symbols[i].next)
            out->ids[out->n++] = bpe->symbols[i].id;
    }
    if (bpe->scratch_bytes > KEEP_SCRATCH_BYTES)
        baton_bpe_drop_scratch(bpe);
    return err;
}
