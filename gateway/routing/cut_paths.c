#include "gateway/routing/cut_paths.h"

#include "common/base/clock.h"
#include "common/base/log.h"

/* How long a pair is avoided after its first report, and at most. Only a client's request can find
 * out whether the path works again, so each try may cost that client a retry. */
#define FIRST_NS   (2 * BATON_SECOND)
#define LONGEST_NS (16 * BATON_SECOND)

static size_t find(const struct gw_cut_paths *cut, uint32_t prefill, uint32_t decode)
{
    size_t i = 0;
    while (i < cut->n && (cut->paths[i].prefill != prefill || cut->paths[i].decode != decode))
        i++;
    return i;
}

static void remove_at(struct gw_cut_paths *cut, size_t at)
{
    cut->n--;
    for (size_t i = at; i < cut->n; i++)
        cut->paths[i] = cut->paths[i + 1];
}

int64_t gw_cut_paths_note(struct gw_cut_paths *cut, uint32_t prefill, uint32_t decode,
                          int64_t now_ns)
{
    size_t i = find(cut, prefill, decode);
    if (i == cut->n) {
        if (cut->n == GW_MAX_CUT_PATHS)
            remove_at(cut, 0);
        i = cut->n++;
        cut->paths[i] =
            (struct gw_cut_path){.prefill = prefill, .decode = decode, .since_ns = now_ns};
        cut->n_cuts++;
    }
    struct gw_cut_path *path = &cut->paths[i];
    /* Transfers that were under way together all report one cut: only the first one counts. */
    if (now_ns < path->until_ns)
        return path->until_ns - now_ns;
    int64_t avoid_ns = path->n_reports < 3 ? FIRST_NS << path->n_reports : LONGEST_NS;
    path->n_reports++;
    path->until_ns = now_ns + avoid_ns;
    return avoid_ns;
}

bool gw_cut_paths_mend(struct gw_cut_paths *cut, uint32_t prefill, uint32_t decode)
{
    size_t i = find(cut, prefill, decode);
    if (i == cut->n)
        return false;
    remove_at(cut, i);
    return true;
}

void gw_cut_paths_forget(struct gw_cut_paths *cut, uint32_t tag)
{
    for (size_t i = cut->n; i-- > 0;)
        if (cut->paths[i].prefill == tag || cut->paths[i].decode == tag)
            remove_at(cut, i);
}

bool gw_cut_paths_has(const struct gw_cut_paths *cut, uint32_t prefill, uint32_t decode,
                      int64_t now_ns)
{
    size_t i = cut->n ? find(cut, prefill, decode) : 0;
    return i < cut->n && now_ns < cut->paths[i].until_ns;
}

/* ---- of workers ---- */

void gw_cut_paths_report(struct gw_cut_paths *cut, const struct gw_worker *from,
                         const struct gw_worker *to)
{
    /* A receiver that is silent to the gateway as well is dead or frozen: its path may be fine. */
    if (!from || !to || to->state == GW_WORKER_SUSPECT)
        return;
    int64_t now_ns = baton_now_ns();
    bool is_news = !gw_cut_paths_has(cut, from->tag, to->tag, now_ns);
    int64_t avoid_ns = gw_cut_paths_note(cut, from->tag, to->tag, now_ns);
    if (is_news)
        baton_log(BATON_LOG_WARN, "path_cut", BATON_S("from", from->id), BATON_S("to", to->id),
                  BATON_F("avoided_s", baton_seconds(avoid_ns)));
}

void gw_cut_paths_arrived(struct gw_cut_paths *cut, const struct gw_worker *from,
                          const struct gw_worker *to)
{
    if (from && to && gw_cut_paths_mend(cut, from->tag, to->tag))
        baton_log(BATON_LOG_INFO, "path_mended", BATON_S("from", from->id), BATON_S("to", to->id));
}

bool gw_cut_paths_reach(const struct gw_cut_paths *cut, const struct gw_worker *from,
                        const struct gw_worker *to)
{
    return !cut->n || !gw_cut_paths_has(cut, from->tag, to->tag, baton_now_ns());
}

bool gw_cut_paths_reach_any(const struct gw_cut_paths *cut, const struct gw_fleet *fleet,
                            const struct gw_worker *prefill)
{
    if (!cut->n)
        return true;
    for (struct gw_worker *worker = gw_worker_list_first(&fleet->workers); worker;
         worker = gw_worker_list_next(&fleet->workers, worker))
        if (worker->role == BATON__V1__ROLE__ROLE_DECODE && worker->state == GW_WORKER_READY &&
            gw_cut_paths_reach(cut, prefill, worker))
            return true;
    return false;
}
