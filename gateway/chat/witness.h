/* Whether a template writes a conversation whole: it renders a copy in which each text is a marker
 * word, and looks for the markers; private to gateway/chat.
 *
 * The copy is short, so it costs less than the conversation. Markers have digits only, so they
 * survive trimming, escaping and changes of case.
 *
 * Ownership: everything is borrowed.
 * Threading: pure.
 * Errors:    BATON_CHAT_REFUSED also without memory.
 */
#ifndef BATON_GATEWAY_CHAT_WITNESS_H
#define BATON_GATEWAY_CHAT_WITNESS_H

#include "gateway/chat/parts.h"

/* From best to worst. */
enum baton_chat_verdict {
    BATON_CHAT_WHOLE,      /* each text once, in order; a first system message may stand anywhere */
    BATON_CHAT_DISORDERED, /* each text once */
    BATON_CHAT_DOUBLED,    /* each text, and one of them more than once */
    BATON_CHAT_LOST,       /* a text is missing */
    BATON_CHAT_REFUSED     /* the template fails */
};

struct baton_chat_witness {
    enum baton_chat_verdict verdict;
    size_t lost; /* LOST: the index of the first message with a missing text */
};

/* input: a conversation in the form that the template gets. */
struct baton_chat_witness baton_chat_witness(const struct baton_chat *chat,
                                             const struct baton_chat_jinja *template,
                                             const struct baton_chat_input *input);

#endif
