/* The order in which a tensor stores the rows of a matrix.
 *
 * Pure.
 */
#ifndef BATON_ENGINE_CHECKPOINT_WEIGHTS_ROW_ORDER_H
#define BATON_ENGINE_CHECKPOINT_WEIGHTS_ROW_ORDER_H

/* Row r of the matrix is row d = r % head_dim of head r / head_dim. The tensor stores it at first +
 * head * step + d, with rotary pairs at (2i, 2i + 1) that the matrix has at (i, i + n_rotated / 2).
 * head_dim 0: it is stored at first + r. */
struct baton_row_order {
    int first, head_dim, step, n_rotated;
};

static inline int baton_row_order_at(const struct baton_row_order *order, int r)
{
    if (!order->head_dim)
        return order->first + r;
    int head = r / order->head_dim, d = r % order->head_dim, half = order->n_rotated / 2;
    if (d < order->n_rotated)
        d = d < half ? 2 * d : 2 * (d - half) + 1;
    return order->first + head * order->step + d;
}

#endif
