#include "tests/support/test.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/states.h"

enum { ASLEEP, AWAKE, GONE };

static const unsigned edges[] = {
    [ASLEEP] = 1u << AWAKE, [AWAKE] = 1u << ASLEEP | 1u << GONE, [GONE] = 0};
static const char *const names[] = {"asleep", "awake", "gone"};
static const struct baton_states states = {.object = "cat", .names = names, .edges = edges};

/* Whether a process that takes the edge aborts. */
static bool aborts(unsigned from, unsigned to)
{
    int status = 0;
    pid_t child = fork();
    if (!child) {
        (void)setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
        baton_states_check(&states, from, to);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

TEST(an_edge_of_the_drawing_passes_and_any_other_aborts)
{
    static const bool is_drawn[3][3] = {
        [ASLEEP][AWAKE] = true, [AWAKE][ASLEEP] = true, [AWAKE][GONE] = true};
    for (unsigned from = 0; from < 3; from++)
        for (unsigned to = 0; to < 3; to++)
            assert_int_equal(aborts(from, to), !is_drawn[from][to]);
}
