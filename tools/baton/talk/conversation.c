#include "tools/baton/talk/conversation.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/array.h"
#include "common/base/os/own_file.h"

enum { MAX_MESSAGES = 4096, FILE_MAX_BYTES = 64 << 20 };

static bool has_system(const struct bt_conversation *conversation)
{
    return conversation->n && !strcmp(conversation->messages[0].role, "system");
}

void bt_conversation_fini(struct bt_conversation *conversation)
{
    for (size_t i = 0; i < conversation->n; i++)
        free(conversation->messages[i].text);
    free(conversation->messages);
    *conversation = (struct bt_conversation){.n = 0};
}

/* Inserts a message at index `at`. */
static enum baton_err insert(struct bt_conversation *conversation, size_t at, const char *role,
                             const char *text)
{
    if (conversation->n == MAX_MESSAGES)
        return BATON_LIMIT;
    if (BATON_RESERVE(conversation->messages, conversation->cap, conversation->n + 1))
        return BATON_NO_MEMORY;
    struct bt_message *messages = conversation->messages;
    char *copy = strdup(text);
    if (!copy)
        return BATON_NO_MEMORY;
    memmove(messages + at + 1, messages + at, (conversation->n - at) * sizeof *messages);
    messages[at] = (struct bt_message){role, copy};
    conversation->n++;
    return BATON_OK;
}

static void remove_message(struct bt_conversation *conversation, size_t at)
{
    struct bt_message *messages = conversation->messages;
    free(messages[at].text);
    conversation->n--;
    memmove(messages + at, messages + at + 1, (conversation->n - at) * sizeof *messages);
}

enum baton_err bt_conversation_set_system(struct bt_conversation *conversation, const char *text)
{
    if (has_system(conversation))
        remove_message(conversation, 0);
    return text && *text ? insert(conversation, 0, "system", text) : BATON_OK;
}

const char *bt_conversation_system(const struct bt_conversation *conversation)
{
    return has_system(conversation) ? conversation->messages[0].text : NULL;
}

enum baton_err bt_conversation_add(struct bt_conversation *conversation, const char *role,
                                   const char *text)
{
    return insert(conversation, conversation->n, role, text);
}

bool bt_conversation_drop_last(struct bt_conversation *conversation, const char *role)
{
    if (!conversation->n || strcmp(conversation->messages[conversation->n - 1].role, role) != 0)
        return false;
    remove_message(conversation, conversation->n - 1);
    return true;
}

void bt_conversation_clear(struct bt_conversation *conversation)
{
    while (conversation->n > (has_system(conversation) ? 1U : 0U))
        remove_message(conversation, conversation->n - 1);
}

static void put(const struct bt_conversation *conversation, const char *model,
                struct baton_buf *text)
{
    struct baton_json_out out = baton_json_out(text);
    baton_json_open(&out, NULL, '{');
    baton_json_put_string(&out, "model", model);
    baton_json_open(&out, "messages", '[');
    for (size_t i = 0; i < conversation->n; i++) {
        baton_json_open(&out, NULL, '{');
        baton_json_put_string(&out, "role", conversation->messages[i].role);
        baton_json_put_string(&out, "content", conversation->messages[i].text);
        baton_json_close(&out, '}');
    }
    baton_json_close(&out, ']');
    baton_json_close(&out, '}');
    baton_buf_putc(text, '\n');
}

/* An earlier save may be replaced, and nothing else. */
static const struct baton_own_kind own_kind = {.magic = "{\"model\":"};

enum baton_err bt_conversation_save(const struct bt_conversation *conversation, const char *model,
                                    const char *path, struct baton_why *why)
{
    struct baton_buf text;
    baton_buf_init(&text, FILE_MAX_BYTES);
    put(conversation, model, &text);
    enum baton_err err = baton_buf_err(&text);
    int fd = -1;
    if (!err)
        err =
            baton_own_file_open(AT_FDCWD, path, path, O_RDWR | O_CREAT, 0600, &own_kind, &fd, why);
    if (!err && ftruncate(fd, 0))
        err = baton_fail(why, BATON_IO, "%s: %s", path, strerror(errno));
    if (!err && write(fd, text.data, text.len) != (ssize_t)text.len)
        err = baton_fail(why, BATON_IO, "%s: not all could be written", path);
    if (fd >= 0 && close(fd) && !err)
        err = baton_fail(why, BATON_IO, "%s: %s", path, strerror(errno));
    baton_buf_fini(&text);
    return err;
}
