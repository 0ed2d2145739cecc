#include "worker/kv/share.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/log.h"
#include "worker/kv/offer.h"

struct baton_kv_share {
    const struct baton_kv *own;
    const struct baton_ticket_key *ticket_key;
    struct baton_kv_offers *offers;
};

enum baton_err baton_kv_share_open(const struct baton_kv *own,
                                   const struct baton_ticket_key *ticket_key, uint64_t epoch,
                                   struct baton_kv_share **out, struct baton_why *why)
{
    struct baton_kv_share *share = calloc(1, sizeof *share);
    if (!share)
        return baton_fail(why, BATON_NO_MEMORY, "no memory for offers of KV pools");
    *share = (struct baton_kv_share){.own = own, .ticket_key = ticket_key};
    enum baton_err err = baton_kv_offers_open(epoch, &share->offers, why);
    if (err)
        free(share);
    else
        *out = share;
    return err;
}

void baton_kv_share_close(struct baton_kv_share *share)
{
    if (!share)
        return;
    baton_kv_offers_close(share->offers);
    free(share);
}

/* The same user is not enough: the ticket proves that a gateway sent the sender. */
static const char *fault_of(const struct baton_kv_share *share, const struct baton_kv_offer *offer,
                            const baton_envelope *begin)
{
    if (offer->sender_epoch != begin->src_epoch)
        return "the offer and the context are from different processes";
    if (!baton_ticket_is_valid(share->ticket_key, offer->request_id, offer->attempt,
                               offer->ticket.bytes, sizeof offer->ticket.bytes))
        return "the offer has no ticket of this worker";
    if (strcmp(offer->kv_layout, baton_kv_layout_name(share->own)) != 0)
        return "the pool has another KV layout than this worker's";
    return NULL;
}

static struct baton_kv_view *map(const struct baton_kv_share *share,
                                 const struct baton_kv_offer *offer, int fd,
                                 const baton_envelope *begin)
{
    struct baton_kv_view *view = NULL;
    struct baton_why why = {""};
    const char *fault = fault_of(share, offer, begin);
    if (!fault && baton_kv_view_open(share->own, fd, (int)offer->n_blocks, &view, &why))
        fault = why.text;
    if (fault) {
        static struct baton_log_limit limit;
        baton_log_limited(&limit, BATON_LOG_WARN, "kv_offer_refused", BATON_I("uid", geteuid()),
                          BATON_S("reason", fault));
    }
    return view;
}

void baton_kv_share_poll(struct baton_kv_share *share)
{
    if (share)
        baton_kv_offers_poll(share->offers);
}

uint64_t baton_kv_share_n_refused(const struct baton_kv_share *share)
{
    return share ? baton_kv_offers_n_refused(share->offers) : 0;
}

struct baton_kv_view *baton_kv_share_take(struct baton_kv_share *share, const baton_envelope *begin)
{
    struct baton_kv_offer offer;
    int fd = share ? baton_kv_offers_take(share->offers, begin->link, &offer) : -1;
    if (fd < 0)
        return NULL;
    struct baton_kv_view *view = map(share, &offer, fd, begin);
    close(fd); /* the mapping does not need it any more */
    return view;
}

enum baton_err baton_kv_share_copy(const struct baton_kv_view *view,
                                   const Baton__V1__KvChunk *chunk, const struct baton_seq *seq)
{
    uint64_t end = (uint64_t)chunk->place->block + chunk->n_blocks;
    if (!view || end > (uint64_t)baton_kv_view_n_blocks(view))
        return BATON_INVALID;
    /* A copy fails if the sender has given the block to another sequence since the message. */
    for (uint32_t i = 0; i < chunk->n_blocks; i++)
        if (!baton_kv_view_copy(
                view, (int)chunk->layer, (int)(chunk->place->block + i), chunk->place->as_of,
                baton_seq_block(seq, (int)chunk->layer, (int)(chunk->first_block + i))))
            return BATON_CORRUPT;
    return BATON_OK;
}
