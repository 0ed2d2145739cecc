#include "gateway/http/crowds.h"

void gw_crowds_init(struct gw_crowds *crowds)
{
    crowds->largest = 0;
    for (size_t size = 0; size <= GW_MAX_CROWD; size++)
        gw_crowd_list_init(&crowds->by_size[size]);
}

void gw_crowd_init(struct gw_crowd *crowd)
{
    *crowd = (struct gw_crowd){0};
    for (int rank = 0; rank < GW_N_RANKS; rank++)
        gw_place_list_init(&crowd->places[rank]);
}

size_t gw_crowd_size(const struct gw_crowd *crowd)
{
    return crowd->places[GW_RANK_FIRST].n + crowd->places[GW_RANK_SECOND].n;
}

static size_t index_of(size_t size)
{
    return size < GW_MAX_CROWD ? size : GW_MAX_CROWD;
}

/* Moves a crowd whose size was `before` to the list of its size; size 0 has none. */
static void move(struct gw_crowds *crowds, struct gw_crowd *crowd, size_t before)
{
    size_t from = index_of(before), to = index_of(gw_crowd_size(crowd));
    if (from == to)
        return;
    if (from)
        gw_crowd_list_remove(&crowds->by_size[from], crowd);
    if (to)
        gw_crowd_list_push_back(&crowds->by_size[to], crowd);
    if (to > crowds->largest)
        crowds->largest = to;
}

void gw_crowds_enter(struct gw_crowds *crowds, struct gw_crowd *crowd, struct gw_place *place,
                     enum gw_rank rank)
{
    size_t before = gw_crowd_size(crowd);
    if (place->crowd)
        gw_place_list_remove(&crowd->places[place->rank], place);
    place->crowd = crowd;
    place->rank = rank;
    gw_place_list_push_back(&crowd->places[rank], place);
    move(crowds, crowd, before);
}

void gw_crowds_leave(struct gw_crowds *crowds, struct gw_place *place)
{
    struct gw_crowd *crowd = place->crowd;
    if (!crowd)
        return;
    size_t before = gw_crowd_size(crowd);
    gw_place_list_remove(&crowd->places[place->rank], place);
    place->crowd = NULL;
    move(crowds, crowd, before);
}

struct gw_crowd *gw_crowds_fullest(struct gw_crowds *crowds)
{
    while (crowds->largest && !crowds->by_size[crowds->largest].n)
        crowds->largest--;
    return gw_crowd_list_first(&crowds->by_size[crowds->largest]);
}

struct gw_place *gw_crowd_first(const struct gw_crowd *crowd)
{
    struct gw_place *first = gw_place_list_first(&crowd->places[GW_RANK_FIRST]);
    return first ? first : gw_place_list_first(&crowd->places[GW_RANK_SECOND]);
}

struct gw_place *gw_crowd_next(struct gw_place *place)
{
    const struct gw_crowd *crowd = place->crowd;
    struct gw_place *next = gw_place_list_next(&crowd->places[place->rank], place);
    return next || place->rank == GW_RANK_SECOND
               ? next
               : gw_place_list_first(&crowd->places[GW_RANK_SECOND]);
}
