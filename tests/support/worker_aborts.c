#include "tests/support/worker_aborts.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/sampling/philox.h"
#include "tests/support/worker_rig.h"

enum { CHECK_EVERY = 500 };

static bool is_live[MAX_LIVE];
static uint64_t n_drawn;
static int n_aborts;

int draw(int n)
{
    return (int)(baton_philox_uniform(5, n_drawn++) * n);
}

static void end(const struct aborts *aborts, int place)
{
    aborts->end(place);
    is_live[place] = false;
    n_aborts++;
}

static void end_all(const struct aborts *aborts)
{
    for (int i = 0; i < aborts->n_live; i++)
        if (is_live[i])
            end(aborts, i);
}

static void act(const struct aborts *aborts)
{
    int place = draw(aborts->n_live);
    if (!is_live[place]) {
        aborts->begin(place);
        is_live[place] = true;
    } else if (draw(1000))
        end(aborts, place);
    else {
        lose_gateway();
        end_all(aborts);
    }
    if (draw(3))
        work_now();
}

void run_aborts(const struct aborts *aborts, const int *n_done)
{
    if (!n_done)
        n_done = &n_aborts;
    for (int checked = 0; *n_done < N_ABORTS;) {
        act(aborts);
        if (n_aborts - checked >= CHECK_EVERY) {
            checked = n_aborts;
            check_account();
        }
    }
    end_all(aborts);
}
