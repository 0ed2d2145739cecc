/* How close prefill and decode come to the machine: a decode step must read every weight once, so
 * its bytes per second stand beside the speed at which this machine reads as many bytes and does
 * nothing else. Figures are medians; the two are measured in turn, because both move with the
 * neighbours. */
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "common/base/clock.h"
#include "common/engine/floats.h"
#include "common/engine/kernels/kernels.h"
#include "common/engine/pool.h"

enum { REPEATS = 5, STEPS = 16, PAST_TOKENS = 32, MAX_BATCH = 64, OUTPUT_MAX_BYTES = 1 << 20 };

struct options {
    const char *model;
    int64_t threads, prefill, batch;
};

#define AT(field) offsetof(struct options, field)

static const struct baton_option table[] = {
    {"model", BATON_OPTION_TEXT, AT(model), "models/tale", 0, 0, "",
     "model directory, or shape:NAME"},
    {"threads", BATON_OPTION_INT, AT(threads), "1", 1, 256, "", "compute threads"},
    {"prefill", BATON_OPTION_INT, AT(prefill), "512", 1, 4096, "tokens", "the longest prompt"},
    {"batch", BATON_OPTION_INT, AT(batch), "16", 1, MAX_BATCH, "sequences", "the largest batch"},
};

static int compare_reals(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static double median(double values[REPEATS])
{
    qsort(values, REPEATS, sizeof values[0], compare_reals);
    return values[REPEATS / 2];
}

/* ---- the machine ---- */

typedef float vec __attribute__((vector_size(64)));
typedef float unaligned_vec __attribute__((vector_size(64), aligned(4), may_alias));

enum { LANES = 16 };

struct reading {
    const float *floats;
    size_t n_per_item;
    float sums[BATON_POOL_MAX_THREADS]; /* so that the reads are needed */
};

/* ThreadSanitizer is not up yet when the loader asks which clone to use. */
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
#define WIDEST_VECTORS __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define WIDEST_VECTORS
#endif

WIDEST_VECTORS static float sum_all(const float *p, size_t n)
{
    vec a = {0}, b = {0}, c = {0}, d = {0};
    for (size_t i = 0; i + 4 * LANES <= n; i += 4 * LANES) {
        a += *(const unaligned_vec *)(p + i);
        b += *(const unaligned_vec *)(p + i + LANES);
        c += *(const unaligned_vec *)(p + i + 2 * LANES);
        d += *(const unaligned_vec *)(p + i + 3 * LANES);
    }
    vec sum = (a + b) + (c + d);
    return sum[0] + sum[LANES / 2];
}

static void read_part(void *arg, int item, int worker)
{
    struct reading *reading = arg;
    const float *p = reading->floats + (size_t)item * reading->n_per_item;
    reading->sums[worker] += sum_all(p, reading->n_per_item);
}

struct machine_reader {
    struct baton_pool *pool;
    float *floats;
    size_t n;
};

/* As many passes as there are steps, so that both find the same in the cache. */
static double read_s(const struct machine_reader *reader)
{
    enum { PARTS = 64 };
    static struct reading reading;
    reading.floats = reader->floats;
    reading.n_per_item = reader->n / PARTS;
    int64_t start = baton_now_ns();
    for (int i = 0; i < STEPS; i++)
        baton_pool_run(reader->pool, PARTS, read_part, &reading);
    return baton_seconds(baton_now_ns() - start) / STEPS;
}

static enum baton_err reader_init(struct machine_reader *reader, size_t n_bytes, int n_threads,
                                  struct baton_why *why)
{
    enum baton_err err = baton_pool_create(n_threads, &reader->pool, why);
    if (err)
        return err;
    reader->n = n_bytes / sizeof(float);
    reader->floats = baton_floats_create(reader->n);
    return reader->floats ? BATON_OK : BATON_NO_MEMORY;
}

static void reader_fini(struct machine_reader *reader)
{
    free(reader->floats);
    baton_pool_destroy(reader->pool);
}

/* ---- the engine ---- */

static enum baton_err time_prefill(struct bench_machine *machine, const uint32_t *ids, int n,
                                   double *seconds)
{
    double times[REPEATS];
    enum baton_err err = BATON_OK;
    for (int i = 0; i < REPEATS && !err; i++) {
        struct baton_seq seq;
        err = baton_seq_init(&seq, machine->kv, n);
        if (err)
            break;
        int64_t start = baton_now_ns();
        err = baton_engine_prefill(machine->engine, &seq, ids, n, NULL, NULL, machine->logits);
        times[i] = baton_seconds(baton_now_ns() - start);
        baton_seq_fini(&seq);
    }
    if (!err)
        *seconds = median(times);
    return err;
}

static enum baton_err run_steps(struct bench_machine *machine, struct baton_seq *const *seqs,
                                const uint32_t *ids, int n_seqs, double *seconds)
{
    enum baton_err err = BATON_OK;
    for (int b = 0; b < n_seqs; b++)
        seqs[b]->n_tokens = PAST_TOKENS;
    int64_t start = baton_now_ns();
    for (int i = 0; i < STEPS && !err; i++)
        err = baton_engine_decode(machine->engine, seqs, ids, n_seqs, machine->logits);
    *seconds = baton_seconds(baton_now_ns() - start) / STEPS;
    return err;
}

struct decode_times {
    double step_s, read_s;
};

static enum baton_err time_decode(struct bench_machine *machine,
                                  const struct machine_reader *reader, const uint32_t *ids,
                                  int n_seqs, struct decode_times *times)
{
    struct baton_seq seqs[MAX_BATCH] = {0}, *batch[MAX_BATCH];
    double steps[REPEATS], reads[REPEATS];
    enum baton_err err = BATON_OK;
    for (int b = 0; b < n_seqs && !err; b++) {
        batch[b] = &seqs[b];
        err = baton_seq_init(&seqs[b], machine->kv, PAST_TOKENS + STEPS);
        if (!err)
            err =
                baton_engine_prefill(machine->engine, &seqs[b], ids, PAST_TOKENS, NULL, NULL, NULL);
    }
    for (int i = 0; i < REPEATS && !err; i++) {
        reads[i] = read_s(reader);
        err = run_steps(machine, batch, ids, n_seqs, &steps[i]);
    }
    if (!err)
        *times = (struct decode_times){.step_s = median(steps), .read_s = median(reads)};
    for (int b = 0; b < n_seqs; b++)
        baton_seq_fini(&seqs[b]);
    return err;
}

static enum baton_err report_prefill(struct bench_machine *machine, const uint32_t *ids,
                                     int longest, struct baton_json_out *out)
{
    enum baton_err err = BATON_OK;
    baton_json_open(out, "prefill", '[');
    for (int n = longest < 16 ? longest : 16; n <= longest && !err; n *= 2) {
        double seconds = 0;
        err = time_prefill(machine, ids, n, &seconds);
        baton_json_open(out, NULL, '{');
        baton_json_put_int(out, "tokens", n);
        baton_json_put_real(out, "prefill_s", seconds);
        baton_json_put_real(out, "tokens_per_s", n / seconds);
        baton_json_close(out, '}');
    }
    baton_json_close(out, ']');
    return err;
}

static enum baton_err report_decode(struct bench_machine *machine,
                                    const struct machine_reader *reader, const uint32_t *ids,
                                    int largest, struct baton_json_out *out)
{
    double gigabytes = (double)baton_model_step_bytes(machine->model) * 1e-9;
    enum baton_err err = BATON_OK;
    baton_json_open(out, "decode", '[');
    for (int n = 1; n <= largest && !err; n *= 2) {
        struct decode_times times = {0};
        err = time_decode(machine, reader, ids, n, &times);
        baton_json_open(out, NULL, '{');
        baton_json_put_int(out, "batch", n);
        baton_json_put_real(out, "step_s", times.step_s);
        baton_json_put_real(out, "tokens_per_s", n / times.step_s);
        baton_json_put_real(out, "weights_gb_per_s", gigabytes / times.step_s);
        baton_json_put_real(out, "read_gb_per_s", gigabytes / times.read_s);
        baton_json_put_real(out, "of_read_bandwidth", times.read_s / times.step_s);
        baton_json_close(out, '}');
    }
    baton_json_close(out, ']');
    return err;
}

static enum baton_err report(struct bench_machine *machine, const struct machine_reader *reader,
                             const struct options *options, const uint32_t *ids)
{
    struct baton_buf buf;
    baton_buf_init(&buf, OUTPUT_MAX_BYTES);
    struct baton_json_out out = baton_json_out(&buf);
    baton_json_open(&out, NULL, '{');
    baton_json_put_string(&out, "model", options->model);
    baton_json_put_string(&out, "kernels", baton_kernels_best()->name);
    baton_json_put_int(&out, "threads", options->threads);
    baton_json_put_uint(&out, "step_bytes", baton_model_step_bytes(machine->model));
    enum baton_err err = report_prefill(machine, ids, (int)options->prefill, &out);
    if (!err)
        err = report_decode(machine, reader, ids, (int)options->batch, &out);
    baton_json_close(&out, '}');
    if (err) {
        baton_buf_fini(&buf);
        return err;
    }
    return bench_print(&buf);
}

/* Any ids do: the work does not depend on them. */
static uint32_t *make_ids(const struct baton_model *model, int n)
{
    uint32_t *ids = calloc((size_t)n, sizeof *ids);
    for (int i = 0; ids && i < n; i++)
        ids[i] = (uint32_t)(7 * i % baton_model_shape(model)->n_vocab);
    return ids;
}

static enum baton_err run(const void *arg, struct baton_why *why)
{
    const struct options *options = arg;
    int n_threads = (int)options->threads, n_prefill = (int)options->prefill;
    int n_ids = n_prefill > MAX_BATCH ? n_prefill : MAX_BATCH;
    const struct baton_engine_options engine_options = {
        .max_prefill_tokens = n_ids, .max_batch = MAX_BATCH, .n_threads = n_threads};
    int n_kv_tokens = MAX_BATCH * (PAST_TOKENS + STEPS) + n_prefill;
    struct bench_machine machine = {0};
    struct machine_reader reader = {0};
    uint32_t *ids = NULL;
    enum baton_err err =
        bench_machine_init(&machine, options->model, n_kv_tokens, &engine_options, why);
    if (!err)
        err = reader_init(&reader, baton_model_step_bytes(machine.model), n_threads, why);
    if (!err) {
        ids = make_ids(machine.model, n_ids);
        err = ids ? report(&machine, &reader, options, ids) : BATON_NO_MEMORY;
    }
    free(ids);
    reader_fini(&reader);
    bench_machine_fini(&machine);
    return err;
}

enum baton_err bench_engine(int argc, char **argv, struct baton_why *why)
{
    struct options options = {0};
    struct baton_config config = {.process = "baton-bench engine",
                                  .summary = "measures prefill and decode beside read bandwidth",
                                  .options = table,
                                  .n_options = sizeof table / sizeof table[0]};
    return bench_run(&config, &options, argc, argv, run, why);
}
