#include "engine/grammar/masks/token_trie.h"

#include <stdlib.h>
#include <string.h>

#include "engine/grammar/masks/plain_vocab.h"

static enum baton_err copy_bytes(struct baton_token_trie *trie, baton_token_text_fn text, void *arg)
{
    size_t n, total = 0, at = 0;
    for (size_t id = 0; id < trie->n_vocab; id++)
        if (text(arg, (uint32_t)id, &n) && n <= BATON_TRIE_MAX_DEPTH)
            total += n;
    if (total >= UINT32_MAX)
        return BATON_LIMIT;
    trie->bytes = malloc(total + 1);
    trie->offsets = calloc(trie->n_vocab + 1, sizeof *trie->offsets);
    trie->tokens = calloc(trie->n_vocab + 1, sizeof *trie->tokens);
    /* At most one node for each byte, the root, and the entry that ends the tokens. */
    trie->nodes = calloc(total + 2, sizeof *trie->nodes);
    if (!trie->bytes || !trie->offsets || !trie->tokens || !trie->nodes)
        return BATON_NO_MEMORY;
    for (size_t id = 0; id < trie->n_vocab; id++) {
        const char *bytes = text(arg, (uint32_t)id, &n);
        trie->offsets[id] = (uint32_t)at;
        if (!bytes || !n || n > BATON_TRIE_MAX_DEPTH)
            continue;
        memcpy(trie->bytes + at, bytes, n);
        at += n;
        trie->tokens[trie->n_tokens++] = (uint32_t)id;
    }
    trie->offsets[trie->n_vocab] = (uint32_t)at;
    return BATON_OK;
}

static int compare(const void *a, const void *b, void *arg)
{
    const struct baton_token_trie *trie = arg;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    size_t n_x, n_y;
    const char *text_x = baton_token_trie_bytes(trie, x, &n_x);
    const char *text_y = baton_token_trie_bytes(trie, y, &n_y);
    int order = memcmp(text_x, text_y, n_x < n_y ? n_x : n_y);
    if (!order)
        order = (n_x > n_y) - (n_x < n_y);
    return order ? order : (x > y) - (x < y);
}

static size_t common_start(const char *a, size_t n_a, const char *b, size_t n_b)
{
    size_t n = 0;
    while (n < n_a && n < n_b && a[n] == b[n])
        n++;
    return n;
}

/* Adds the nodes of sorted tokens: each token adds nodes for the bytes it does not share with the
 * one before. */
static void add_nodes(struct baton_token_trie *trie)
{
    uint32_t path[BATON_TRIE_MAX_DEPTH + 1] = {0};
    size_t n_before = 0, n;
    const char *before = "";
    trie->n_nodes = 1;
    for (size_t i = 0; i < trie->n_tokens; i++) {
        const char *bytes = baton_token_trie_bytes(trie, trie->tokens[i], &n);
        size_t n_same = common_start(before, n_before, bytes, n);
        /* The nodes that this token leaves have got all their descendants. */
        for (size_t depth = n_before; depth > n_same; depth--)
            trie->nodes[path[depth]].end = (uint32_t)trie->n_nodes;
        for (size_t depth = n_same; depth < n; depth++) {
            path[depth + 1] = (uint32_t)trie->n_nodes;
            trie->nodes[trie->n_nodes++] = (struct baton_trie_node){.first = (uint32_t)i,
                                                                    .depth = (uint16_t)(depth + 1),
                                                                    .byte = (uint8_t)bytes[depth]};
        }
        before = bytes;
        n_before = n;
    }
    for (size_t depth = n_before + 1; depth-- > 0;)
        trie->nodes[path[depth]].end = (uint32_t)trie->n_nodes;
    trie->nodes[trie->n_nodes].first = (uint32_t)trie->n_tokens;
}

enum baton_err baton_token_trie_create(size_t n_vocab, baton_token_text_fn text, void *arg,
                                       struct baton_token_trie **out)
{
    struct baton_token_trie *trie = calloc(1, sizeof *trie);
    if (!trie)
        return BATON_NO_MEMORY;
    trie->n_vocab = n_vocab;
    enum baton_err err = copy_bytes(trie, text, arg);
    if (err) {
        baton_token_trie_destroy(trie);
        return err;
    }
    qsort_r(trie->tokens, trie->n_tokens, sizeof *trie->tokens, compare, trie);
    add_nodes(trie);
    struct baton_trie_node *nodes = realloc(trie->nodes, (trie->n_nodes + 1) * sizeof *trie->nodes);
    trie->nodes = nodes ? nodes : trie->nodes;
    *out = trie;
    return BATON_OK;
}

void baton_token_trie_destroy(struct baton_token_trie *trie)
{
    if (!trie)
        return;
    baton_plain_vocab_destroy(trie->plain);
    free(trie->nodes);
    free(trie->tokens);
    free(trie->bytes);
    free(trie->offsets);
    free(trie);
}
