#include "bench/handoff/report.h"

#include <math.h>
#include <stdio.h>

#include "bench/bench.h"

enum { JSON_MAX_BYTES = 1 << 20 };

static const struct ho_network here = {0, 0};

static double gb_per_s(const struct ho_times *times)
{
    return (double)times->n_bytes / times->transfer_s / 1e9;
}

/* ---- table ---- */

static void print_head(const struct ho_report *report)
{
    (void)printf("%s %s, %s, %d thread%s; frames over a link through this machine's loopback\n",
                 report->model, report->dtype, report->kernels, report->n_threads,
                 report->n_threads == 1 ? "" : "s");
    if (report->has_network)
        (void)printf("network: %.4g Gbit/s (0: not limited), %.4g ms one way\n",
                     report->network.bytes_per_s * 8 / 1e9, report->network.latency_s * 1e3);
    if (report->skipped.text[0])
        (void)printf("emulation skipped: %s\n", report->skipped.text);
}

static void print_lengths(const struct ho_report *report, const struct ho_figures *figures)
{
    const struct ho_curve *curve = &figures->curve;
    (void)printf("\nKV %s, %.0f bytes a token\n%7s %11s %11s %11s %6s %7s %11s %11s %11s",
                 figures->kv_dtype, curve->bytes_per_token, "prompt", "bytes", "prefill ms",
                 "hand-off ms", "GB/s", "CRC ms", "exposed ms", "shared ms", "exposed ms");
    if (report->has_network)
        (void)printf(" %11s %11s %11s", "network ms", "exposed ms", "emulated ms");
    for (int i = 0; i < curve->n_points; i++) {
        const struct ho_point *point = &figures->points[i];
        const struct ho_times *times = &figures->times[i];
        (void)printf("\n%7d %11llu %11.2f %11.2f %6.2f %7.3f %11.2f %11.2f %11.2f", point->n_tokens,
                     (unsigned long long)times->n_bytes, 1e3 * point->prefill_s,
                     1e3 * times->transfer_s, gb_per_s(times), 1e3 * times->crc_s,
                     1e3 * ho_exposed_s(curve, &here, point->n_tokens),
                     1e3 * figures->shared[i].transfer_s,
                     1e3 * ho_exposed_s(&figures->shared_curve, &here, point->n_tokens));
        if (report->has_network)
            (void)printf(" %11.2f %11.2f",
                         1e3 * ho_transfer_s(curve, &report->network, point->n_tokens),
                         1e3 * ho_exposed_s(curve, &report->network, point->n_tokens));
        if (figures->has_emulated)
            (void)printf(" %11.2f", 1e3 * figures->emulated[i].transfer_s);
        else if (report->has_network)
            (void)printf(" %11s", "-");
    }
    (void)printf("\n");
}

static void print_chunks(const struct ho_report *report, const struct ho_figures *figures)
{
    int longest = figures->points[figures->curve.n_points - 1].n_tokens;
    (void)printf("chunks, of %d tokens:", longest);
    for (int i = 0; i < report->n_chunk_sizes; i++)
        (void)printf("  %zu KiB %.2f GB/s", report->chunk_bytes[i] >> 10,
                     gb_per_s(&figures->by_chunk[i]));
    (void)printf("\n");
}

static void print_break_even(const char *where, const struct ho_curve *curve,
                             const struct ho_network *network, int max_tokens)
{
    static const struct {
        const char *name;
        ho_cost_fn *cost;
    } kinds[] = {{"the whole hand-off", ho_transfer_s}, {"its exposed part", ho_exposed_s}};
    for (int i = 0; i < 2; i++) {
        int n = ho_break_even(curve, network, max_tokens, kinds[i].cost);
        (void)printf("break-even, %s: %s costs ", where, kinds[i].name);
        if (n)
            (void)printf("less than computing the prompt from %d token%s on\n", n,
                         n == 1 ? "" : "s");
        else
            (void)printf("more than computing the prompt, up to %d tokens\n", max_tokens);
    }
}

enum baton_err ho_report_table(const struct ho_report *report)
{
    print_head(report);
    for (int i = 0; i < report->n_figures; i++) {
        const struct ho_figures *figures = &report->figures[i];
        print_lengths(report, figures);
        print_chunks(report, figures);
        print_break_even("here", &figures->curve, &here, report->n_context);
        if (report->has_network)
            print_break_even("network", &figures->curve, &report->network, report->n_context);
    }
    return fflush(stdout) ? BATON_IO : BATON_OK;
}

/* ---- JSON ---- */

static void put_times(struct baton_json_out *out, const struct ho_times *times)
{
    baton_json_put_uint(out, "bytes", times->n_bytes);
    baton_json_put_uint(out, "chunks", times->n_chunks);
    baton_json_put_real(out, "transfer_s", times->transfer_s);
    baton_json_put_real(out, "gb_per_s", gb_per_s(times));
    baton_json_put_real(out, "crc_s", times->crc_s);
}

static void put_length(struct baton_json_out *out, const struct ho_report *report,
                       const struct ho_figures *figures, int i)
{
    const struct ho_curve *curve = &figures->curve;
    const struct ho_point *point = &figures->points[i];
    baton_json_open(out, NULL, '{');
    baton_json_put_int(out, "prompt_tokens", point->n_tokens);
    put_times(out, &figures->times[i]);
    baton_json_put_real(out, "prefill_s", point->prefill_s);
    baton_json_put_real(out, "exposed_s", ho_exposed_s(curve, &here, point->n_tokens));
    baton_json_put_real(out, "shared_transfer_s", figures->shared[i].transfer_s);
    baton_json_put_real(out, "shared_exposed_s",
                        ho_exposed_s(&figures->shared_curve, &here, point->n_tokens));
    if (report->has_network) {
        baton_json_put_real(out, "network_transfer_s",
                            ho_transfer_s(curve, &report->network, point->n_tokens));
        baton_json_put_real(out, "network_exposed_s",
                            ho_exposed_s(curve, &report->network, point->n_tokens));
        baton_json_put_real(out, "emulated_transfer_s",
                            figures->has_emulated ? figures->emulated[i].transfer_s : NAN);
    }
    baton_json_close(out, '}');
}

/* Writes n, or null for 0, which means that there is none. */
static void put_tokens(struct baton_json_out *out, const char *key, int n)
{
    if (n)
        baton_json_put_int(out, key, n);
    else
        baton_json_put_null(out, key);
}

static void put_break_even(struct baton_json_out *out, const char *key,
                           const struct ho_curve *curve, const struct ho_network *network,
                           int max_tokens)
{
    baton_json_open(out, key, '{');
    put_tokens(out, "whole_tokens", ho_break_even(curve, network, max_tokens, ho_transfer_s));
    put_tokens(out, "exposed_tokens", ho_break_even(curve, network, max_tokens, ho_exposed_s));
    baton_json_close(out, '}');
}

static void put_chunks(struct baton_json_out *out, const struct ho_report *report,
                       const struct ho_figures *figures)
{
    baton_json_open(out, "chunk_sizes", '[');
    for (int i = 0; i < report->n_chunk_sizes; i++) {
        baton_json_open(out, NULL, '{');
        baton_json_put_uint(out, "chunk_bytes", report->chunk_bytes[i]);
        put_times(out, &figures->by_chunk[i]);
        baton_json_close(out, '}');
    }
    baton_json_close(out, ']');
}

static void put_figures(struct baton_json_out *out, const struct ho_report *report,
                        const struct ho_figures *figures)
{
    const struct ho_curve *curve = &figures->curve;
    baton_json_open(out, NULL, '{');
    baton_json_put_string(out, "kv_dtype", figures->kv_dtype);
    baton_json_put_real(out, "bytes_per_token", curve->bytes_per_token);
    baton_json_put_real(out, "setup_s", curve->setup_s);
    baton_json_put_real(out, "bytes_per_s", curve->bytes_per_s);
    baton_json_open(out, "lengths", '[');
    for (int i = 0; i < curve->n_points; i++)
        put_length(out, report, figures, i);
    baton_json_close(out, ']');
    put_chunks(out, report, figures);
    baton_json_open(out, "break_even", '{');
    put_break_even(out, "here", curve, &here, report->n_context);
    if (report->has_network)
        put_break_even(out, "network", curve, &report->network, report->n_context);
    baton_json_close(out, '}');
    baton_json_close(out, '}');
}

static void put_network(struct baton_json_out *out, const struct ho_report *report)
{
    if (!report->has_network) {
        baton_json_put_null(out, "network");
        return;
    }
    baton_json_open(out, "network", '{');
    baton_json_put_real(out, "bytes_per_s",
                        report->network.bytes_per_s > 0 ? report->network.bytes_per_s : NAN);
    baton_json_put_real(out, "latency_s", report->network.latency_s);
    if (report->skipped.text[0])
        baton_json_put_string(out, "emulation_skipped", report->skipped.text);
    baton_json_close(out, '}');
}

enum baton_err ho_report_json(const struct ho_report *report)
{
    struct baton_buf buf;
    baton_buf_init(&buf, JSON_MAX_BYTES);
    struct baton_json_out out = baton_json_out(&buf);
    baton_json_open(&out, NULL, '{');
    baton_json_put_string(&out, "model", report->model);
    baton_json_put_string(&out, "dtype", report->dtype);
    baton_json_put_string(&out, "kernels", report->kernels);
    baton_json_put_int(&out, "threads", report->n_threads);
    put_network(&out, report);
    baton_json_open(&out, "kv", '[');
    for (int i = 0; i < report->n_figures; i++)
        put_figures(&out, report, &report->figures[i]);
    baton_json_close(&out, ']');
    baton_json_close(&out, '}');
    return cli_print(&buf);
}
