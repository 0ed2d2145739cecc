#include "engine/grammar/masks/forced.h"

size_t baton_forced_bytes(struct baton_automaton *automaton, uint32_t position, char *bytes,
                          size_t cap)
{
    uint8_t byte;
    size_t n = 0;
    while (n < cap && baton_automaton_only_byte(automaton, position, &byte)) {
        bytes[n++] = (char)byte;
        position = baton_automaton_step(automaton, position, byte);
    }
    return n;
}

/* Returns the child of the node for the byte; 0 when there is none. */
static uint32_t child_of(const struct baton_token_trie *trie, uint32_t node, uint8_t byte)
{
    for (uint32_t i = node + 1; i < trie->nodes[node].end; i = trie->nodes[i].end)
        if (trie->nodes[i].byte == byte)
            return i;
    return 0;
}

int baton_forced_tokens(const struct baton_token_trie *trie, const char *bytes, size_t n,
                        uint32_t *tokens, int n_max)
{
    int n_tokens = 0;
    for (size_t at = 0; at < n && n_tokens < n_max;) {
        uint32_t node = 0;
        size_t end = at;
        /* A node has a token of its own where its first child's tokens begin later. */
        for (size_t i = at; i < n && (node = child_of(trie, node, (uint8_t)bytes[i])); i++)
            if (trie->nodes[node].first < trie->nodes[node + 1].first) {
                tokens[n_tokens] = trie->tokens[trie->nodes[node].first];
                end = i + 1;
            }
        if (end == at)
            break;
        n_tokens++;
        at = end;
    }
    return n_tokens;
}
