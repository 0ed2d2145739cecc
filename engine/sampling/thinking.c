#include "engine/sampling/thinking.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "engine/grammar/grammar.h"

/* Where an output is. */
struct place {
    enum { BEFORE, INSIDE, OVER } phase;
    uint32_t n_inside; /* tokens between the markers */
    uint16_t n_met;    /* bytes of the next marker that were met */
    uint16_t n_forced; /* tokens of the close that were written, while it is not whole */
    bool is_closing;   /* the next token is the close's next one */
    bool was_closed;
};

struct baton_thinking {
    struct baton_thinking_budget budget; /* its ids are borrowed */
    struct baton_matcher *texts;
    struct place now;
    struct place before[BATON_MATCHER_MAX_DROPS]; /* a ring: the places before the last tokens */
    unsigned n_noted;
    uint32_t *waiting; /* [n_waiting] tokens from before the texts were known */
    size_t n_waiting, cap_waiting;
    bool has_lost; /* a waiting token was lost for lack of memory */
};

enum baton_err baton_thinking_create(const struct baton_thinking_budget *budget,
                                     struct baton_matcher *texts, struct baton_thinking **out)
{
    struct baton_thinking *thinking = calloc(1, sizeof *thinking);
    if (!thinking) {
        baton_matcher_destroy(texts);
        return BATON_NO_MEMORY;
    }
    thinking->budget = *budget;
    thinking->texts = texts;
    thinking->now.phase = budget->is_open ? INSIDE : BEFORE;
    thinking->now.is_closing = budget->is_open && !budget->max_tokens;
    *out = thinking;
    return BATON_OK;
}

void baton_thinking_destroy(struct baton_thinking *thinking)
{
    if (!thinking)
        return;
    baton_matcher_destroy(thinking->texts);
    free(thinking->waiting);
    free(thinking);
}

enum baton_err baton_thinking_state(const struct baton_thinking *thinking)
{
    return thinking->has_lost ? BATON_NO_MEMORY : baton_matcher_state(thinking->texts);
}

/* ---- the text ---- */

/* Returns how many bytes of the marker are met after one more byte, of which n were met. */
static uint16_t meet(const char *marker, uint16_t n, char byte)
{
    char seen[BATON_MAX_THINKING_MARKER + 1];
    size_t n_seen = (size_t)n + 1, n_marker = strlen(marker);
    memcpy(seen, marker, n);
    seen[n] = byte;
    while (n_seen &&
           (n_seen > n_marker || memcmp(seen + (size_t)n + 1 - n_seen, marker, n_seen) != 0))
        n_seen--;
    return (uint16_t)n_seen;
}

static void read_before(const struct baton_thinking_budget *budget, struct place *place, char byte)
{
    bool is_blank = strchr(" \t\r\n", byte) && byte;
    uint16_t n_before = place->n_met;
    place->n_met = meet(budget->begin, n_before, byte);
    if (!budget->begin[place->n_met]) {
        place->phase = INSIDE;
        place->n_met = 0;
    } else if (!budget->repeats && place->n_met <= n_before && !(is_blank && !n_before)) {
        place->phase = OVER;
    }
}

static void read_inside(const struct baton_thinking_budget *budget, struct place *place, char byte)
{
    place->n_met = meet(budget->end, place->n_met, byte);
    if (!budget->end[place->n_met]) {
        place->phase = budget->repeats ? BEFORE : OVER;
        place->n_met = 0;
    }
}

static void read_text(struct baton_thinking *thinking, uint32_t token)
{
    const struct baton_thinking_budget *budget = &thinking->budget;
    struct place *place = &thinking->now;
    size_t n;
    const char *text = baton_matcher_text(thinking->texts, token, &n);
    bool was_inside = place->phase == INSIDE;
    for (size_t i = 0; i < n; i++) {
        if (i == 0 && (uint8_t)text[i] == BATON_SPECIAL_MARK)
            continue;
        if (place->phase == BEFORE)
            read_before(budget, place, text[i]);
        else if (place->phase == INSIDE)
            read_inside(budget, place, text[i]);
    }
    place->n_inside += was_inside && place->phase == INSIDE;
}

/* ---- the close ---- */

static size_t n_to_force(const struct baton_thinking *thinking)
{
    const struct baton_thinking_budget *budget = &thinking->budget;
    return thinking->now.was_closed ? budget->n_close : budget->n_first;
}

/* Notes a token of the close. Another token means that the close was not possible here. */
static void note_close(struct baton_thinking *thinking, uint32_t token)
{
    struct place *place = &thinking->now;
    if (!place->is_closing)
        return;
    place->is_closing = token == thinking->budget.close[place->n_forced];
    place->n_forced = place->is_closing ? place->n_forced + 1 : 0;
    if (place->n_forced < n_to_force(thinking))
        return;
    place->is_closing = false;
    place->n_forced = 0;
    place->was_closed = true;
}

static void take(struct baton_thinking *thinking, uint32_t token)
{
    struct place *place = &thinking->now;
    thinking->before[thinking->n_noted++ % BATON_MATCHER_MAX_DROPS] = *place;
    note_close(thinking, token);
    read_text(thinking, token);
    if (place->phase == INSIDE && place->n_inside >= thinking->budget.max_tokens)
        place->is_closing = true;
}

static void take_waiting(struct baton_thinking *thinking)
{
    for (size_t i = 0; i < thinking->n_waiting; i++)
        take(thinking, thinking->waiting[i]);
    free(thinking->waiting);
    thinking->waiting = NULL;
    thinking->n_waiting = thinking->cap_waiting = 0;
}

void baton_thinking_accept(struct baton_thinking *thinking, uint32_t token)
{
    if (baton_matcher_state(thinking->texts) == BATON_OK) {
        take_waiting(thinking);
        take(thinking, token);
    } else if (BATON_RESERVE(thinking->waiting, thinking->cap_waiting, thinking->n_waiting + 1)) {
        thinking->has_lost = true;
    } else {
        thinking->waiting[thinking->n_waiting++] = token;
    }
}

void baton_thinking_drop(struct baton_thinking *thinking)
{
    thinking->now = thinking->before[--thinking->n_noted % BATON_MATCHER_MAX_DROPS];
}

bool baton_thinking_forces(struct baton_thinking *thinking, uint32_t *token)
{
    take_waiting(thinking);
    if (thinking->now.is_closing)
        *token = thinking->budget.close[thinking->now.n_forced];
    return thinking->now.is_closing;
}
