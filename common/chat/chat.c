#include "common/chat/chat.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/chat/chat_parts.h"
#include "common/chat/chat_text.h"
#include "common/checkpoint/chat_template.h"

/* "chatml, llama2, ..." */
static void list_families(char *list, size_t size)
{
    const char *family = "";
    size_t n = 0;
    list[0] = 0;
    for (const struct baton_chat_shape *shape = baton_chat_shapes; shape->family; shape++) {
        if (!strcmp(shape->family, family))
            continue;
        family = shape->family;
        int length = snprintf(list + n, size - n, "%s%s", n ? ", " : "", family);
        n += length > 0 && (size_t)length < size - n ? (size_t)length : 0;
    }
}

/* Prepared once: every request to a model without a known template is answered with it. */
static void tell_problem(struct baton_chat *chat)
{
    char families[200];
    list_families(families, sizeof families);
    if (chat->shape)
        return;
    if (chat->has_template)
        (void)snprintf(chat->problem, sizeof chat->problem,
                       "this model's chat template is of no known family (known are %s)", families);
    else
        (void)snprintf(chat->problem, sizeof chat->problem, "this model has no chat template");
}

/* The family by name; the model's own shape of it where it has one. */
static enum baton_err apply_override(struct baton_chat *chat, const char *override,
                                     struct baton_why *why)
{
    char families[200];
    const struct baton_chat_shape *shape = baton_chat_shape_named(override);
    list_families(families, sizeof families);
    if (!shape)
        return baton_fail(why, BATON_INVALID,
                          "\"%.40s\" is no family of chat templates: known are auto, %s", override,
                          families);
    if (chat->shape && !strcmp(chat->shape->family, override))
        return BATON_OK;
    baton_chat_style_fini(&chat->style);
    chat->shape = shape;
    chat->style.bos = shape->begins_with_bos;
    return BATON_OK;
}

enum baton_err baton_chat_create(struct baton_chat_template *source, const char *override,
                                 struct baton_chat **chat, struct baton_why *why)
{
    enum baton_err err = BATON_OK;
    struct baton_chat *made = calloc(1, sizeof *made);
    if (!made)
        return baton_fail(why, BATON_NO_MEMORY, "out of memory");
    made->has_template = source->jinja != NULL;
    if (made->has_template)
        err = baton_chat_match(source->jinja, source->n_jinja, &made->shape, &made->style, why);
    if (!err && strcmp(override, "auto") != 0)
        err = apply_override(made, override, why);
    if (err) {
        baton_chat_close(made);
        return err;
    }
    tell_problem(made);
    made->bos = source->bos;
    made->eos = source->eos;
    source->bos = source->eos = NULL;
    *chat = made;
    return BATON_OK;
}

enum baton_err baton_chat_open(const char *model_path, const char *override,
                               struct baton_chat **chat, struct baton_why *why)
{
    struct baton_chat_template source = {0};
    enum baton_err err = baton_chat_template_read(model_path, &source, why);
    if (!err)
        err = baton_chat_create(&source, override, chat, why);
    baton_chat_template_fini(&source);
    return err;
}

void baton_chat_close(struct baton_chat *chat)
{
    if (!chat)
        return;
    baton_chat_style_fini(&chat->style);
    free(chat->bos);
    free(chat->eos);
    free(chat);
}

const char *baton_chat_family(const struct baton_chat *chat)
{
    if (chat->shape)
        return chat->shape->family;
    return chat->has_template ? "unknown" : "none";
}

const char *baton_chat_problem(const struct baton_chat *chat)
{
    return chat->shape ? NULL : chat->problem;
}

enum baton_err baton_chat_encode(const struct baton_chat *chat, struct baton_tokenizer *tokenizer,
                                 const struct baton_chat_message *messages, size_t n_messages,
                                 size_t max_tokens, struct baton_tokens *out, struct baton_why *why)
{
    struct baton_chat_text text;
    if (!chat->shape)
        return baton_fail(why, BATON_INVALID, "%s", chat->problem);
    struct baton_chat_marks marks = {.bos = chat->bos ? chat->bos : "",
                                     .eos = chat->eos ? chat->eos : ""};
    baton_chat_text_init(&text);
    enum baton_err err =
        baton_chat_render(chat->shape, &chat->style, &marks, messages, n_messages, &text, why);
    if (!err)
        err = baton_tokenizer_encode_spans(tokenizer, baton_buf_text(&text.bytes), text.bytes.len,
                                           text.spans, text.n_spans, max_tokens, out, why);
    baton_chat_text_fini(&text);
    return err;
}

size_t baton_chat_stop_ids(const struct baton_chat *chat, const struct baton_tokenizer *tokenizer,
                           uint32_t *ids, size_t max)
{
    if (!chat->shape || !max)
        return 0;
    const char *stop = chat->shape->stop;
    if (!strcmp(stop, BATON_CHAT_EOS))
        stop = chat->eos ? chat->eos : "";
    return baton_tokenizer_special_id(tokenizer, stop, strlen(stop), ids) ? 1 : 0;
}
