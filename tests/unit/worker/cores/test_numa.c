/* The node of --numa on emulated machines of two nodes, and the binding on the real one. */
#include "common/base/array.h"
#include "tests/support/scratch.h"

#include <sched.h>
#include <sys/stat.h>

#include "worker/cores/numa.h"

static struct baton_why why;
static int first, second; /* processors of this machine; -1: there is no second one */

static void make_dir(const char *name)
{
    assert_int_equal(mkdir(in_scratch(name), 0700), 0);
}

/* A machine whose node 0 has our first processor, node 1 our second one, and node 2 memory only. */
SETUP(make_machine)
{
    char text[16];
    cpu_set_t set;
    assert_int_equal(make_scratch(NULL), 0);
    assert_int_equal(sched_getaffinity(0, sizeof set, &set), 0);
    first = second = -1;
    for (int cpu = 0; cpu < CPU_SETSIZE && second < 0; cpu++)
        if (CPU_ISSET((size_t)cpu, &set))
            *(first < 0 ? &first : &second) = cpu;
    make_dir("sys");
    make_dir("sys/devices");
    make_dir("sys/devices/system");
    make_dir("sys/devices/system/node");
    make_dir("sys/devices/system/node/node0");
    make_dir("sys/devices/system/node/node1");
    make_dir("sys/devices/system/node/node2");
    write_scratch("sys/devices/system/node/online", "0-2\n");
    (void)snprintf(text, sizeof text, "%d\n", first);
    write_scratch("sys/devices/system/node/node0/cpulist", text);
    (void)snprintf(text, sizeof text, "%d\n", second < 0 ? CPU_SETSIZE - 1 : second);
    write_scratch("sys/devices/system/node/node1/cpulist", text);
    write_scratch("sys/devices/system/node/node2/cpulist", "\n");
    assert_true(second >= 0); /* a machine of one processor cannot stand for two nodes */
}

TEARDOWN(remove_machine)
{
    assert_false(remove_scratch(NULL));
}

/* The node, or -2 for an error. */
static int choose(const char *numa, const char *cores, const char *id, bool is_decode)
{
    struct baton_numa chosen = {.node = -3};
    const struct baton_numa_options options = {
        .numa = numa, .cores = cores, .id = id, .is_decode = is_decode, .root = scratch};
    why.text[0] = 0;
    return baton_numa_choose(&options, &chosen, &why) ? -2 : chosen.node;
}

TEST(none_chooses_no_node_and_a_number_that_node)
{
    assert_int_equal(choose("none", "auto", "decode-0", true), -1);
    assert_int_equal(choose("node:0", "auto", "decode-0", true), 0);
    assert_int_equal(choose("node:1", "all", "decode-0", true), 1);
}

TEST(auto_goes_through_the_nodes_prefill_from_the_first_decode_from_the_last)
{
    static const char *const ids[] = {"x-0", "x-1", "x-2", "x-3"};
    for (int i = 0; i < 4; i++) {
        assert_int_equal(choose("auto", "auto", ids[i], false), i % 2);
        assert_int_equal(choose("auto", "auto", ids[i], true), 1 - i % 2);
    }
    assert_int_equal(choose("auto", "auto", "prefill-host", false), 0);
    assert_int_equal(choose("auto", "auto", "", true), 1);
}

TEST(auto_takes_the_node_of_a_list_of_cores)
{
    char list[16], both[32];
    (void)snprintf(list, sizeof list, "%d", second);
    (void)snprintf(both, sizeof both, "%d,%d", first, second);
    assert_int_equal(choose("auto", list, "prefill-0", false), 1);
    assert_int_equal(choose("auto", both, "prefill-0", false), -1);
    assert_int_equal(choose("node:0", list, "prefill-0", false), -2);
    assert_non_null(strstr(why.text, "not all processors of --cores"));
}

TEST(a_node_that_is_not_there_or_has_no_processor_is_an_error_that_says_so)
{
    assert_int_equal(choose("node:7", "auto", "decode-0", true), -2);
    assert_non_null(strstr(why.text, "node 7 does not exist"));
    assert_int_equal(choose("node:2", "auto", "decode-0", true), -2);
    assert_non_null(strstr(why.text, "node 2 has no processor"));
}

TEST(an_invalid_node_is_an_error_that_names_the_range)
{
    static const char *const wrong[] = {"",        "node",   "node:",     "node:-1", "node:1x",
                                        "node: 1", "Node:1", "node:1024", "0",       "AUTO"};
    for (size_t i = 0; i < BATON_N_OF(wrong); i++) {
        assert_int_equal(choose(wrong[i], "auto", "decode-0", true), -2);
        assert_non_null(strstr(why.text, "must be none, auto or node:N with N in 0..1023"));
    }
}

TEST(files_that_make_no_sense_are_a_machine_of_one_node)
{
    static const char *const wrong[] = {"", "\n", "x", "0-", "3-1", "0-99999", "0,,1"};
    for (size_t i = 0; i < BATON_N_OF(wrong); i++) {
        write_scratch("sys/devices/system/node/online", wrong[i]);
        assert_int_equal(choose("auto", "auto", "decode-0", true), -1);
        assert_int_equal(choose("node:1", "auto", "decode-0", true), -2);
    }
}

TEST(lists_of_processors_are_read_as_linux_writes_them)
{
    cpu_set_t set;
    assert_true(baton_cpu_list_parse("0-3,8\n", &set));
    assert_int_equal(CPU_COUNT(&set), 5);
    assert_true(CPU_ISSET(8, &set));
    assert_false(baton_cpu_list_parse("0-3;8", &set));
}

/* The kernel may forbid a memory policy, in containers above all: then node:N is an error. */
TEST(binding_keeps_processors_of_the_node_only)
{
    cpu_set_t before, after;
    struct baton_numa numa;
    const struct baton_numa_options options = {
        .numa = "auto", .cores = "auto", .id = "prefill-0", .root = scratch};
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    assert_ok(baton_numa_choose(&options, &numa, &why));
    assert_ok(baton_numa_bind(&options, &numa, &why));
    assert_int_equal(numa.node, 0);
    assert_int_equal(sched_getaffinity(0, sizeof after, &after), 0);
    assert_int_equal(CPU_COUNT(&after), 1);
    assert_true(CPU_ISSET((size_t)first, &after));
    assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
}

EACH_TEST(make_machine, remove_machine)

int main(void)
{
    cpu_set_t set;
    bool is_alone = !sched_getaffinity(0, sizeof set, &set) && CPU_COUNT(&set) < 2;
    return is_alone ? 0 : test_run("numa");
}
