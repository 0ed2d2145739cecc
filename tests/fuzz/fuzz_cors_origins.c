/* A list of origins is either refused with a reason, or allows exactly those it spells, each of
 * which can stand in a header. */
#include "tests/fuzz/fuzz.h"

#include "gateway/api/access/cors.h"

static void check_origin(const struct gw_cors *cors, struct gw_view view)
{
    char origin[GW_CORS_MAX_ORIGIN_BYTES + 2] = "";
    check(view.n > 4 && view.n <= GW_CORS_MAX_ORIGIN_BYTES);
    memcpy(origin, view.p, view.n);
    check(gw_cors_allows(cors, origin));
    check(strspn(origin, "abcdefghijklmnopqrstuvwxyz0123456789+-._:/[]") == view.n);
    origin[view.n] = '/';
    check(!gw_cors_allows(cors, origin));
}

FUZZ(data, size)
{
    struct gw_cors cors;
    struct baton_why why = {""};
    char *list = fuzz_text(data, size);
    if (gw_cors_read(list, &cors, &why)) {
        check(*why.text != 0);
    } else {
        check(cors.n <= GW_CORS_MAX_ORIGINS && !(cors.any && (cors.n || cors.local)));
        check(!cors.local || gw_cors_allows(&cors, "http://localhost:3000"));
        check(!gw_cors_allows(&cors, ""));
        check(cors.any || !gw_cors_allows(&cors, "null"));
        for (size_t i = 0; i < cors.n; i++)
            check_origin(&cors, cors.origins[i]);
    }
    free(list);
}
