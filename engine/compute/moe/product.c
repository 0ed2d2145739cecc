#include "engine/compute/moe/product.h"

/* The work as one line: each group's units of outputs, group after group. An item is a range of
 * that line, so items have equal work however unevenly rows chose. */
struct product_loop {
    const struct baton_kernels *kernels;
    const struct baton_moe_product *product;
    size_t unit_bytes, all;     /* work of a unit without rows, and of the whole line */
    int n_items, n_units, unit; /* unit: outputs that stay together */
};

static size_t row_bytes(const struct product_loop *loop)
{
    const struct baton_packed *packed = &loop->product->first->parts[0];
    return baton_quantized_bytes(loop->kernels, packed->dtype, 1, packed->n_in);
}

/* A group whose rows are neighbours, as a single row is, needs no list of them. Its rows ascend and
 * differ, so the first and the last one decide. */
static bool are_neighbours(const struct baton_moe_plan *plan, const struct baton_moe_group *group)
{
    return plan->rows[group->first + group->n - 1] - plan->rows[group->first] == group->n - 1;
}

static void aim_at_inputs(const struct product_loop *loop, const struct baton_moe_group *group,
                          struct baton_linear *job)
{
    const struct baton_moe_plan *plan = loop->product->plan;
    bool lists = loop->product->x_is_rows && !are_neighbours(plan, group);
    int first = loop->product->x_is_rows ? plan->rows[group->first] : group->first;
    job->rows = lists ? plan->rows + group->first : NULL;
    job->x = loop->product->x;
    if (!lists)
        job->x = (const char *)job->x + (size_t)first * row_bytes(loop);
}

static void multiply_units(const struct product_loop *loop, const struct baton_moe_group *group,
                           int first, int end)
{
    const struct baton_moe_product *product = loop->product;
    struct baton_matrix matrix = baton_matrix_of_expert(product->first, group->expert);
    struct baton_linear job = {.weights = &matrix.parts[0],
                               .bias = matrix.bias,
                               .y = product->y + (size_t)group->first * (size_t)product->y_width,
                               .y_stride = product->y_width,
                               .n_rows = group->n,
                               .epilogue = product->epilogue};
    int n_out = matrix.n_out, end_out = end * loop->unit;
    aim_at_inputs(loop, group, &job);
    baton_kernels_linear(loop->kernels, &job, first * loop->unit,
                         end_out < n_out ? end_out : n_out);
}

/* The first unit that begins at or after a place on the line, of a group that begins at start. Both
 * ends of an item round up, so each unit belongs to exactly one item. */
static int unit_at(const struct product_loop *loop, size_t place, size_t start, size_t unit_work)
{
    if (place <= start)
        return 0;
    size_t unit = (place - start + unit_work - 1) / unit_work;
    return unit < (size_t)loop->n_units ? (int)unit : loop->n_units;
}

static void multiply_item(void *arg, int item, int worker)
{
    const struct product_loop *loop = arg;
    const struct baton_moe_plan *plan = loop->product->plan;
    size_t n_items = (size_t)loop->n_items, first = loop->all * (size_t)item / n_items,
           end = loop->all * ((size_t)item + 1) / n_items, start = 0;
    (void)worker;
    for (int g = 0; g < plan->n_groups && start < end; g++) {
        size_t unit_work = baton_forward_work(loop->unit_bytes, plan->groups[g].n);
        int from = unit_at(loop, first, start, unit_work),
            to = unit_at(loop, end, start, unit_work);
        if (from < to)
            multiply_units(loop, &plan->groups[g], from, to);
        start += unit_work * (size_t)loop->n_units;
    }
}

void baton_moe_multiply(struct baton_forward *forward, const struct baton_moe_product *product)
{
    const struct baton_matrix *first = product->first;
    struct product_loop loop = {.kernels = forward->kernels, .product = product};
    loop.unit = product->epilogue.kind == BATON_GATE ? 2 * BATON_PANEL : BATON_PANEL;
    loop.n_units = (first->n_out + loop.unit - 1) / loop.unit;
    loop.unit_bytes = baton_matrix_read_bytes(first) / (size_t)loop.n_units;
    for (int g = 0; g < product->plan->n_groups; g++)
        loop.all +=
            baton_forward_work(loop.unit_bytes, product->plan->groups[g].n) * (size_t)loop.n_units;
    loop.n_items = baton_forward_n_items(forward, loop.all);
    baton_pool_run(forward->pool, loop.n_items, multiply_item, &loop);
}
