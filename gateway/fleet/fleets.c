#include "gateway/fleet/fleets.h"

#include <stdio.h>
#include <string.h>

enum match { NO_MATCH, SAME_FILES, SAME_NAME, SAME_WEIGHTS };

/* A gateway without a model's weights takes the fleet's first worker at its word, and prefers the
 * model of the same name: files of several models may differ in the weights only. */
static enum match match(const struct gw_fleet *fleet, const Baton__V1__Hello *hello)
{
    const struct gw_identity *identity = &fleet->options.identity;
    const struct baton_fingerprint *ours = identity->fingerprint;
    const char *weights = *ours->weights ? ours->weights : fleet->terms.weights;
    if (strcmp(ours->config, hello->fingerprint->config) != 0 ||
        strcmp(ours->tokenizer, hello->fingerprint->tokenizer) != 0)
        return NO_MATCH;
    if (*weights)
        return strcmp(weights, hello->fingerprint->weights) ? NO_MATCH : SAME_WEIGHTS;
    return strcmp(identity->facts->name, hello->model) ? SAME_FILES : SAME_NAME;
}

static struct gw_fleet *fleet_for(const struct gw_fleets *fleets, const Baton__V1__Hello *hello)
{
    struct gw_fleet *found = fleets->list[0];
    enum match best = NO_MATCH;
    for (size_t i = 0; i < fleets->n; i++) {
        enum match own = match(fleets->list[i], hello);
        if (own > best)
            found = fleets->list[i];
        best = own > best ? own : best;
    }
    return found;
}

struct gw_fleet *gw_fleets_of(const struct gw_fleets *fleets, const baton_envelope *envelope)
{
    for (size_t i = 0; i < fleets->n && fleets->n > 1; i++)
        if (gw_worker_table_first(&fleets->list[i]->by_link, envelope->link))
            return fleets->list[i];
    return envelope->body_case == BATON__V1__ENVELOPE__BODY_HELLO
               ? fleet_for(fleets, envelope->hello)
               : fleets->list[0];
}

struct gw_worker *gw_fleets_find(const struct gw_fleets *fleets, const char *id,
                                 struct gw_fleet **fleet)
{
    for (size_t i = 0; i < fleets->n; i++)
        for (struct gw_worker *worker = gw_worker_list_first(&fleets->list[i]->workers); worker;
             worker = gw_worker_list_next(&fleets->list[i]->workers, worker))
            if (!strcmp(worker->id, id)) {
                *fleet = fleets->list[i];
                return worker;
            }
    return NULL;
}

bool gw_fleets_are_clear(const struct gw_fleets *fleets, const struct gw_fleet *fleet,
                         const Baton__V1__Hello *hello, struct gw_refusal *refusal)
{
    for (size_t i = 0; i < fleets->n && match(fleet, hello) == SAME_FILES; i++)
        if (fleets->list[i] != fleet && match(fleets->list[i], hello) != NO_MATCH)
            return gw_handshake_refuse(
                refusal, BATON__V1__REFUSED__CODE__OTHER_MODEL,
                "\"%.64s\" may be \"%.64s\" or \"%.64s\", whose weights the gateway lacks: its "
                "files need the name of one of them",
                hello->model, fleet->options.identity.facts->name,
                fleets->list[i]->options.identity.facts->name);
    return true;
}

void gw_fleets_explain(const struct gw_fleets *fleets, const Baton__V1__Hello *hello,
                       struct gw_refusal *refusal)
{
    size_t n = 0, size = sizeof refusal->reason;
    if (refusal->code != BATON__V1__REFUSED__CODE__OTHER_MODEL)
        return;
    (void)gw_handshake_refuse(refusal, refusal->code,
                              "the worker has \"%.64s\"; served here:", hello->model);
    for (size_t i = 0; i < fleets->n && (n = strlen(refusal->reason)) < size - 1; i++)
        (void)snprintf(refusal->reason + n, size - n, "%s \"%s\"", i ? "," : "",
                       fleets->list[i]->options.identity.facts->name);
}
