/* Runs texts' token ids through an encoder and writes their vectors or scores, as float32 without
 * any text between: the engine as the tests of encoders see it.
 *
 *     golden_vectors [--dtype D] [--kernels K] [--threads N] [--together] MODEL
 *
 * Each line of standard input is a text, "FIRST_PART ID...": the second text of a pair begins at
 * the row FIRST_PART; 0: there is one text. --together runs all of them in one forward.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/checkpoint/checkpoint.h"
#include "engine/model/model.h"

enum { MAX_TEXTS = BATON_POOL_ROWS, MAX_TOKENS = 1024, LINE_BYTES = 64 << 10 };

struct text {
    uint32_t tokens[MAX_TOKENS];
    int n, first_part;
};

struct machine {
    struct baton_checkpoint *checkpoint;
    struct baton_model *model;
    struct baton_kv *kv;
    struct baton_engine *engine;
    struct text texts[MAX_TEXTS];
    int n_texts;
};

static enum baton_err set_up(struct machine *m, const char *path,
                             const struct baton_model_options *options, int n_threads,
                             struct baton_why *why)
{
    const struct baton_engine_options engine = {.max_rows = MAX_TOKENS * MAX_TEXTS,
                                                .n_threads = n_threads};
    const struct baton_kv_pool_options kv = {.n_blocks =
                                                 baton_kv_blocks_for(MAX_TOKENS) * MAX_TEXTS};
    enum baton_err err = baton_checkpoint_open(path, &m->checkpoint, why);
    if (!err)
        err = baton_model_load(m->checkpoint, options, &m->model, why);
    if (!err)
        err = baton_kv_create(m->model, &kv, &m->kv, why);
    return err ? err : baton_engine_create(m->model, &engine, &m->engine, why);
}

static void tear_down(struct machine *m)
{
    baton_engine_destroy(m->engine);
    baton_kv_destroy(m->kv);
    baton_model_close(m->model);
    baton_checkpoint_close(m->checkpoint);
}

static void read_text(struct text *text, char *line)
{
    char *rest = NULL, *word = strtok_r(line, " \n", &rest);
    text->first_part = word ? (int)strtol(word, NULL, 10) : 0;
    for (text->n = 0; text->n < MAX_TOKENS && (word = strtok_r(NULL, " \n", &rest));)
        text->tokens[text->n++] = (uint32_t)strtoul(word, NULL, 10);
}

static struct baton_chunk chunk_of(const struct machine *m, const struct text *text,
                                   struct baton_seq *seq, double *pooled)
{
    enum baton_pooling pooling = m->checkpoint->facts.pooling;
    return (struct baton_chunk){.seq = seq,
                                .tokens = text->tokens,
                                .n_tokens = text->n,
                                .n_pooled = pooling == BATON_POOLING_MEAN ? text->n : 1,
                                .pools_first = pooling == BATON_POOLING_CLS,
                                .pooled = pooled,
                                .n_first_part = text->first_part};
}

static enum baton_err run(struct machine *m, int first, int n)
{
    const struct baton_model_info *info = baton_model_info(m->model);
    size_t n_embd = (size_t)info->n_embd, n_pooled = (size_t)info->n_pooled;
    struct baton_seq seqs[MAX_TEXTS] = {0};
    struct baton_chunk chunks[MAX_TEXTS];
    double *pooled = calloc((size_t)n * n_embd, sizeof *pooled);
    float *x = calloc((size_t)n * (n_embd + n_pooled), sizeof *x), *y = x + (size_t)n * n_embd;
    enum baton_err err = pooled && x ? BATON_OK : BATON_NO_MEMORY;
    for (int i = 0; i < n && !err; i++) {
        err = baton_seq_init(&seqs[i], m->kv, m->texts[first + i].n);
        chunks[i] = chunk_of(m, &m->texts[first + i], &seqs[i], pooled + (size_t)i * n_embd);
    }
    if (!err)
        err = baton_engine_forward(m->engine, chunks, n, NULL, NULL, NULL);
    for (int i = 0; i < n && !err; i++)
        for (size_t k = 0; k < n_embd; k++)
            x[(size_t)i * n_embd + k] = (float)(chunks[i].pooled[k] / chunks[i].n_pooled);
    if (!err)
        baton_engine_pool(m->engine, x, n, y);
    if (!err)
        (void)fwrite(y, sizeof *y, (size_t)n * n_pooled, stdout);
    for (int i = 0; i < n; i++)
        baton_seq_fini(&seqs[i]);
    free(pooled);
    free(x);
    return err;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {{"dtype", required_argument, NULL, 'd'},
                                            {"kernels", required_argument, NULL, 'k'},
                                            {"threads", required_argument, NULL, 't'},
                                            {"together", no_argument, NULL, 'g'},
                                            {0}};
    static struct machine m;
    static char line[LINE_BYTES];
    struct baton_model_options model = {0};
    struct baton_why why = {.text = ""};
    int n_threads = 2, step = 1;
    for (int c; (c = getopt_long(argc, argv, "", options, NULL)) >= 0;) {
        if (c == 'd')
            model.dtype = optarg;
        else if (c == 'k')
            model.kernels = optarg;
        else if (c == 't')
            n_threads = (int)strtol(optarg, NULL, 10);
        else if (c == 'g')
            step = MAX_TEXTS;
        else
            return 2;
    }
    enum baton_err err =
        optind == argc - 1 ? set_up(&m, argv[optind], &model, n_threads, &why) : BATON_INVALID;
    while (!err && m.n_texts < MAX_TEXTS && fgets(line, sizeof line, stdin))
        read_text(&m.texts[m.n_texts++], line);
    for (int i = 0; i < m.n_texts && !err; i += step)
        err = run(&m, i, m.n_texts - i < step ? m.n_texts - i : step);
    if (err)
        (void)fprintf(stderr, "%s: %s\n", baton_err_name(err), why.text);
    tear_down(&m);
    return err ? 1 : 0;
}
