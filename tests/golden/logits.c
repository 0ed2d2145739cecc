/* Runs token ids through a model and writes logits, as float32 without any text between: the engine
 * as the reference scripts see it.
 *
 *     golden_logits [--dtype D] [--kv-dtype D] [--kernels K] [--threads N] [--adapter A] MODEL_DIR
 *
 * Each line of standard input is one request of a fresh sequence, "MODE ID...":
 *     score     the logits that follow each token, in one chunk: [T][V]
 *     decode    the same, a step for each token
 *     chunksN   of the last position [V], the prompt in chunks of N tokens
 *     prefill   of the last position, in one chunk
 *     among     the logits that follow each token, a step for each beside other sequences' chunks
 *     naive     of the last position, without a KV cache
 *
 * --adapter changes all sequences but those others. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/adapter.h"
#include "engine/model/model.h"

enum { MAX_TOKENS = 1024, LINE_BYTES = 64 << 10, N_AMONG = 3 };

struct machine {
    struct baton_model *model;
    struct baton_kv *kv;
    struct baton_engine *engine;
    struct baton_adapter *adapter;
    struct baton_seq seq;
    struct baton_blend blend; /* of seq */
    int n_vocab;
    float *logits; /* [BATON_SCORE_ROWS][V] */
};

struct choices {
    struct baton_model_options model;
    const char *kv_dtype, *adapter;
    int n_threads;
};

static enum baton_err set_up(struct machine *m, const char *dir, const struct choices *choices,
                             struct baton_why *why)
{
    const struct baton_engine_options options = {.max_rows = MAX_TOKENS,
                                                 .n_threads = choices->n_threads,
                                                 .adapts = choices->adapter != NULL};
    enum baton_err err = baton_model_open(dir, &choices->model, &m->model, why);
    if (!err)
        err = baton_kv_create(
            m->model,
            &(struct baton_kv_pool_options){.dtype = choices->kv_dtype,
                                            .n_blocks = baton_kv_blocks_for(MAX_TOKENS)},
            &m->kv, why);
    if (!err)
        err = baton_engine_create(m->model, &options, &m->engine, why);
    if (!err && choices->adapter) {
        m->blend.n = 1;
        m->blend.list[0].scale = 1;
        err = baton_adapter_load(m->model, choices->adapter, &m->adapter, why);
        m->blend.list[0].adapter = m->adapter;
    }
    if (err)
        return err;
    m->n_vocab = baton_model_info(m->model)->n_vocab;
    m->logits = calloc((size_t)BATON_SCORE_ROWS * (size_t)m->n_vocab, sizeof *m->logits);
    return m->logits ? BATON_OK : BATON_NO_MEMORY;
}

static void tear_down(struct machine *m)
{
    free(m->logits);
    baton_engine_destroy(m->engine);
    baton_adapter_close(m->adapter);
    baton_kv_destroy(m->kv);
    baton_model_close(m->model);
}

static void write_row(const struct machine *m, const float *row)
{
    (void)fwrite(row, sizeof *row, (size_t)m->n_vocab, stdout);
}

static void on_row(void *arg, int row, const float *logits)
{
    (void)row;
    write_row(arg, logits);
}

static enum baton_err decode(struct machine *m, const uint32_t *tokens, int n)
{
    struct baton_seq *seq = &m->seq;
    for (int i = 0; i < n; i++) {
        enum baton_err err = baton_engine_decode(m->engine, &seq, &tokens[i], 1, m->logits);
        if (err)
            return err;
        write_row(m, m->logits);
    }
    return BATON_OK;
}

static enum baton_err prefill(struct machine *m, const uint32_t *tokens, int n, int chunk)
{
    enum baton_err err = BATON_OK;
    for (int done = 0; done < n && !err; done += chunk) {
        int n_now = n - done < chunk ? n - done : chunk;
        err = baton_engine_prefill(m->engine, &m->seq, tokens + done, n_now, NULL, NULL, m->logits);
    }
    return err;
}

/* Like decode, while others run chunks of 17 and 3 tokens until they are as long. */
static enum baton_err among(struct machine *m, const uint32_t *tokens, int n)
{
    static const int n_at_once[N_AMONG] = {1, 17, 3};
    struct baton_seq others[N_AMONG] = {0}, *seqs[N_AMONG] = {&m->seq, &others[1], &others[2]};
    enum baton_err err = baton_seq_init(seqs[1], m->kv, n);
    if (!err)
        err = baton_seq_init(seqs[2], m->kv, n);
    for (int i = 0; i < n && !err; i++) {
        struct baton_chunk chunks[N_AMONG];
        int n_chunks = 0;
        for (int j = N_AMONG - 1; j >= 0; j--) {
            const int left = n - seqs[j]->n_tokens, most = n_at_once[j];
            if (left)
                chunks[n_chunks++] = (struct baton_chunk){.seq = seqs[j],
                                                          .tokens = tokens + n - left,
                                                          .n_tokens = left < most ? left : most,
                                                          .n_logits = 1};
        }
        err = baton_engine_forward(m->engine, chunks, n_chunks, NULL, NULL, m->logits);
        if (!err)
            write_row(m, m->logits + (size_t)(n_chunks - 1) * (size_t)m->n_vocab);
    }
    baton_seq_fini(seqs[1]);
    baton_seq_fini(seqs[2]);
    return err;
}

/* A mode's name and its run. */
static enum baton_err run(struct machine *m, const char *mode, const uint32_t *tokens, int n)
{
    enum baton_err err;
    if (!strcmp(mode, "score"))
        return baton_engine_score(m->engine, &m->seq, tokens, n, NULL, NULL, on_row, m, m->logits);
    if (!strcmp(mode, "decode"))
        return decode(m, tokens, n);
    if (!strcmp(mode, "among"))
        return among(m, tokens, n);
    if (!strcmp(mode, "naive"))
        err = baton_engine_naive(m->engine, &m->seq, tokens, n, m->logits);
    else
        err =
            prefill(m, tokens, n, strncmp(mode, "chunks", 6) ? n : (int)strtol(mode + 6, NULL, 10));
    if (!err)
        write_row(m, m->logits);
    return err;
}

/* One request: "MODE ID..." */
static enum baton_err answer(struct machine *m, char *line)
{
    static uint32_t tokens[MAX_TOKENS];
    int n = 0;
    char *rest = NULL, *mode = strtok_r(line, " \n", &rest);
    for (char *word; n < MAX_TOKENS && (word = strtok_r(NULL, " \n", &rest));)
        tokens[n++] = (uint32_t)strtoul(word, NULL, 10);
    if (!mode)
        return BATON_INVALID;
    enum baton_err err = baton_seq_init(&m->seq, m->kv, n);
    if (err)
        return err;
    m->seq.blend = m->blend.n ? &m->blend : NULL;
    err = run(m, mode, tokens, n);
    baton_seq_fini(&m->seq);
    return err;
}

static const char *parse(int argc, char **argv, struct choices *choices)
{
    const struct option options[] = {
        {"dtype", required_argument, NULL, 'd'},   {"kv-dtype", required_argument, NULL, 'v'},
        {"kernels", required_argument, NULL, 'k'}, {"threads", required_argument, NULL, 't'},
        {"adapter", required_argument, NULL, 'a'}, {0}};
    for (int c; (c = getopt_long(argc, argv, "", options, NULL)) >= 0;) {
        if (c == 'd')
            choices->model.dtype = optarg;
        else if (c == 'v')
            choices->kv_dtype = optarg;
        else if (c == 'a')
            choices->adapter = optarg;
        else if (c == 'k')
            choices->model.kernels = optarg;
        else if (c == 't')
            choices->n_threads = (int)strtol(optarg, NULL, 10);
        else
            return NULL;
    }
    return optind == argc - 1 ? argv[optind] : NULL;
}

int main(int argc, char **argv)
{
    static char line[LINE_BYTES];
    struct choices choices = {.n_threads = 2};
    struct baton_why why = {.text = ""};
    struct machine m = {0};
    const char *dir = parse(argc, argv, &choices);
    if (!dir) {
        (void)fprintf(stderr, "usage: golden_logits [OPTIONS] MODEL_DIR, requests on stdin\n");
        return 2;
    }
    enum baton_err err = set_up(&m, dir, &choices, &why);
    while (!err && fgets(line, sizeof line, stdin))
        err = answer(&m, line);
    if (err)
        (void)fprintf(stderr, "%s: %s\n", baton_err_name(err), why.text);
    tear_down(&m);
    return err ? 1 : 0;
}
