#include "gateway/api/listing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gateway/api/answer.h"

static const char *copy(char part[GW_URL_PART_BYTES], const char *begin, size_t n)
{
    (void)snprintf(part, GW_URL_PART_BYTES, "%.*s", n < GW_URL_PART_BYTES ? (int)n : 0, begin);
    return part;
}

const char *gw_query_value(const struct gw_exchange *exchange, const char *name,
                           char value[GW_URL_PART_BYTES])
{
    size_t n = strlen(name);
    value[0] = '\0';
    for (const char *at = gw_exchange_query(exchange); *at;
         at += strcspn(at, "&"), at += *at == '&')
        if (!strncmp(at, name, n) && at[n] == '=')
            (void)copy(value, at + n + 1, strcspn(at + n + 1, "&"));
    return value;
}

const char *gw_path_segment(const struct gw_exchange *exchange, int i,
                            char segment[GW_URL_PART_BYTES])
{
    const char *at = gw_exchange_path(exchange);
    for (; i >= 0 && *at; i--)
        at += 1 + (i ? strcspn(at + 1, "/") : 0);
    return copy(segment, at, strcspn(at, "/"));
}

size_t gw_listing_at(const struct gw_listing *listing, size_t i)
{
    i += listing->begin;
    return listing->is_oldest_first ? i : listing->n - 1 - i;
}

/* The position of the id in the order that is asked for; n: it is not there. */
static size_t find(const struct gw_listing *listing, const char *id)
{
    size_t i = 0;
    while (i < listing->n &&
           strcmp(listing->id_of(listing->items, listing->is_oldest_first ? i : listing->n - 1 - i),
                  id) != 0)
        i++;
    return i;
}

static bool read_order(struct gw_listing *listing, const struct gw_exchange *exchange)
{
    char order[GW_URL_PART_BYTES];
    listing->is_oldest_first = !strcmp(gw_query_value(exchange, "order", order), "asc");
    return !*order || listing->is_oldest_first || !strcmp(order, "desc");
}

static bool read_page(struct gw_listing *listing, const struct gw_exchange *exchange)
{
    char value[GW_URL_PART_BYTES], after[GW_URL_PART_BYTES] = "", before[GW_URL_PART_BYTES] = "";
    char *end = value;
    long limit = listing->default_limit;
    size_t n_left;
    if (*gw_query_value(exchange, "limit", value))
        limit = strtol(value, &end, 10);
    if (*end || limit < 1 || limit > listing->max_limit || !read_order(listing, exchange))
        return false;
    if (listing->after && *gw_query_value(exchange, listing->after, after)) {
        listing->begin = find(listing, after) + 1;
        if (listing->begin > listing->n)
            return false;
    }
    n_left = listing->n - listing->begin;
    listing->n_page = (size_t)limit < n_left ? (size_t)limit : n_left;
    if (listing->before && !*after && *gw_query_value(exchange, listing->before, before)) {
        size_t at = find(listing, before);
        if (at == listing->n)
            return false;
        listing->n_page = (size_t)limit < at ? (size_t)limit : at;
        listing->begin = at - listing->n_page;
    }
    return true;
}

bool gw_listing_read(struct gw_listing *listing, struct gw_exchange *exchange)
{
    char message[160];
    listing->begin = 0;
    if (read_page(listing, exchange))
        return true;
    (void)snprintf(message, sizeof message,
                   "the query must have a limit from 1 to %ld, an order asc or desc, and %s the id "
                   "of an item",
                   listing->max_limit, listing->after);
    gw_answer_error(exchange, 400, "invalid_value", message);
    return false;
}

static void put_edge(const struct gw_listing *listing, struct baton_json_out *out, const char *key,
                     size_t i)
{
    if (listing->n_page)
        baton_json_put_string(out, key, listing->id_of(listing->items, gw_listing_at(listing, i)));
    else
        baton_json_put_null(out, key);
}

void gw_listing_put_edges(const struct gw_listing *listing, struct baton_json_out *out)
{
    put_edge(listing, out, "first_id", 0);
    put_edge(listing, out, "last_id", listing->n_page - 1);
    baton_json_put_bool(out, "has_more", listing->begin + listing->n_page < listing->n);
}
