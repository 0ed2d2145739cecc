#include "gateway/fleet/adapters.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gateway/fleet/fleet.h"

void gw_adapters_set(struct gw_adapters *adapters, Baton__V1__Adapter *const *list, size_t n)
{
    gw_adapters_fini(adapters);
    adapters->list = n ? calloc(n, sizeof *adapters->list) : NULL;
    for (size_t i = 0; adapters->list && i < n; i++) {
        struct gw_adapter *adapter = &adapters->list[adapters->n++];
        (void)snprintf(adapter->name, sizeof adapter->name, "%s", list[i]->name);
        (void)snprintf(adapter->path, sizeof adapter->path, "%s", list[i]->path);
        (void)snprintf(adapter->digest, sizeof adapter->digest, "%s", list[i]->digest);
        adapter->scale = list[i]->scale;
        adapter->rank = list[i]->rank;
    }
}

void gw_adapters_fini(struct gw_adapters *adapters)
{
    free(adapters->list);
    *adapters = (struct gw_adapters){0};
}

static const struct gw_adapter *find_digest(const struct gw_adapters *adapters, const char *digest)
{
    for (size_t i = 0; i < adapters->n; i++)
        if (!strcmp(adapters->list[i].digest, digest))
            return &adapters->list[i];
    return NULL;
}

bool gw_adapters_have(const struct gw_adapters *adapters, const struct baton_adapter_uses *uses)
{
    for (int i = 0; i < uses->n; i++)
        if (!find_digest(adapters, uses->list[i].digest))
            return false;
    return true;
}

const struct gw_adapter *gw_adapters_find(const struct gw_adapters *adapters, const char *name)
{
    for (size_t i = 0; i < adapters->n; i++)
        if (!strcmp(adapters->list[i].name, name))
            return &adapters->list[i];
    return NULL;
}

static bool serves(const struct gw_worker *worker)
{
    return worker->state == GW_WORKER_READY || worker->state == GW_WORKER_SUSPECT;
}

const struct gw_adapter *gw_fleet_adapter(const struct gw_fleet *fleet, const char *name)
{
    const struct gw_adapter *found = NULL;
    for (struct gw_worker *worker = gw_worker_list_first(&fleet->workers); worker && !found;
         worker = gw_worker_list_next(&fleet->workers, worker))
        if (serves(worker))
            found = gw_adapters_find(&worker->adapters, name);
    return found;
}

const struct gw_adapter *gw_fleet_adapter_of(const struct gw_fleet *fleet, const char *digest)
{
    const struct gw_adapter *found = NULL;
    for (struct gw_worker *worker = gw_worker_list_first(&fleet->workers); worker && !found;
         worker = gw_worker_list_next(&fleet->workers, worker))
        if (serves(worker))
            found = find_digest(&worker->adapters, digest);
    return found;
}

/* Inserts the adapter in the order of names, unless one of its name is there. */
static size_t insert(const struct gw_adapter *list[], size_t n, const struct gw_adapter *adapter)
{
    size_t at = 0;
    while (at < n && strcmp(list[at]->name, adapter->name) < 0)
        at++;
    if (n == GW_MAX_FLEET_ADAPTERS || (at < n && !strcmp(list[at]->name, adapter->name)))
        return n;
    memmove(&list[at + 1], &list[at], (n - at) * sizeof(struct gw_adapter *));
    list[at] = adapter;
    return n + 1;
}

size_t gw_fleet_adapters(const struct gw_fleet *fleet,
                         const struct gw_adapter *list[GW_MAX_FLEET_ADAPTERS])
{
    size_t n = 0;
    for (struct gw_worker *worker = gw_worker_list_first(&fleet->workers); worker;
         worker = gw_worker_list_next(&fleet->workers, worker))
        for (size_t i = 0; serves(worker) && i < worker->adapters.n; i++)
            n = insert(list, n, &worker->adapters.list[i]);
    return n;
}
