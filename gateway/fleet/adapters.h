/* The LoRA adapters that workers have (docs/design/adapters.md). A name stands for the adapter of
 * the first worker that has one of this name; workers with other files under it are not chosen.
 *
 * Ownership: a worker owns its list; adapters are borrowed until the worker's list changes.
 * Threading: loop thread.
 * Errors:    without memory a worker counts as having none.
 */
#ifndef BATON_GATEWAY_FLEET_ADAPTERS_H
#define BATON_GATEWAY_FLEET_ADAPTERS_H

#include "common/params/adapters.h"
#include "common/wire/envelope/envelope.h"

struct gw_fleet;

struct gw_adapter {
    char name[BATON_MAX_ADAPTER_NAME + 1], path[BATON_MAX_ADAPTER_PATH + 1];
    char digest[BATON_SHA256_HEX];
    float scale; /* of requests that name no other */
    uint32_t rank;
};

/* Zeroed it is empty. */
struct gw_adapters {
    struct gw_adapter *list; /* [n] */
    size_t n;
};

/* Takes over a worker's message. */
void gw_adapters_set(struct gw_adapters *adapters, Baton__V1__Adapter *const *list, size_t n);
void gw_adapters_fini(struct gw_adapters *adapters);

/* Whether all adapters of a request are there. */
bool gw_adapters_have(const struct gw_adapters *adapters, const struct baton_adapter_uses *uses);
const struct gw_adapter *gw_adapters_find(const struct gw_adapters *adapters, const char *name);

/* The adapter that requests mean by a name; NULL: no worker that serves has one. */
const struct gw_adapter *gw_fleet_adapter(const struct gw_fleet *fleet, const char *name);

/* The adapter of a digest; NULL: no worker that serves has it. */
const struct gw_adapter *gw_fleet_adapter_of(const struct gw_fleet *fleet, const char *digest);

/* The adapters of all workers that serve, by name; returns their number. */
enum { GW_MAX_FLEET_ADAPTERS = 2 * BATON_MAX_ADAPTERS };
size_t gw_fleet_adapters(const struct gw_fleet *fleet,
                         const struct gw_adapter *list[GW_MAX_FLEET_ADAPTERS]);

#endif
