#include "gateway/api/completion/timings.h"

#include <math.h>

#include "common/base/clock.h"

static void put_rate(struct baton_json_out *out, const char *n_key, uint64_t n, const char *ms_key,
                     double seconds, const char *per_token_key, const char *per_second_key)
{
    baton_json_put_uint(out, n_key, n);
    baton_json_put_real(out, ms_key, seconds * 1e3);
    baton_json_put_real(out, per_token_key, n ? seconds * 1e3 / (double)n : NAN);
    baton_json_put_real(out, per_second_key, seconds > 0 ? (double)n / seconds : NAN);
}

static void put_rates(struct baton_json_out *out, const struct gw_totals *totals)
{
    baton_json_put_uint(out, "cache_n", totals->cached_tokens);
    baton_json_put_uint(out, "disk_n", totals->disk_tokens);
    baton_json_put_uint(out, "stateless_n", totals->stateless_tokens);
    put_rate(out, "prompt_n", totals->run_tokens - totals->cached_tokens, "prompt_ms",
             totals->prompt_s, "prompt_per_token_ms", "prompt_per_second");
    put_rate(out, "predicted_n", totals->output_tokens, "predicted_ms", totals->output_s,
             "predicted_per_token_ms", "predicted_per_second");
    baton_json_put_uint(out, "draft_n", totals->drafted_tokens);
    baton_json_put_uint(out, "draft_n_accepted", totals->accepted_tokens);
}

void gw_timings_put(struct baton_json_out *out, const struct gw_totals *totals)
{
    baton_json_open(out, "timings", '{');
    put_rates(out, totals);
    for (int i = 0; i < BATON_N_STAGES; i++)
        baton_json_put_real(out, baton_stage_key((enum baton_stage)i), totals->stages_s[i]);
    baton_json_put_real(out, "overlap_s", totals->overlap_s);
    baton_json_put_real(out, "preempted_s", totals->preempted_s);
    baton_json_put_real(out, "e2el_s", totals->e2el_s);
    baton_json_put_string(out, "priority", baton_priority_name(totals->priority));
    baton_json_put_uint(out, "migrations", totals->migrations);
    baton_json_put_uint(out, "hand_overs", totals->hand_overs);
    baton_json_put_real(out, "migration_gap_s", totals->migration_gap_s);
    baton_json_put_bool(out, "class_changed", totals->class_changed);
    baton_json_close(out, '}');
}

void gw_timings_put_progress(struct baton_json_out *out, const struct gw_request *request,
                             uint64_t n_tokens, uint64_t cached_tokens)
{
    int64_t since_ns = baton_now_ns() - request->attempt.prefill_sent_ns;
    baton_json_open(out, "prompt_progress", '{');
    baton_json_put_uint(out, "total", request->params.prompt.n);
    baton_json_put_uint(out, "cache", cached_tokens);
    baton_json_put_uint(out, "processed", n_tokens);
    baton_json_put_real(out, "time_ms", baton_seconds(since_ns) * 1e3);
    baton_json_close(out, '}');
}

void gw_timings_put_so_far(struct baton_json_out *out, const struct gw_request *request)
{
    const struct gw_attempt *first = gw_request_first_attempt(request);
    int64_t first_ns = request->output.first_ns;
    const struct gw_totals totals = {.run_tokens = request->params.prompt.n,
                                     .cached_tokens = first->cached_tokens,
                                     .disk_tokens = first->disk_tokens,
                                     .stateless_tokens = first->stateless_tokens,
                                     .output_tokens = request->output.tokens.n,
                                     .prompt_s = first->prefill_compute_s,
                                     .output_s =
                                         first_ns ? baton_seconds(baton_now_ns() - first_ns) : 0,
                                     .drafted_tokens = request->output.n_drafted,
                                     .accepted_tokens = request->output.n_accepted};
    baton_json_open(out, "timings", '{');
    put_rates(out, &totals);
    baton_json_close(out, '}');
}
