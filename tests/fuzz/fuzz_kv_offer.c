/* What comes by the Unix socket for offers of KV pools is refused with a reason, or is an offer
 * whose numbers are in range and which packs to the same bytes. */
#include "tests/fuzz/fuzz.h"

#include "worker/kv/offer.h"

FUZZ(data, size)
{
    struct baton_kv_offer offer;
    struct baton_why why = {""};
    uint8_t again[BATON_KV_OFFER_BYTES];
    if (baton_kv_offer_parse(data, size, &offer, &why)) {
        check(why.text[0]);
        return;
    }
    check(size == sizeof again && offer.link && offer.sender_epoch && offer.receiver_epoch);
    check(offer.n_blocks >= 1 && offer.n_blocks <= BATON_KV_OFFER_MAX_BLOCKS);
    check(strlen(offer.kv_layout) == BATON_SHA256_HEX - 1);
    baton_kv_offer_pack(&offer, again);
    check(!memcmp(again, data, size));
}
