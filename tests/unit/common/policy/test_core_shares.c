#include "tests/support/test.h"

#include <stdio.h>
#include <string.h>

#include "common/policy/core_shares.h"

enum { MAX_WORKERS = 5, MAX_CORES = 9 };

struct setting {
    struct baton_core_worker workers[MAX_WORKERS];
    int n_workers, n_cores;
};

struct uses {
    int n_users[MAX_CORES];   /* of each core */
    int n_cores[MAX_WORKERS]; /* of each worker; 0: idle */
    int first[MAX_WORKERS];   /* of its cores */
    int n_busy, most, fewest;
};

static struct uses use(const struct setting *setting)
{
    struct uses uses = {.fewest = MAX_CORES};
    for (int i = 0; i < setting->n_workers; i++) {
        int cores[MAX_CORES];
        if (!setting->workers[i].busy)
            continue;
        int n = baton_core_share(setting->workers, setting->n_workers, i, setting->n_cores, cores);
        uses.n_busy++;
        uses.n_cores[i] = n;
        uses.first[i] = cores[0];
        uses.most = n > uses.most ? n : uses.most;
        uses.fewest = n < uses.fewest ? n : uses.fewest;
        for (int c = 0; c < n; c++) {
            assert_in_range(cores[c], 0, setting->n_cores - 1);
            uses.n_users[cores[c]]++;
        }
    }
    return uses;
}

/* Each worker's role and whether it is busy, from two bits of a number per worker. */
static struct setting setting_of(int n_workers, int n_cores, unsigned bits)
{
    struct setting setting = {.n_workers = n_workers, .n_cores = n_cores};
    for (int i = 0; i < n_workers; i++, bits >>= 2)
        setting.workers[i] = (struct baton_core_worker){
            .role = bits & 1 ? BATON_CORE_DECODE : BATON_CORE_PREFILL, .busy = bits >> 1 & 1};
    return setting;
}

static void for_every_setting(void (*check)(const struct setting *setting))
{
    for (int n_workers = 1; n_workers <= MAX_WORKERS; n_workers++)
        for (int n_cores = 1; n_cores <= MAX_CORES; n_cores++)
            for (unsigned bits = 0; bits < 1U << 2 * n_workers; bits++) {
                struct setting setting = setting_of(n_workers, n_cores, bits);
                check(&setting);
            }
}

static void check_each_core_has_one_user(const struct setting *setting)
{
    struct uses uses = use(setting);
    if (!uses.n_busy)
        return;
    assert_true(uses.fewest >= 1);
    for (int c = 0; c < setting->n_cores; c++)
        if (uses.n_busy <= setting->n_cores)
            assert_int_equal(uses.n_users[c], 1);
        else
            assert_true(uses.n_users[c] >= 1);
}

TEST(each_core_has_one_user_and_each_busy_worker_a_core)
{
    for_every_setting(check_each_core_has_one_user);
}

static void check_all_have_their_homes(const struct setting *setting)
{
    struct setting all_busy = *setting;
    for (int i = 0; i < setting->n_workers; i++)
        all_busy.workers[i].busy = true;
    struct uses uses = use(setting), homes = use(&all_busy);
    for (int i = 0; i < setting->n_workers && setting->n_cores >= setting->n_workers; i++)
        if (uses.n_cores[i]) {
            assert_true(uses.n_cores[i] >= homes.n_cores[i]);
            assert_int_equal(uses.first[i], homes.first[i]);
        }
}

TEST(a_busy_worker_has_all_of_its_home_and_begins_with_it)
{
    for_every_setting(check_all_have_their_homes);
}

static void check_a_lone_busy_worker_has_every_core(const struct setting *setting)
{
    for (int i = 0; i < setting->n_workers; i++) {
        struct setting alone = *setting;
        for (int k = 0; k < setting->n_workers; k++)
            alone.workers[k].busy = k == i;
        assert_int_equal(use(&alone).n_cores[i], setting->n_cores);
    }
}

TEST(one_busy_worker_has_every_core)
{
    for_every_setting(check_a_lone_busy_worker_has_every_core);
}

TEST(workers_of_one_role_differ_by_one_core_at_most)
{
    for (int n_workers = 1; n_workers <= MAX_WORKERS; n_workers++)
        for (int n_cores = n_workers; n_cores <= MAX_CORES; n_cores++) {
            struct setting setting = {.n_workers = n_workers, .n_cores = n_cores};
            for (int i = 0; i < n_workers; i++)
                setting.workers[i].busy = true;
            struct uses uses = use(&setting);
            assert_true(uses.most - uses.fewest <= 1);
        }
}

static void assert_uses(const struct setting *setting, int worker, const char *expected)
{
    char text[3 * MAX_CORES] = "";
    int cores[MAX_CORES];
    int n = baton_core_share(setting->workers, setting->n_workers, worker, setting->n_cores, cores);
    for (int i = 0; i < n; i++)
        (void)sprintf(text + strlen(text), "%s%d", i ? " " : "", cores[i]);
    assert_string_equal(text, expected);
}

TEST(two_cores_are_one_for_prompts_and_one_for_steps)
{
    struct setting setting = {.workers = {{BATON_CORE_DECODE, true}, {BATON_CORE_PREFILL, false}},
                              .n_workers = 2,
                              .n_cores = 2};
    assert_uses(&setting, 0, "1 0");
    setting.workers[1].busy = true;
    assert_uses(&setting, 0, "1");
    assert_uses(&setting, 1, "0");
    setting.workers[0].busy = false;
    assert_uses(&setting, 1, "0 1");
}

TEST(a_role_that_outnumbers_its_cores_leaves_the_other_role_its_own)
{
    struct setting setting = {.workers = {{BATON_CORE_PREFILL, true},
                                          {BATON_CORE_DECODE, true},
                                          {BATON_CORE_DECODE, true},
                                          {BATON_CORE_DECODE, true}},
                              .n_workers = 4,
                              .n_cores = 2};
    assert_uses(&setting, 0, "0");
    for (int i = 1; i < 4; i++)
        assert_uses(&setting, i, "1");
    setting.workers[0].busy = false; /* its core goes to the first that would share */
    assert_uses(&setting, 1, "1");
    assert_uses(&setting, 2, "0");
    assert_uses(&setting, 3, "1");
}

TEST(lent_cores_go_to_the_worker_with_the_fewest)
{
    struct setting setting = {.workers = {{BATON_CORE_PREFILL, true},
                                          {BATON_CORE_DECODE, true},
                                          {BATON_CORE_DECODE, false}},
                              .n_workers = 3,
                              .n_cores = 8};
    assert_uses(&setting, 0, "0 1 2 6");
    assert_uses(&setting, 1, "3 4 5 7");
}
