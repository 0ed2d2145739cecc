/* The ranges of messages about adapters. */
#include "common/params/adapters.h"
#include "common/wire/envelope/check_fields.h"

static void adapter_scale(struct checker *c, const char *field, double scale)
{
    if (!baton_adapter_is_scale(scale))
        FAIL(c, field, "%g is outside -%d..%d", scale, BATON_MAX_ADAPTER_SCALE,
             BATON_MAX_ADAPTER_SCALE);
}

void baton_check_adapter_name(struct checker *c, const char *field, const char *value)
{
    if (!value || !baton_adapter_is_name(value))
        FAIL(c, field, "it is not 1 to %d characters of [A-Za-z0-9._/-]", BATON_MAX_ADAPTER_NAME);
}

void baton_check_adapters(struct checker *c, Baton__V1__Adapter *const *list, size_t n)
{
    range(c, "adapters", n, 0, BATON_MAX_ADAPTERS);
    for (size_t i = 0; !c->err && i < n; i++) {
        baton_check_adapter_name(c, "adapters.name", list[i]->name);
        sha256(c, "adapters.digest", list[i]->digest);
        text(c, "adapters.path", list[i]->path, BATON_MAX_ADAPTER_PATH);
        adapter_scale(c, "adapters.scale", list[i]->scale);
    }
}

void baton_check_adapter_uses(struct checker *c, Baton__V1__AdapterUse *const *list, size_t n)
{
    range(c, "adapters", n, 0, BATON_MAX_BLENDED);
    for (size_t i = 0; !c->err && i < n; i++) {
        sha256(c, "adapters.digest", list[i]->digest);
        adapter_scale(c, "adapters.scale", list[i]->scale);
    }
}

void baton_check_load_adapter(struct checker *c, const Baton__V1__LoadAdapter *m)
{
    baton_check_adapter_name(c, "name", m->name);
    text(c, "path", m->path, BATON_MAX_ADAPTER_PATH);
    adapter_scale(c, "scale", m->scale);
}

void baton_check_adapter_list(struct checker *c, const Baton__V1__AdapterList *m)
{
    text(c, "error", m->error, BATON_MAX_TEXT_BYTES);
    baton_check_adapters(c, m->adapters, m->n_adapters);
}
