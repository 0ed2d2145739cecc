#include "common/toolcall/format.h"

#include <string.h>

#include "common/toolcall/bytes.h"

/* The first that fits counts. Templates of XML in <tool_call> (Qwen3-Coder, GLM) have none yet. */
static const struct baton_tool_format formats[] = {
    {.name = "mistral-args",
     .mark = "[ARGS]",
     .unless = {"[CALL_ID]"},
     .begin = "[TOOL_CALLS]",
     .middle = "[ARGS]"},
    {.name = "mistral",
     .mark = "[TOOL_CALLS]",
     .unless = {"[ARGS]"},
     .begin = "[TOOL_CALLS]",
     .name_key = "name",
     .arguments_key = "arguments"},
    {.name = "command-r7b",
     .mark = "<|START_ACTION|>",
     .begin = "<|START_ACTION|>",
     .end = "<|END_ACTION|>",
     .name_key = "tool_name",
     .arguments_key = "parameters"},
    {.name = "granite",
     .mark = "<|tool_call|>",
     .begin = "<|tool_call|>",
     .name_key = "name",
     .arguments_key = "arguments"},
    {.name = "hermes",
     .mark = "<tool_call>",
     .unless = {"<function=", "<arg_key>", "<invoke", "<tool_calls>"},
     .begin = "<tool_call>",
     .end = "</tool_call>",
     .name_key = "name",
     .arguments_key = "arguments"},
    {.name = "llama3",
     .mark = "\"parameters\": dictionary of argument name",
     .name_key = "name",
     .arguments_key = "parameters"},
};

enum { N_FORMATS = sizeof formats / sizeof formats[0] };

static bool fits(const struct baton_tool_format *format, const char *source, size_t n)
{
    for (size_t i = 0; i < sizeof format->unless / sizeof *format->unless; i++)
        if (format->unless[i] && baton_bytes_have(source, n, format->unless[i]))
            return false;
    return baton_bytes_have(source, n, format->mark);
}

const struct baton_tool_format *baton_tool_format_of(const char *source, size_t n)
{
    for (size_t i = 0; i < N_FORMATS; i++)
        if (fits(&formats[i], source, n))
            return &formats[i];
    return NULL;
}

const struct baton_tool_format *baton_tool_format_named(const char *name)
{
    for (size_t i = 0; i < N_FORMATS; i++)
        if (!strcmp(formats[i].name, name))
            return &formats[i];
    return NULL;
}
