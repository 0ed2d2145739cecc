/* What comes by the Unix socket for offers of KV pools is refused with a reason, or is an offer
 * whose numbers are in range and which packs to the same bytes. */
#include <stdlib.h>
#include <string.h>

#include "worker/kv/offer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int holds)
{
    if (!holds)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct baton_kv_offer offer;
    struct baton_why why = {""};
    uint8_t again[BATON_KV_OFFER_BYTES];
    if (baton_kv_offer_parse(data, size, &offer, &why)) {
        check(why.text[0]);
        return 0;
    }
    check(size == sizeof again && offer.link && offer.sender_epoch && offer.receiver_epoch);
    check(offer.n_blocks >= 1 && offer.n_blocks <= BATON_KV_OFFER_MAX_BLOCKS);
    check(strlen(offer.kv_layout) == BATON_SHA256_HEX - 1);
    baton_kv_offer_pack(&offer, again);
    check(!memcmp(again, data, size));
    return 0;
}
