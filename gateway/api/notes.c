#include "gateway/api/notes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_NOTES = 64 };

static size_t place_of(const struct gw_notes *notes, const char *within, const char *name)
{
    size_t i = 0;
    while (i < notes->n &&
           (strcmp(notes->items[i].name, name) != 0 || strcmp(notes->items[i].within, within) != 0))
        i++;
    return i;
}

const struct gw_note *gw_notes_find(const struct gw_notes *notes, const char *within,
                                    const char *name)
{
    size_t i = place_of(notes, within, name);
    return i < notes->n ? &notes->items[i] : NULL;
}

static bool grow(struct gw_notes *notes)
{
    size_t cap = notes->cap ? notes->cap * 2 : FIRST_NOTES;
    struct gw_note *items = realloc(notes->items, cap * sizeof *items);
    if (!items)
        return false;
    notes->items = items;
    notes->cap = cap;
    return true;
}

struct gw_note *gw_notes_of(struct gw_notes *notes, const char *within, const char *name)
{
    size_t i = place_of(notes, within, name);
    if (i < notes->n)
        return &notes->items[i];
    if (notes->n == notes->cap && !grow(notes)) {
        notes->is_short = true;
        return NULL;
    }
    struct gw_note *note = &notes->items[notes->n++];
    *note = (struct gw_note){0};
    (void)snprintf(note->name, sizeof note->name, "%s", name);
    (void)snprintf(note->within, sizeof note->within, "%s", within);
    return note;
}

void gw_notes_fini(struct gw_notes *notes)
{
    free(notes->items);
    *notes = (struct gw_notes){0};
}
