#include "engine/tokenizer/split/pretokenize.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"
#include "engine/tokenizer/growth.h"
#include "engine/tokenizer/model/byte_level.h"
#include "engine/tokenizer/split/pattern.h"

struct step {
    enum baton_pretokenizer_kind kind;
    struct baton_pattern *pattern;
    enum baton_split_behavior behavior;
    bool invert;
    enum baton_prepend_scheme prepend;
    char *replacement;
    size_t n_replacement;
    struct baton_buf text; /* the piece, rewritten by this step */
    struct baton_growth growth;
};

struct baton_pretokenizer {
    struct step steps[BATON_TOKENIZER_MAX_STEPS];
    int n_steps;
    bool is_mapped;        /* words arrive in the byte-level alphabet */
    struct baton_buf word; /* a word mapped back */
};

/* A piece between two steps. */
struct piece {
    const char *text;
    size_t n;
    bool is_first;
};

/* ---- building ---- */

static enum baton_err make_step(const struct baton_pretokenizer_step *source, bool want_jit,
                                struct step *step, struct baton_why *why)
{
    *step = (struct step){.kind = source->kind,
                          .behavior = source->behavior,
                          .invert = source->invert,
                          .prepend = source->prepend};
    baton_buf_init(&step->text, SIZE_MAX / 4);
    if (source->kind == BATON_PRETOKENIZER_SPLIT)
        return baton_pattern_create(&source->pattern, want_jit, BATON_PATTERN_WINDOW_BYTES,
                                    &step->pattern, why);
    if (source->kind != BATON_PRETOKENIZER_METASPACE)
        return BATON_OK;
    step->n_replacement = source->replacement.n;
    step->replacement = malloc(step->n_replacement);
    if (!step->replacement)
        return baton_fail(why, BATON_NO_MEMORY, "the pre-tokenizer: out of memory");
    memcpy(step->replacement, source->replacement.bytes, step->n_replacement);
    return BATON_OK;
}

enum baton_err baton_pretokenizer_create(const struct baton_tokenizer_steps *steps, bool want_jit,
                                         struct baton_pretokenizer **pretokenizer,
                                         struct baton_why *why)
{
    enum baton_err err = BATON_OK;
    struct baton_pretokenizer *made = calloc(1, sizeof *made);
    if (!made)
        return baton_fail(why, BATON_NO_MEMORY, "the pre-tokenizer: out of memory");
    baton_buf_init(&made->word, SIZE_MAX / 4);
    for (int i = 0; i < steps->n_pretokenizer && !err; i++) {
        const struct baton_pretokenizer_step *source = &steps->pretokenizer[i];
        bool is_mapping = source->kind == BATON_PRETOKENIZER_BYTE_LEVEL;
        /* The models read raw bytes, so the mapping is left out where no step reads its result. */
        if (is_mapping && i + 1 == steps->n_pretokenizer)
            break;
        made->is_mapped |= is_mapping;
        err = make_step(source, want_jit, &made->steps[made->n_steps++], why);
    }
    baton_pretokenizer_begin(made);
    if (err)
        baton_pretokenizer_destroy(made);
    else
        *pretokenizer = made;
    return err;
}

void baton_pretokenizer_destroy(struct baton_pretokenizer *pretokenizer)
{
    if (!pretokenizer)
        return;
    for (int i = 0; i < pretokenizer->n_steps; i++) {
        baton_pattern_destroy(pretokenizer->steps[i].pattern);
        free(pretokenizer->steps[i].replacement);
        baton_buf_fini(&pretokenizer->steps[i].text);
    }
    baton_buf_fini(&pretokenizer->word);
    free(pretokenizer);
}

/* ---- running ---- */

struct run {
    struct baton_pretokenizer *pretokenizer;
    const struct baton_word_sink *sink;
};

static enum baton_err run_from(const struct run *run, int i, struct piece piece);

static enum baton_err fail_buf(const struct run *run, const struct baton_buf *buf)
{
    if (baton_buf_err(buf) == BATON_LIMIT)
        return baton_fail(run->sink->why, BATON_INVALID,
                          "the tokenizer's pre-tokenizer makes more than %d times the text of it",
                          BATON_GROWTH_TIMES);
    return baton_fail(run->sink->why, baton_buf_err(buf), "a piece of text: out of memory");
}

static enum baton_err pass_on_word(const struct run *run, struct piece piece)
{
    const struct baton_word_sink *sink = run->sink;
    struct baton_buf *word = &run->pretokenizer->word;
    if (!run->pretokenizer->is_mapped)
        return sink->word(sink->arg, piece.text, piece.n);
    baton_buf_reset(word);
    baton_buf_append(word, piece.text, piece.n); /* mapping back never makes it longer */
    if (baton_buf_err(word))
        return fail_buf(run, word);
    return sink->word(sink->arg, word->data,
                      baton_byte_level_decode(piece.text, piece.n, word->data));
}

/* The parts that a split has cut and not yet passed on. */
struct cut {
    const struct run *run;
    int next; /* the step that receives the pieces */
    struct piece whole;
    enum baton_split_behavior behavior;
    size_t start, end;
    bool is_pending, was_match;
};

static enum baton_err pass_on(const struct cut *cut, size_t start, size_t end)
{
    struct piece piece = {.text = cut->whole.text + start,
                          .n = end - start,
                          .is_first = cut->whole.is_first && !start};
    return piece.n ? run_from(cut->run, cut->next, piece) : BATON_OK;
}

static enum baton_err pass_on_pending(struct cut *cut)
{
    if (!cut->is_pending)
        return BATON_OK;
    cut->is_pending = false;
    return pass_on(cut, cut->start, cut->end);
}

/* True when the pending piece includes the next part, which is a match or the text between two. */
static bool joins(const struct cut *cut, bool is_match)
{
    if (!cut->is_pending)
        return false;
    if (cut->behavior == BATON_SPLIT_CONTIGUOUS)
        return is_match == cut->was_match;
    if (cut->behavior == BATON_SPLIT_MERGED_WITH_PREVIOUS)
        return is_match && !cut->was_match;
    return cut->behavior == BATON_SPLIT_MERGED_WITH_NEXT && !is_match && cut->was_match;
}

static enum baton_err add_part(struct cut *cut, size_t start, size_t end, bool is_match)
{
    enum baton_err err = BATON_OK;
    if (cut->behavior == BATON_SPLIT_ISOLATED)
        return pass_on(cut, start, end);
    if (cut->behavior == BATON_SPLIT_REMOVED)
        return is_match ? BATON_OK : pass_on(cut, start, end);
    if (!joins(cut, is_match)) {
        err = pass_on_pending(cut);
        cut->start = start;
    }
    cut->end = end;
    cut->is_pending = true;
    cut->was_match = is_match;
    return err;
}

static enum baton_err split(const struct run *run, int i, struct piece piece)
{
    struct step *step = &run->pretokenizer->steps[i];
    struct cut cut = {.run = run, .next = i + 1, .whole = piece, .behavior = step->behavior};
    struct baton_match match = {.found = false};
    size_t done = 0;
    for (;;) {
        enum baton_err err =
            baton_pattern_next(step->pattern, piece.text, piece.n, &match, run->sink->why);
        if (err)
            return err;
        if (!match.found)
            break;
        if (match.start > done)
            err = add_part(&cut, done, match.start, step->invert);
        if (!err)
            err = add_part(&cut, match.start, match.end, !step->invert);
        if (err)
            return err;
        done = match.end;
    }
    enum baton_err err = BATON_OK;
    if (done < piece.n)
        err = add_part(&cut, done, piece.n, step->invert);
    return err ? err : pass_on_pending(&cut);
}

static void map_bytes(struct baton_buf *text, struct piece piece)
{
    char character[BATON_BYTE_LEVEL_MAX + 1];
    for (size_t i = 0; i < piece.n; i++)
        baton_buf_append(text, character,
                         baton_byte_level_encode((uint8_t)piece.text[i], character));
}

static void map_spaces(struct step *step, struct piece piece)
{
    const char *mark = step->replacement;
    size_t n_mark = step->n_replacement;
    bool begins = piece.n >= n_mark && !memcmp(piece.text, mark, n_mark);
    bool prepends = step->prepend == BATON_PREPEND_ALWAYS ||
                    (step->prepend == BATON_PREPEND_FIRST && piece.is_first);
    if (prepends && !begins && piece.text[0] != ' ')
        baton_buf_append(&step->text, mark, n_mark);
    for (size_t at = 0; at < piece.n;) {
        const char *space = memchr(piece.text + at, ' ', piece.n - at);
        size_t end = space ? (size_t)(space - piece.text) : piece.n;
        baton_buf_append(&step->text, piece.text + at, end - at);
        if (space)
            baton_buf_append(&step->text, mark, n_mark);
        at = end + 1;
    }
}

/* Rewrites the piece by the step; leaves it when nothing changes. */
static enum baton_err rewrite(const struct run *run, int i, struct piece *piece)
{
    struct step *step = &run->pretokenizer->steps[i];
    if (step->kind == BATON_PRETOKENIZER_PREFIX_SPACE && piece->text[0] == ' ')
        return BATON_OK;
    baton_buf_reset(&step->text);
    baton_growth_bound(&step->growth, &step->text);
    if (step->kind == BATON_PRETOKENIZER_PREFIX_SPACE) {
        baton_buf_putc(&step->text, ' ');
        baton_buf_append(&step->text, piece->text, piece->n);
    } else if (step->kind == BATON_PRETOKENIZER_BYTE_LEVEL) {
        map_bytes(&step->text, *piece);
    } else {
        map_spaces(step, *piece);
    }
    if (baton_buf_err(&step->text))
        return fail_buf(run, &step->text);
    baton_growth_take(&step->growth, &step->text);
    piece->text = step->text.data;
    piece->n = step->text.len;
    return BATON_OK;
}

static enum baton_err run_from(const struct run *run, int i, struct piece piece)
{
    if (i == run->pretokenizer->n_steps)
        return pass_on_word(run, piece);
    if (run->pretokenizer->steps[i].kind == BATON_PRETOKENIZER_SPLIT)
        return split(run, i, piece);
    enum baton_err err = rewrite(run, i, &piece);
    return err ? err : run_from(run, i + 1, piece);
}

void baton_pretokenizer_begin(struct baton_pretokenizer *pretokenizer)
{
    for (int i = 0; i < pretokenizer->n_steps; i++)
        baton_growth_begin(&pretokenizer->steps[i].growth);
}

enum baton_err baton_pretokenizer_run(struct baton_pretokenizer *pretokenizer, const char *text,
                                      size_t n, bool is_first, const struct baton_word_sink *sink)
{
    const struct run run = {.pretokenizer = pretokenizer, .sink = sink};
    struct piece piece = {.text = text, .n = n, .is_first = is_first};
    for (int i = 0; i < pretokenizer->n_steps; i++)
        baton_growth_allow(&pretokenizer->steps[i].growth, n);
    return n ? run_from(&run, 0, piece) : BATON_OK;
}
