#include <string.h>

#include "engine/grammar/automaton/positions.h"

/* Returns the path of the way's rule, or of the first rule with a path that it returns to. */
static const char *path_of_way(const struct baton_automaton *a, struct baton_way way)
{
    const struct baton_network *net = a->network;
    const char *path = baton_network_path(net, net->states[way.state].rule);
    for (uint32_t list = way.returns; !path && list > OUTSIDE; list = a->returns[list].rest)
        path = baton_network_path(net, net->states[a->returns[list].state].rule);
    return path ? path : baton_network_path(net, 0);
}

static size_t n_without_last(const char *path, size_t n)
{
    while (n > 1 && path[--n] != '/')
        ;
    return n;
}

/* Returns the length of the path that both share, in whole parts. */
static size_t n_shared(const char *path, size_t n, const char *other)
{
    size_t i = 0;
    while (i < n && path[i] == other[i])
        i++;
    if (!other[i] && (i == n || path[i] == '/'))
        return n; /* the other is an outer part: the inner path is more precise */
    if (i == n && other[i] == '/')
        return n;
    return n_without_last(path, i);
}

/* Returns the label that is the first n bytes of a path, or fewer whole parts of it. */
static const char *label_of(const struct baton_network *net, const char *path, size_t n)
{
    /* The shared part may be no rule's path: go outwards to one that is. */
    for (; n > 1; n = n_without_last(path, n)) {
        for (uint32_t rule = 0; rule < net->n_labels; rule++)
            if (!strncmp(net->labels[rule], path, n) && !net->labels[rule][n])
                return net->labels[rule];
    }
    return baton_network_path(net, 0);
}

const char *baton_automaton_path(const struct baton_automaton *a, uint32_t at)
{
    const struct position *position = &a->positions[at];
    const char *path = baton_network_path(a->network, 0);
    for (uint32_t i = 0; path && i < position->n_ways; i++) {
        const char *other = path_of_way(a, a->ways[position->first_way + i]);
        path = strlen(other) > strlen(path) ? other : path;
    }
    size_t n = path ? strlen(path) : 0;
    for (uint32_t i = 0; path && i < position->n_ways; i++)
        n = n_shared(path, n, path_of_way(a, a->ways[position->first_way + i]));
    return path && path[n] ? label_of(a->network, path, n) : path;
}
