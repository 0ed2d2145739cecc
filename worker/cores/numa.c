#include "worker/cores/numa.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <linux/mempolicy.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/base/log.h"

enum { MAX_NODES = 1024, LINE_BYTES = 4096, MASK_BITS = 8 * sizeof(unsigned long) };

bool baton_cpu_list_parse(const char *list, cpu_set_t *set)
{
    CPU_ZERO(set);
    for (const char *p = list;;) {
        char *end;
        errno = 0;
        long first = strtol(p, &end, 10), last = first;
        if (end != p && *end == '-') {
            p = end + 1;
            last = strtol(p, &end, 10);
        }
        if (end == p || errno || first < 0 || last < first || last >= CPU_SETSIZE ||
            (*end && *end != ',' && *end != '\n'))
            return false;
        for (long cpu = first; cpu <= last; cpu++)
            CPU_SET((size_t)cpu, set);
        if (*end != ',')
            return true;
        p = end + 1;
    }
}

/* Sets of nodes have the type of sets of processors. A node without processors has memory only. */
struct machine {
    cpu_set_t nodes, allowed;
    const char *root;
};

static bool read_list(const char *root, const char *name, cpu_set_t *set)
{
    char path[PATH_MAX], line[LINE_BYTES] = "";
    (void)snprintf(path, sizeof path, "%s/sys/devices/system/node/%s", root, name);
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    bool done = fgets(line, sizeof line, file) && baton_cpu_list_parse(line, set);
    (void)fclose(file);
    return done;
}

/* The processors of a node that this process may run on. */
static void processors_of(const struct machine *machine, int node, cpu_set_t *set)
{
    char name[32];
    cpu_set_t all;
    (void)snprintf(name, sizeof name, "node%d/cpulist", node);
    CPU_ZERO(set);
    if (read_list(machine->root, name, &all))
        CPU_AND(set, &all, &machine->allowed);
}

static enum baton_err read_machine(const struct baton_numa_options *options,
                                   struct machine *machine, struct baton_why *why)
{
    machine->root = options->root ? options->root : "";
    if (!read_list(machine->root, "online", &machine->nodes)) { /* a kernel without NUMA */
        CPU_ZERO(&machine->nodes);
        CPU_SET(0, &machine->nodes);
    }
    if (sched_getaffinity(0, sizeof machine->allowed, &machine->allowed))
        return baton_fail(why, BATON_IO, "numa: %s", strerror(errno));
    return BATON_OK;
}

static bool holds(const cpu_set_t *set, const cpu_set_t *part)
{
    cpu_set_t both;
    CPU_AND(&both, set, part);
    return CPU_EQUAL(&both, part);
}

/* The list of --cores; false: the option is not a valid list (cores.c reports that). */
static bool listed(const struct baton_numa_options *options, cpu_set_t *list)
{
    return strcmp(options->cores, "auto") != 0 && strcmp(options->cores, "all") != 0 &&
           baton_cpu_list_parse(options->cores, list);
}

/* ---- the node ---- */

static enum baton_err check(const struct baton_numa_options *options, const struct machine *machine,
                            int node, struct baton_why *why)
{
    cpu_set_t processors, list;
    if (node >= CPU_SETSIZE || !CPU_ISSET((size_t)node, &machine->nodes))
        return baton_fail(why, BATON_INVALID,
                          "numa: node %d does not exist; the number of nodes here is %d", node,
                          CPU_COUNT(&machine->nodes));
    processors_of(machine, node, &processors);
    if (!CPU_COUNT(&processors))
        return baton_fail(why, BATON_INVALID,
                          "numa: node %d has no processor that this process may run on", node);
    if (listed(options, &list) && !holds(&processors, &list))
        return baton_fail(why, BATON_INVALID,
                          "numa: not all processors of --cores %s belong to node %d",
                          options->cores, node);
    return BATON_OK;
}

/* The number at the end of the id; 0 without one. */
static unsigned long number_of(const char *id)
{
    const char *end = id + strlen(id), *p = end;
    while (p > id && isdigit((unsigned char)p[-1]))
        p--;
    return p < end ? strtoul(p, NULL, 10) : 0;
}

/* Chooses one of the nodes that fit the worker; -1: the machine has one node, or none fits. Decode
 * workers count from the last node, so prefill-0 and decode-0 do not share one. */
static int choose_any(const struct baton_numa_options *options, const struct machine *machine)
{
    int fitting[MAX_NODES], n = 0;
    struct baton_why unused;
    if (CPU_COUNT(&machine->nodes) < 2)
        return -1;
    for (int node = 0; node < MAX_NODES; node++)
        if (CPU_ISSET((size_t)node, &machine->nodes) && !check(options, machine, node, &unused))
            fitting[n++] = node;
    if (!n)
        return -1;
    int turn = (int)(number_of(options->id) % (unsigned long)n);
    return fitting[options->is_decode ? n - 1 - turn : turn];
}

static enum baton_err choose(const struct baton_numa_options *options,
                             const struct machine *machine, struct baton_numa *numa,
                             struct baton_why *why)
{
    char *end = NULL;
    numa->node = -1;
    if (!strcmp(options->numa, "none"))
        return BATON_OK;
    if (!strcmp(options->numa, "auto")) {
        numa->node = choose_any(options, machine);
        return BATON_OK;
    }
    bool is_node = !strncmp(options->numa, "node:", 5) && isdigit((unsigned char)options->numa[5]);
    unsigned long node = is_node ? strtoul(options->numa + 5, &end, 10) : 0;
    if (!is_node || *end || node >= MAX_NODES)
        return baton_fail(why, BATON_INVALID,
                          "numa: \"%s\" must be none, auto or node:N with N in 0..%d",
                          options->numa, MAX_NODES - 1);
    enum baton_err err = check(options, machine, (int)node, why);
    if (!err)
        numa->node = (int)node;
    return err;
}

enum baton_err baton_numa_choose(const struct baton_numa_options *options, struct baton_numa *numa,
                                 struct baton_why *why)
{
    struct machine machine;
    enum baton_err err = read_machine(options, &machine, why);
    return err ? err : choose(options, &machine, numa, why);
}

/* ---- binding ---- */

/* Prefers the node and does not bind to it: another node's memory is only slower, while the kernel
 * kills a bound process when its node is full. The kernel reads one bit less than maxnode. */
static enum baton_err prefer_memory_of(int node, struct baton_why *why)
{
    unsigned long mask[MAX_NODES / MASK_BITS + 1] = {0};
    mask[node / MASK_BITS] = 1UL << node % MASK_BITS;
    if (!syscall(SYS_set_mempolicy, MPOL_PREFERRED, mask, (unsigned long)MAX_NODES + 1))
        return BATON_OK;
    return baton_fail(why, BATON_IO, "numa: memory of node %d: %s%s", node, strerror(errno),
                      errno == EPERM ? " (a container needs CAP_SYS_NICE for it)" : "");
}

static enum baton_err run_on(const struct machine *machine, int node, int *n, struct baton_why *why)
{
    cpu_set_t processors;
    processors_of(machine, node, &processors);
    *n = CPU_COUNT(&processors);
    if (sched_setaffinity(0, sizeof processors, &processors))
        return baton_fail(why, BATON_IO, "numa: processors of node %d: %s", node, strerror(errno));
    return BATON_OK;
}

/* With "auto" a worker without the right to set a policy still runs on the node's processors: pages
 * are then allocated near the thread that touches them first. */
static enum baton_err bind_to(const struct baton_numa_options *options,
                              const struct machine *machine, int node, struct baton_why *why)
{
    int n = 0;
    enum baton_err memory = prefer_memory_of(node, why);
    if (memory && !strcmp(options->numa, "auto"))
        baton_log(BATON_LOG_WARN, "numa_memory_anywhere", BATON_S("reason", why->text));
    else if (memory)
        return memory;
    enum baton_err err = run_on(machine, node, &n, why);
    if (!err)
        baton_log(BATON_LOG_INFO, "numa_bound", BATON_I("node", node), BATON_I("processors", n),
                  BATON_S("memory", memory ? "any" : "preferred"),
                  BATON_I("nodes", CPU_COUNT(&machine->nodes)));
    return err;
}

enum baton_err baton_numa_bind(const struct baton_numa_options *options,
                               const struct baton_numa *numa, struct baton_why *why)
{
    struct machine machine;
    enum baton_err err = read_machine(options, &machine, why);
    if (!err && numa->node >= 0)
        err = bind_to(options, &machine, numa->node, why);
    else if (!err && !strcmp(options->numa, "auto"))
        baton_log(BATON_LOG_INFO, "numa_unbound",
                  BATON_S("reason", CPU_COUNT(&machine.nodes) < 2
                                        ? "this machine has one node"
                                        : "no node has all processors of --cores"));
    return err;
}
