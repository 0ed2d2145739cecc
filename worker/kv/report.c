#include "worker/kv/report.h"

#include "common/base/clock.h"
#include "common/base/log.h"

void baton_kv_report_init(struct baton_kv_report *report, struct baton_kv *kv)
{
    *report = (struct baton_kv_report){.kv = kv};
    for (int i = 0; i < BATON_N_KV_REASONS; i++)
        report->held_list[i] = &report->held[i];
    for (int i = 0; i < BATON_MAX_KV_OWNERS; i++)
        report->owner_list[i] = &report->owners[i];
}

bool baton_kv_report_is_due(struct baton_kv_report *report, size_t n_requests, int64_t now_ns)
{
    report->was_busy |= n_requests > 0;
    return report->was_busy && !n_requests && now_ns - report->checked_ns >= BATON_SECOND;
}

static Baton__V1__KvHeld *held_for(struct baton_kv_report *report, Baton__V1__KvReason reason)
{
    return &report->held[reason - 1]; /* 0 is no reason */
}

static double age_s(int64_t since_ns)
{
    return since_ns ? baton_seconds(baton_now_ns() - since_ns) : 0;
}

void baton_kv_report_begin(struct baton_kv_report *report, const Baton__V1__KvQuery *query)
{
    report->query = query;
    baton__v1__kv_account__init(&report->answer);
    for (int i = 0; i < BATON_N_KV_REASONS; i++) {
        baton__v1__kv_held__init(&report->held[i]);
        report->held[i].reason = (Baton__V1__KvReason)(i + 1);
    }
    baton_kv_account_begin(report->kv);
}

static void list(struct baton_kv_report *report, const struct baton_kv_owner *owner, int n_blocks)
{
    Baton__V1__KvOwner *entry = &report->owners[report->answer.n_owners++];
    *entry = (Baton__V1__KvOwner)BATON__V1__KV_OWNER__INIT;
    entry->gateway_epoch = owner->origin->gateway_epoch;
    entry->request_id = owner->origin->request_id;
    entry->attempt = owner->origin->attempt;
    entry->reason = owner->reason;
    entry->blocks = (uint32_t)n_blocks;
    entry->shared_blocks = (uint32_t)(owner->seq->n_blocks - n_blocks);
    entry->age_s = age_s(owner->since_ns);
    entry->reason_s = age_s(owner->reason_ns);
    entry->canceled = owner->canceled;
    entry->states = baton_kv_has_states(report->kv) ? (uint32_t)owner->seq->n_set_aside : 0;
}

static bool is_wanted(const struct baton_kv_report *report)
{
    const Baton__V1__KvQuery *query = report->query;
    return query && report->answer.owners_in_all >= query->first_owner &&
           report->answer.n_owners < query->max_owners;
}

void baton_kv_report_add(struct baton_kv_report *report, const struct baton_kv_owner *owner)
{
    if (!owner->seq->n_blocks)
        return;
    Baton__V1__KvHeld *held = held_for(report, owner->reason);
    int n_blocks = baton_kv_account_claim(report->kv, owner->seq);
    double held_s = age_s(owner->reason_ns);
    held->owners++;
    held->blocks += (uint32_t)n_blocks;
    if (held->oldest_s < held_s)
        held->oldest_s = held_s;
    if (is_wanted(report))
        list(report, owner, n_blocks);
    report->answer.owners_in_all++;
}

void baton_kv_report_add_cached(struct baton_kv_report *report, const struct baton_seq *seq)
{
    held_for(report, BATON__V1__KV_REASON__KV_CACHED)->blocks +=
        (uint32_t)baton_kv_account_claim(report->kv, seq);
}

static void account_states(struct baton_kv_report *report)
{
    const struct baton_kv_states states = baton_kv_states(report->kv);
    report->answer.states = (uint32_t)states.n_total;
    report->answer.free_states = (uint32_t)(states.n_free - states.n_cached);
    report->answer.cached_states = (uint32_t)states.n_cached;
    report->answer.oldest_cached_state_s = age_s(states.oldest_ns);
}

static void answer(struct baton_kv_report *report, struct baton_link *gateway)
{
    const struct baton_kv *kv = report->kv;
    Baton__V1__KvHeld *cached = held_for(report, BATON__V1__KV_REASON__KV_CACHED);
    baton_envelope envelope = BATON__V1__ENVELOPE__INIT;
    cached->blocks += (uint32_t)baton_kv_n_cached(kv);
    cached->oldest_s = age_s(baton_kv_oldest_cached_ns(kv));
    report->answer.query = report->query->query;
    report->answer.blocks = (uint32_t)baton_kv_n_blocks(kv);
    report->answer.free_blocks =
        (uint32_t)(baton_kv_n_blocks(kv) - baton_kv_n_held(kv) - baton_kv_n_cached(kv));
    report->answer.held = report->held_list;
    report->answer.n_held = BATON_N_KV_REASONS;
    report->answer.owners = report->owner_list;
    report->answer.faults = report->n_faults;
    account_states(report);
    envelope.body_case = BATON__V1__ENVELOPE__BODY_KV_ACCOUNT;
    envelope.kv_account = &report->answer;
    if (baton_link_send(gateway, &envelope, NULL, 0))
        baton_log(BATON_LOG_DEBUG, "kv_account_not_sent",
                  BATON_S("reason", "the link to the gateway is full or down"));
}

void baton_kv_report_end(struct baton_kv_report *report, struct baton_link *gateway)
{
    int n_faults = baton_kv_account_n_faults(report->kv);
    report->checked_ns = baton_now_ns();
    /* A check with owners is not the last one: the blocks may still leak when they go. */
    report->was_busy = report->answer.owners_in_all > 0;
    report->n_faults += (uint64_t)n_faults;
    if (n_faults)
        baton_log(BATON_LOG_ERROR, "kv_account_wrong", BATON_I("faults", n_faults),
                  BATON_I("owners", report->answer.owners_in_all));
    if (report->query)
        answer(report, gateway);
    report->query = NULL;
}
