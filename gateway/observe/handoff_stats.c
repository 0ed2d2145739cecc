#include "gateway/observe/handoff_stats.h"

#include <math.h>

#include "common/obs/prom.h"

void gw_handoff_stats_note(struct gw_handoff_stats *handoff_stats, const struct gw_handoff *handoff)
{
    if (!handoff->n_bytes)
        return;
    handoff_stats->n_bytes += handoff->n_bytes;
    handoff_stats->n_shared_bytes += handoff->n_shared_bytes;
    handoff_stats->n_chunks += handoff->n_chunks;
    handoff_stats->crc_s += handoff->crc_s;
    handoff_stats->overlap_s += handoff->overlap_s;
    baton_hist_observe(&handoff_stats->transfer, handoff->transfer_s);
    baton_hist_observe(&handoff_stats->exposed, handoff->exposed_s);
}

static void write_total(struct baton_buf *out, const char *name, const char *help, double value)
{
    baton_prom_family(out, name, "counter", help);
    baton_prom_sample(out, name, value, NULL);
}

void gw_handoff_stats_write(const struct gw_handoff_stats *handoff_stats, struct baton_buf *out)
{
    write_total(out, "baton_kv_transfer_bytes_total", "Context bytes handed over.",
                (double)handoff_stats->n_bytes);
    write_total(out, "baton_kv_transfer_shared_bytes_total",
                "Context bytes handed over through shared memory and not over a link.",
                (double)handoff_stats->n_shared_bytes);
    write_total(out, "baton_kv_transfer_chunks_total", "Chunks of contexts handed over.",
                (double)handoff_stats->n_chunks);
    write_total(out, "baton_kv_transfer_crc_seconds_total",
                "Time that decode workers took to check the chunks' CRCs.", handoff_stats->crc_s);
    write_total(out, "baton_kv_transfer_overlap_seconds_total",
                "Transfer time that overlapped the computation of the prompt.",
                handoff_stats->overlap_s);
    baton_prom_family(out, "baton_kv_transfer_seconds", "histogram",
                      "Time from a context's first chunk to its last one, at the receiver.");
    baton_prom_hist(out, "baton_kv_transfer_seconds", &handoff_stats->transfer, NULL, NULL);
    baton_prom_family(out, "baton_kv_transfer_exposed_seconds", "histogram",
                      "Time that a decode worker with the first token waited for the context.");
    baton_prom_hist(out, "baton_kv_transfer_exposed_seconds", &handoff_stats->exposed, NULL, NULL);
}

/* NAN, which becomes null in JSON, without a time to divide by. */
static double per(double amount, double seconds)
{
    return seconds > 0 ? amount / seconds : NAN;
}

/* "both": the first context between two workers begins over the link while they set up their shared
 * memory. */
static const char *path_of(const struct gw_handoff *handoff)
{
    if (!handoff->n_shared_bytes)
        return "wire";
    return handoff->n_shared_bytes == handoff->n_bytes ? "shared" : "both";
}

void gw_handoff_put(struct baton_json_out *out, const struct gw_handoff *handoff)
{
    if (!handoff->n_bytes) {
        baton_json_put_null(out, "handoff");
        return;
    }
    baton_json_open(out, "handoff", '{');
    baton_json_put_uint(out, "bytes", handoff->n_bytes);
    baton_json_put_uint(out, "chunks", handoff->n_chunks);
    baton_json_put_string(out, "path", path_of(handoff));
    baton_json_put_real(out, "transfer_s", handoff->transfer_s);
    baton_json_put_real(out, "gb_per_s", per((double)handoff->n_bytes / 1e9, handoff->transfer_s));
    baton_json_put_real(out, "crc_s", handoff->crc_s);
    baton_json_put_real(out, "overlap_s", handoff->overlap_s);
    baton_json_put_real(out, "overlap_share", per(handoff->overlap_s, handoff->transfer_s));
    baton_json_put_real(out, "exposed_s", handoff->exposed_s);
    baton_json_close(out, '}');
}
