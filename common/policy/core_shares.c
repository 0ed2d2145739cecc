#include "common/policy/core_shares.h"

struct range {
    int begin, end;
};

enum { NO_OWNER = -1 };

static int count_role(const struct baton_core_worker *workers, int n, enum baton_core_role role)
{
    int n_same = 0;
    for (int i = 0; i < n; i++)
        n_same += workers[i].role == role;
    return n_same;
}

/* Returns the role's cores: prompts have the first cores, steps the last. */
static struct range role_cores(const struct baton_core_worker *workers, int n_workers,
                               enum baton_core_role role, int n_cores)
{
    int n_prefill = count_role(workers, n_workers, BATON_CORE_PREFILL);
    if (n_cores == 1 || !n_prefill || n_prefill == n_workers)
        return (struct range){0, n_cores};
    /* rounded to the nearest */
    int border = (2 * n_cores * n_prefill + n_workers) / (2 * n_workers);
    border = border < 1 ? 1 : border >= n_cores ? n_cores - 1 : border;
    return role == BATON_CORE_PREFILL ? (struct range){0, border} : (struct range){border, n_cores};
}

static struct range home_of(const struct baton_core_worker *workers, int n_workers, int worker,
                            int n_cores)
{
    enum baton_core_role role = workers[worker].role;
    struct range all = role_cores(workers, n_workers, role, n_cores);
    int n = all.end - all.begin, n_peers = count_role(workers, n_workers, role),
        rank = count_role(workers, worker, role);
    struct range home = {all.begin + rank * n / n_peers, all.begin + (rank + 1) * n / n_peers};
    /* Workers that outnumber the cores share one, so none is without a home. */
    if (home.end == home.begin)
        home.end++;
    return home;
}

/* Returns the worker with the fewest cores; the first of equals. */
static int neediest(const struct baton_core_worker *workers, int n_workers, int me,
                    const int *n_owned)
{
    int found = me;
    for (int i = n_workers - 1; i >= 0; i--)
        if ((workers[i].busy || i == me) && n_owned[i] <= n_owned[found])
            found = i;
    return found;
}

int baton_core_share(const struct baton_core_worker *workers, int n_workers, int me, int n_cores,
                     int *cores)
{
    int owner[BATON_CORES_MAX], n_owned[BATON_CORE_WORKERS_MAX] = {0}, n = 0;
    struct range home = home_of(workers, n_workers, me, n_cores);
    for (int c = 0; c < n_cores; c++)
        owner[c] = NO_OWNER;
    /* Homes of busy workers go first; only then idle cores are distributed. */
    for (int i = 0; i < n_workers; i++) {
        struct range theirs = home_of(workers, n_workers, i, n_cores);
        for (int c = theirs.begin; c < theirs.end && (workers[i].busy || i == me); c++)
            if (owner[c] == NO_OWNER) {
                owner[c] = i;
                n_owned[i]++;
            }
    }
    for (int c = 0; c < n_cores; c++)
        if (owner[c] == NO_OWNER)
            n_owned[owner[c] = neediest(workers, n_workers, me, n_owned)]++;
    for (int i = 0; i < n_cores; i++) {
        int c = (home.begin + i) % n_cores;
        if (owner[c] == me)
            cores[n++] = c;
    }
    if (!n)
        cores[n++] = home.begin;
    return n;
}
