#include <string.h>
#include <time.h>

#include "common/chat/chat_text.h"

/* One conversation on its way into text. */
struct writer {
    const struct baton_chat_shape *shape;
    const struct baton_chat_style *style;
    const struct baton_chat_marks *marks;
    const struct baton_chat_message *lead; /* the system message that comes first, or NULL */
    const struct baton_chat_message *rest; /* the messages after it */
    size_t n_rest;
    struct baton_chat_text *text;
};

/* ---- what the template refuses ---- */

static enum baton_err check_system(const struct writer *writer, struct baton_why *why)
{
    const struct baton_chat_shape *shape = writer->shape;
    if (writer->lead && shape->lead == BATON_SYSTEM_REFUSED)
        return baton_fail(why, BATON_INVALID,
                          "this model's chat template (%s) has no system role: put the "
                          "instructions into the first user message",
                          shape->family);
    for (size_t i = 0; i < writer->n_rest && shape->later == BATON_SYSTEM_REFUSED; i++)
        if (writer->rest[i].role == BATON_ROLE_SYSTEM)
            return baton_fail(why, BATON_INVALID,
                              "this model's chat template (%s) allows a system message only as "
                              "the first message, if at all",
                              shape->family);
    return BATON_OK;
}

static enum baton_err check_order(const struct writer *writer, struct baton_why *why)
{
    for (size_t i = 0; i < writer->n_rest && writer->shape->alternates; i++) {
        bool is_user = writer->rest[i].role == BATON_ROLE_USER;
        if (is_user != (i % 2 == 0))
            return baton_fail(why, BATON_INVALID,
                              "this model's chat template (%s) wants the roles to alternate, user "
                              "first, after an optional system message: message %zu breaks that",
                              writer->shape->family, i + (writer->lead ? 2 : 1));
    }
    return BATON_OK;
}

/* ---- text ---- */

/* Today, or the constant day of Llama 3.1's template. */
static void put_day(const struct writer *writer)
{
    char day[32] = "26 Jul 2024";
    time_t now = time(NULL);
    struct tm local;
    if (writer->style->today && localtime_r(&now, &local))
        (void)strftime(day, sizeof day, "%d %b %Y", &local);
    baton_chat_text_put_template(writer->text, day, strlen(day));
}

static void put_mark(const struct writer *writer, char mark)
{
    if (mark == *BATON_CHAT_TODAY) {
        put_day(writer);
    } else {
        const char *value = mark == *BATON_CHAT_BOS ? writer->marks->bos : writer->marks->eos;
        baton_chat_text_put_template(writer->text, value, strlen(value));
    }
}

/* The template's own text, in which marks stand for values. */
static void put_template(const struct writer *writer, const char *text)
{
    static const char marks[] = BATON_CHAT_BOS BATON_CHAT_EOS BATON_CHAT_TODAY;
    while (*text) {
        size_t n = strcspn(text, marks);
        baton_chat_text_put_template(writer->text, text, n);
        text += n;
        if (*text)
            put_mark(writer, *text++);
    }
}

static bool is_trimmed(const struct writer *writer, enum baton_role role)
{
    return writer->shape->trims >> role & 1;
}

static void put_message(const struct writer *writer, const struct baton_chat_message *message)
{
    const char *bytes = message->content;
    size_t n = message->n_bytes;
    if (is_trimmed(writer, message->role)) {
        baton_chat_trim_start(&bytes, &n);
        baton_chat_trim_end(bytes, &n);
    }
    baton_chat_text_put_content(writer->text, bytes, n);
}

/* ---- turns ---- */

static void put_system_turn(const struct writer *writer, enum baton_chat_system system,
                            const struct baton_chat_message *message, const char *open)
{
    if (system == BATON_SYSTEM_DROPPED || (system == BATON_SYSTEM_NOT_EMPTY && !message->n_bytes))
        return;
    put_template(writer, open);
    put_message(writer, message);
    put_template(writer, writer->shape->close[BATON_ROLE_SYSTEM]);
}

/* The lead, or the system text that the template brings itself. A lead that belongs into a user
 * turn is written there. */
static void put_lead(const struct writer *writer)
{
    const struct baton_chat_shape *shape = writer->shape;
    const char *text = writer->style->default_system;
    const char *open = shape->lead_open ? shape->lead_open : shape->open[BATON_ROLE_SYSTEM];
    if (shape->lead == BATON_SYSTEM_FIRST_USER || shape->lead == BATON_SYSTEM_LAST_USER)
        return;
    if (writer->lead) {
        put_system_turn(writer, shape->lead, writer->lead, open);
    } else if (text) {
        put_template(writer, open);
        baton_chat_text_put_template(writer->text, text, strlen(text));
        put_template(writer, shape->close[BATON_ROLE_SYSTEM]);
    }
}

/* Whether message i is the user turn that the lead is written into. */
static bool takes_lead(const struct writer *writer, size_t i)
{
    if (!writer->lead || writer->rest[i].role != BATON_ROLE_USER)
        return false;
    return (writer->shape->lead == BATON_SYSTEM_FIRST_USER && i == 0) ||
           (writer->shape->lead == BATON_SYSTEM_LAST_USER && i == writer->n_rest - 1);
}

/* The lead, then the user's content. Trimmed as one text, they lose what comes after the last
 * character that is not white space: the content's end, or, when it has none, joined_close's. */
static void put_joined(const struct writer *writer, const struct baton_chat_message *message)
{
    const struct baton_chat_shape *shape = writer->shape;
    size_t n = message->n_bytes, n_close = strlen(shape->joined_close);
    put_template(writer, shape->joined_open);
    baton_chat_text_put_content(writer->text, writer->lead->content, writer->lead->n_bytes);
    if (shape->trims_joined)
        baton_chat_trim_end(message->content, &n);
    if (shape->trims_joined && !n)
        baton_chat_trim_end(shape->joined_close, &n_close);
    baton_chat_text_put_template(writer->text, shape->joined_close, n_close);
    if (shape->trims_joined)
        baton_chat_text_put_content(writer->text, message->content, n);
    else
        put_message(writer, message);
}

static void put_turn(const struct writer *writer, size_t i)
{
    const struct baton_chat_shape *shape = writer->shape;
    const struct baton_chat_message *message = &writer->rest[i];
    if (message->role == BATON_ROLE_SYSTEM) {
        put_system_turn(writer, shape->later, message, shape->open[BATON_ROLE_SYSTEM]);
        return;
    }
    put_template(writer, shape->open[message->role]);
    if (takes_lead(writer, i))
        put_joined(writer, message);
    else
        put_message(writer, message);
    put_template(writer, shape->close[message->role]);
}

enum baton_err baton_chat_render(const struct baton_chat_shape *shape,
                                 const struct baton_chat_style *style,
                                 const struct baton_chat_marks *marks,
                                 const struct baton_chat_message *messages, size_t n_messages,
                                 struct baton_chat_text *text, struct baton_why *why)
{
    if (!n_messages)
        return baton_fail(why, BATON_INVALID, "a conversation needs at least one message");
    size_t n_lead = messages[0].role == BATON_ROLE_SYSTEM ? 1 : 0;
    struct writer writer = {.shape = shape,
                            .style = style,
                            .marks = marks,
                            .lead = n_lead ? &messages[0] : NULL,
                            .rest = messages + n_lead,
                            .n_rest = n_messages - n_lead,
                            .text = text};
    enum baton_err err = check_system(&writer, why);
    if (!err)
        err = check_order(&writer, why);
    if (err)
        return err;
    if (style->bos)
        put_template(&writer, BATON_CHAT_BOS);
    put_lead(&writer);
    for (size_t i = 0; i < writer.n_rest; i++)
        put_turn(&writer, i);
    put_template(&writer, shape->generation);
    err = baton_buf_err(&text->bytes);
    return err ? baton_fail(why, err, "no room for the conversation") : BATON_OK;
}
