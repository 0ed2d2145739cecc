/* The known chat templates as data: what each writes around the messages of a conversation, and the
 * source text it is recognised by; private to common/chat.
 *
 *     BOS  lead  (open[role] content close[role])...  generation
 *
 * The lead is a system message that comes first. A family may have several shapes: models of one
 * family differ in which texts they trim, or in where the system message goes.
 *
 * Ownership: shapes are constants; a style owns default_system.
 * Threading: pure.
 * Errors:    match: NO_MEMORY. A template that matches nothing is no error: *shape is NULL.
 */
#ifndef BATON_CHAT_CHAT_SHAPE_H
#define BATON_CHAT_CHAT_SHAPE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/error.h"

/* In a shape's texts these stand for what only the model, or only the day, tells. */
#define BATON_CHAT_BOS   "\2"
#define BATON_CHAT_EOS   "\3"
#define BATON_CHAT_TODAY "\4"

/* What becomes of a system message. */
enum baton_chat_system {
    BATON_SYSTEM_TURN,       /* a turn of its own */
    BATON_SYSTEM_NOT_EMPTY,  /* the same, but nothing when it is empty */
    BATON_SYSTEM_DROPPED,    /* not written */
    BATON_SYSTEM_REFUSED,    /* an error */
    BATON_SYSTEM_FIRST_USER, /* written into the first user turn; for the lead only */
    BATON_SYSTEM_LAST_USER   /* into the last turn, if a user's; for the lead only */
};

enum { BATON_TRIM_SYSTEM = 1, BATON_TRIM_USER = 2, BATON_TRIM_ASSISTANT = 4, BATON_TRIM_ALL = 7 };
enum { BATON_CHAT_N_ROLES = 3 }; /* enum baton_role */

struct baton_chat_shape {
    const char *family;
    /* The canonical source (chat_canonical.h) has all of needs and none of refuses. Source that
     * prints something that is in neither needs nor may, other than for tools and for messages made
     * of parts, is not of this shape. */
    const char *needs[8], *may[4], *refuses[4];
    /* A system text that the template itself brings stands between one of default_from and
     * default_to. */
    const char *default_from[2], *default_to;
    const char *default_system; /* the same in every template of this shape; or NULL */

    const char *open[BATON_CHAT_N_ROLES], *close[BATON_CHAT_N_ROLES];
    const char *lead_open;                  /* before a lead; NULL: open[BATON_ROLE_SYSTEM] */
    const char *joined_open, *joined_close; /* around a lead inside a user turn */
    const char *generation;
    const char *stop; /* ends the assistant's turn */

    unsigned trims;                     /* BATON_TRIM_...: whose content is trimmed */
    enum baton_chat_system lead, later; /* the first message; system messages after it */
    bool trims_joined;                  /* the lead and its user turn are trimmed as one text */
    bool alternates;      /* user, assistant, user, ... is demanded of what follows the lead */
    bool begins_with_bos; /* when chosen by name; else the template tells */
    bool places_bos;      /* the texts above hold BOS where it belongs */
};

/* What one model's template adds to its shape. */
struct baton_chat_style {
    bool bos;             /* BOS comes first */
    bool today;           /* TODAY is the day of the call, not the template's constant */
    char *default_system; /* the lead of a conversation that has none; NULL: none */
};

/* Frees default_system and leaves a neutral style. */
void baton_chat_style_fini(struct baton_chat_style *style);

/* The shape of the n bytes at source, a template as its model brings it. */
enum baton_err baton_chat_match(const char *source, size_t n, const struct baton_chat_shape **shape,
                                struct baton_chat_style *style,
                                struct baton_why *why) BATON_MUST_CHECK;

/* The plainest shape of a family; NULL when there is no such family. */
const struct baton_chat_shape *baton_chat_shape_named(const char *family);

/* All shapes, those of a family together; ends with one without a family. */
extern const struct baton_chat_shape baton_chat_shapes[];

#endif
