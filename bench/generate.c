/* baton-bench generate: one prompt in one process. The gateway and its workers must reproduce it
 * token for token. */
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "common/base/array.h"
#include "common/base/clock.h"
#include "engine/checkpoint/checkpoint.h"
#include "engine/sampling/sampler.h"
#include "engine/tokenizer/tokenizer.h"
#include "tools/support/machine/machine.h"
#include "tools/support/machine/shapes.h"

enum { OUTPUT_MAX_BYTES = 64 << 20, MAX_CONTEXT = 1 << 20, MAX_RUNS = 100 };

struct options {
    const char *model, *dtype, *kernels, *kv_dtype, *tokens, *prompt;
    int64_t max_new, top_k, seed, threads, runs;
    double temperature, top_p, min_p, repetition_penalty, presence_penalty, frequency_penalty;
    bool naive, ignore_eos;
};

static const struct baton_option table[] = {
    BATON_ROW_TEXT(struct options, model, "model", "models/tale", "model directory, or shape:NAME"),
    BATON_ROW_TEXT(struct options, dtype, "dtype", NULL, BATON_DTYPE_HELP),
    BATON_ROW_TEXT(struct options, kernels, "kernels", "auto",
                   "kernel set: auto, amx, avx512vnni, avx512, avx2, i8mm, dotprod, neon, portable "
                   "or openblas"),
    BATON_ROW_TEXT(struct options, kv_dtype, "kv-dtype", "auto",
                   "element type of the KV cache: auto, f32, f16 or q8"),
    BATON_ROW_TEXT(struct options, tokens, "tokens", NULL, "the prompt as ids: 1,2,3"),
    BATON_ROW_TEXT(struct options, prompt, "prompt", NULL, "the prompt as text"),
    BATON_ROW_INT(struct options, max_new, "max-new", "20", 1, MAX_CONTEXT, "tokens",
                  "tokens to generate"),
    BATON_ROW_REAL(struct options, temperature, "temperature", "0", 0, 100, "",
                   "sampling temperature; 0 = greedy"),
    BATON_ROW_INT(struct options, top_k, "top-k", "0", 0, UINT32_MAX, "tokens",
                  "sample from this many most probable tokens; 0 = off"),
    BATON_ROW_REAL(struct options, top_p, "top-p", "1", 1e-9, 1, "",
                   "sample from the most probable tokens with this sum of probabilities; 1 = off"),
    BATON_ROW_REAL(
        struct options, min_p, "min-p", "0", 0, 1, "",
        "sample from tokens with at least this share of the highest probability; 0 = off"),
    BATON_ROW_REAL(struct options, repetition_penalty, "repetition-penalty", "1", 1e-3, 1e3, "",
                   "divisor for logits of tokens in prompt and output; 1 = off"),
    BATON_ROW_REAL(struct options, presence_penalty, "presence-penalty", "0", -100, 100, "",
                   "subtracted from logits of generated tokens"),
    BATON_ROW_REAL(struct options, frequency_penalty, "frequency-penalty", "0", -100, 100, "",
                   "subtracted from logits of generated tokens, once per occurrence"),
    BATON_ROW_INT(struct options, seed, "seed", "0", 0, 9.0e15, "", "seed of the draws"),
    BATON_ROW_INT(struct options, threads, "threads", "1", 1, 256, "", "compute threads"),
    BATON_ROW_INT(struct options, runs, "runs", "1", 1, MAX_RUNS, "",
                  "number of runs; the first, cold one is timed apart from the others"),
    BATON_ROW_BOOL(struct options, naive, "naive", "false",
                   "recompute the whole prefix in each step"),
    BATON_ROW_BOOL(struct options, ignore_eos, "ignore-eos", "false",
                   "continue after the end of the text"),
};

struct generation {
    const struct options *options;
    struct bench_machine machine;
    struct baton_sampler *sampler;
    struct baton_model_facts facts;
    struct baton_seq seq;
    struct baton_tokens tokens;   /* the prompt, then the generated tokens */
    struct baton_history history; /* the same tokens, for penalties */
    size_t n_prompt;
    bool ended; /* by an end-of-text token, which tokens does not contain */
    struct {
        double prefill_s, decode_s;
    } times[MAX_RUNS];
};

static enum baton_err add_token(struct baton_tokens *tokens, uint32_t id)
{
    if (BATON_RESERVE(tokens->ids, tokens->cap, tokens->n + 1))
        return BATON_NO_MEMORY;
    tokens->ids[tokens->n++] = id;
    return BATON_OK;
}

static enum baton_err parse_ids(const char *text, struct baton_tokens *tokens,
                                struct baton_why *why)
{
    enum baton_err err = BATON_OK;
    for (const char *p = text; !err; p++) {
        char *end;
        unsigned long id = strtoul(p, &end, 10);
        if (end == p || *p < '0' || *p > '9' || id > UINT32_MAX || (*end && *end != ','))
            return baton_fail(why, BATON_INVALID, "--tokens: must be numbers with commas between");
        err = add_token(tokens, (uint32_t)id);
        if (!*end)
            break;
        p = end;
    }
    return err;
}

static enum baton_err read_prompt(struct generation *g, struct baton_tokenizer *tokenizer,
                                  struct baton_why *why)
{
    const struct options *options = g->options;
    enum baton_err err;
    if (!options->tokens == !options->prompt)
        return baton_fail(why, BATON_INVALID, "give either --tokens or --prompt");
    if (options->tokens)
        err = parse_ids(options->tokens, &g->tokens, why);
    else if (!tokenizer)
        return baton_fail(why, BATON_INVALID, "--prompt needs a model with a tokenizer");
    else
        err = baton_tokenizer_encode(tokenizer, options->prompt, strlen(options->prompt), true,
                                     MAX_CONTEXT, &g->tokens, why);
    if (!err && !g->tokens.n)
        err = baton_fail(why, BATON_INVALID, "the prompt has no tokens");
    g->n_prompt = g->tokens.n;
    return err;
}

static bool is_eos(const struct generation *g, uint32_t id)
{
    for (int i = 0; i < g->facts.n_eos; i++)
        if (g->facts.eos_ids[i] == (int64_t)id)
            return !g->options->ignore_eos;
    return false;
}

/* Computes the logits of the position after all tokens so far. */
static enum baton_err compute(struct generation *g)
{
    struct bench_machine *machine = &g->machine;
    struct baton_seq *seq = &g->seq;
    const uint32_t *ids = g->tokens.ids;
    int n = (int)g->tokens.n;
    /* The naive loop exists to measure how much the KV cache saves. */
    if (g->options->naive)
        return baton_engine_naive(machine->engine, seq, ids, n, machine->logits);
    if (!seq->n_tokens)
        return baton_engine_prefill(machine->engine, seq, ids, n, NULL, NULL, machine->logits);
    return baton_engine_decode(machine->engine, &seq, &ids[n - 1], 1, machine->logits);
}

static struct baton_sampling_params sampling_of(const struct options *options)
{
    return (struct baton_sampling_params){.temperature = options->temperature,
                                          .top_k = (uint32_t)options->top_k,
                                          .top_p = options->top_p,
                                          .min_p = options->min_p,
                                          .repetition_penalty = options->repetition_penalty,
                                          .presence_penalty = options->presence_penalty,
                                          .frequency_penalty = options->frequency_penalty,
                                          .seed = (uint64_t)options->seed};
}

/* Resets everything to the prompt alone. */
static enum baton_err begin(struct generation *g)
{
    g->ended = false;
    g->seq.n_tokens = 0;
    g->tokens.n = g->n_prompt;
    baton_history_fini(&g->history);
    enum baton_err err = baton_history_init(&g->history, g->n_prompt + (size_t)g->options->max_new);
    if (!err)
        baton_history_add_prompt(&g->history, g->tokens.ids, g->n_prompt);
    return err;
}

static enum baton_err generate(struct generation *g, int64_t run)
{
    const struct baton_sampling_params sampling = sampling_of(g->options);
    enum baton_err err = begin(g);
    int64_t start = baton_now_ns();
    for (int64_t i = 0; i < g->options->max_new && !err && !g->ended; i++) {
        err = compute(g);
        if (err)
            break;
        uint32_t id =
            baton_sampler_pick(g->sampler, g->machine.logits, &sampling, &g->history, g->tokens.n);
        baton_history_add_output(&g->history, id);
        if (i == 0)
            g->times[run].prefill_s = baton_seconds(baton_now_ns() - start);
        g->ended = is_eos(g, id);
        if (!g->ended)
            err = add_token(&g->tokens, id);
    }
    g->times[run].decode_s = baton_seconds(baton_now_ns() - start) - g->times[run].prefill_s;
    return err;
}

static enum baton_err generate_all(struct generation *g)
{
    enum baton_err err = BATON_OK;
    for (int64_t run = 0; run < g->options->runs && !err; run++)
        err = generate(g, run);
    return err;
}

static enum baton_err prepare(struct generation *g, struct baton_why *why)
{
    const struct options *options = g->options;
    int64_t n = (int64_t)g->n_prompt + options->max_new;
    int n_threads = (int)options->threads;
    const struct bench_machine_options machine_options = {
        .name = options->model,
        .model = {.dtype = options->dtype, .kernels = options->kernels, .n_threads = n_threads},
        .kv_dtype = options->kv_dtype,
        .n_kv_tokens = (int)n,
        .engine = {.max_rows = (int)n, .n_threads = n_threads},
        .max_logits = 1};
    enum baton_err err = bench_machine_init(&g->machine, &machine_options, why);
    if (err)
        return err;
    const struct baton_model_info *info = baton_model_info(g->machine.model);
    if (n > info->n_context)
        return baton_fail(why, BATON_INVALID, "prompt and --max-new need %lld positions of %d",
                          (long long)n, info->n_context);
    /* Text is encoded by the tokenizer, but --tokens may hold any number. */
    for (size_t i = 0; i < g->n_prompt; i++)
        if (g->tokens.ids[i] >= (uint32_t)info->n_vocab)
            return baton_fail(why, BATON_INVALID, "--tokens: %u is not below the vocabulary of %d",
                              g->tokens.ids[i], info->n_vocab);
    g->sampler = baton_sampler_create(info->n_vocab);
    if (!g->sampler)
        return BATON_NO_MEMORY;
    return baton_seq_init(&g->seq, g->machine.kv, (int)n);
}

static void put_text(struct baton_json_out *out, const struct generation *g,
                     struct baton_tokenizer *tokenizer)
{
    struct baton_buf text;
    if (!tokenizer)
        return;
    baton_buf_init(&text, OUTPUT_MAX_BYTES);
    for (size_t i = g->n_prompt; i < g->tokens.n; i++) {
        size_t n = 0;
        const char *bytes = baton_tokenizer_bytes(tokenizer, g->tokens.ids[i], &n);
        baton_buf_append(&text, bytes, n);
    }
    baton_json_put_text(out, "text", baton_buf_text(&text), text.len);
    baton_buf_fini(&text);
}

static void put_times(struct baton_json_out *out, const struct generation *g, int64_t run)
{
    baton_json_put_real(out, "prefill_s", g->times[run].prefill_s);
    baton_json_put_real(out, "decode_s", g->times[run].decode_s);
}

static enum baton_err report(const struct generation *g, struct baton_tokenizer *tokenizer)
{
    struct baton_buf buf;
    baton_buf_init(&buf, OUTPUT_MAX_BYTES);
    struct baton_json_out out = baton_json_out(&buf);
    baton_json_open(&out, NULL, '{');
    baton_json_open(&out, "tokens", '[');
    for (size_t i = g->n_prompt; i < g->tokens.n; i++)
        baton_json_put_uint(&out, NULL, g->tokens.ids[i]);
    baton_json_close(&out, ']');
    put_text(&out, g, tokenizer);
    baton_json_put_int(&out, "prompt_tokens", (int64_t)g->n_prompt);
    baton_json_put_string(&out, "finish_reason", g->ended ? "eos" : "length");
    put_times(&out, g, 0);
    baton_json_open(&out, "again", '[');
    for (int64_t run = 1; run < g->options->runs; run++) {
        baton_json_open(&out, NULL, '{');
        put_times(&out, g, run);
        baton_json_close(&out, '}');
    }
    baton_json_close(&out, ']');
    baton_json_close(&out, '}');
    return cli_print(&buf);
}

static enum baton_err read_facts(const char *path, struct baton_model_facts *facts,
                                 struct baton_why *why)
{
    struct baton_checkpoint *checkpoint = NULL;
    enum baton_err err = baton_checkpoint_open(path, &checkpoint, why);
    if (!err)
        *facts = checkpoint->facts;
    baton_checkpoint_close(checkpoint);
    return err;
}

static enum baton_err run(const void *arg, struct baton_why *why)
{
    const struct options *options = arg;
    struct generation g = {.options = options};
    struct baton_tokenizer *tokenizer = NULL;
    enum baton_err err = BATON_OK;
    if (!bench_shape_name(options->model)) {
        err = read_facts(options->model, &g.facts, why);
        if (!err)
            err = baton_tokenizer_open(options->model, &tokenizer, why);
    }
    if (!err)
        err = read_prompt(&g, tokenizer, why);
    if (!err)
        err = prepare(&g, why);
    if (!err)
        err = generate_all(&g);
    if (!err)
        err = report(&g, tokenizer);
    baton_seq_fini(&g.seq);
    baton_history_fini(&g.history);
    baton_sampler_destroy(g.sampler);
    bench_machine_fini(&g.machine);
    baton_tokens_fini(&g.tokens);
    baton_tokenizer_close(tokenizer);
    return err;
}

enum baton_err bench_generate(int argc, char **argv, struct baton_why *why)
{
    struct options options = {0};
    struct baton_config config = {.process = "baton-bench generate",
                                  .env_prefix = "BATON_BENCH",
                                  .summary = "generates from one prompt in a single process",
                                  .options = table,
                                  .n_options = BATON_N_OF(table)};
    return cli_run(&config, &options, argc, argv, run, why);
}
