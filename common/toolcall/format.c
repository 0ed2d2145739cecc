#include "common/toolcall/format.h"

#include <string.h>

#include "common/toolcall/bytes.h"

/* The first that fits counts. */
static const struct baton_tool_format formats[] = {
    {.name = "harmony",
     .mark = "<|channel|>",
     .syntax = BATON_TOOL_CHANNELS,
     .open = "<|start|>assistant",
     .begin = "<|channel|>commentary to=functions.",
     .middle = " <|constrain|>json<|message|>",
     .end = "<|call|>"},
    {.name = "mistral-args",
     .mark = "[ARGS]",
     .unless = {"[CALL_ID]"},
     .begin = "[TOOL_CALLS]",
     .middle = "[ARGS]"},
    {.name = "mistral-id",
     .mark = "[CALL_ID]",
     .begin = "[TOOL_CALLS]",
     .middle = "[ARGS]",
     .id_mark = "[CALL_ID]"},
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
    {.name = "deepseek-v3.1",
     .mark = "<｜tool▁sep｜>",
     .unless = {"```json"},
     .open = "<｜tool▁calls▁begin｜>",
     .begin = "<｜tool▁call▁begin｜>",
     .middle = "<｜tool▁sep｜>",
     .end = "<｜tool▁call▁end｜>",
     .close = "<｜tool▁calls▁end｜>"},
    {.name = "deepseek-r1",
     .mark = "<｜tool▁sep｜>",
     .open = "<｜tool▁calls▁begin｜>",
     .begin = "<｜tool▁call▁begin｜>function<｜tool▁sep｜>",
     .middle = "\n```json\n",
     .end = "```<｜tool▁call▁end｜>",
     .separator = "\n",
     .close = "<｜tool▁calls▁end｜>"},
    {.name = "kimi-k2",
     .mark = "<|tool_call_argument_begin|>",
     .open = "<|tool_calls_section_begin|>",
     .begin = "<|tool_call_begin|>",
     .name_prefix = "functions.",
     .is_numbered = true,
     .middle = "<|tool_call_argument_begin|>",
     .end = "<|tool_call_end|>",
     .close = "<|tool_calls_section_end|>"},
    {.name = "phi4-mini",
     .mark = "<|/tool|>",
     .begin = "<|tool_call|>",
     .end = "<|/tool_call|>",
     .name_key = "name",
     .arguments_key = "arguments"},
    {.name = "granite",
     .mark = "<|tool_call|>",
     .begin = "<|tool_call|>",
     .name_key = "name",
     .arguments_key = "arguments"},
    {.name = "lfm2",
     .mark = "<|tool_call_start|>",
     .syntax = BATON_TOOL_PYTHON,
     .begin = "<|tool_call_start|>",
     .end = "<|tool_call_end|>",
     .name_key = "name",
     .arguments_key = "arguments"},
    {.name = "nemotron",
     .mark = "<TOOLCALL>",
     .begin = "<TOOLCALL>",
     .end = "</TOOLCALL>",
     .name_key = "name",
     .arguments_key = "arguments"},
    {.name = "minimax-m2",
     .mark = "<minimax:tool_call>",
     .syntax = BATON_TOOL_TAGS,
     .open = "<minimax:tool_call>",
     .begin = "<invoke name=\"",
     .middle = "\">",
     .end = "</invoke>",
     .separator = "\n",
     .close = "</minimax:tool_call>",
     .tags = {.key_begin = "<parameter name=\"",
              .key_end = "\">",
              .value_end = "</parameter>",
              .pad = ""}},
    {.name = "seed-oss",
     .mark = "<seed:tool_call>",
     .syntax = BATON_TOOL_TAGS,
     .open = "<seed:tool_call>",
     .begin = "<function=",
     .middle = ">",
     .end = "</function>",
     .close = "</seed:tool_call>",
     .tags = {.key_begin = "<parameter=", .key_end = ">", .value_end = "</parameter>", .pad = ""}},
    {.name = "qwen3-coder",
     .mark = "<parameter=",
     .syntax = BATON_TOOL_TAGS,
     .open = "<tool_call>",
     .begin = "<function=",
     .middle = ">",
     .end = "</function>",
     .close = "</tool_call>",
     .tags =
         {.key_begin = "<parameter=", .key_end = ">", .value_end = "</parameter>", .pad = "\n"}},
    {.name = "glm4",
     .mark = "<arg_key>",
     .syntax = BATON_TOOL_TAGS,
     .begin = "<tool_call>",
     .end = "</tool_call>",
     .separator = "\n",
     .tags = {.key_begin = "<arg_key>",
              .key_end = "</arg_key>",
              .value_begin = "<arg_value>",
              .value_end = "</arg_value>",
              .pad = ""}},
    {.name = "functionary-v3.1",
     .mark = "<function=",
     .unless = {"<tool_call>"},
     .begin = "<function=",
     .middle = ">",
     .end = "</function>"},
    {.name = "functionary-v3.2",
     .mark = ">>>all\\n",
     .begin = ">>>",
     .middle = "\n",
     .text_begin = ">>>all\n"},
    {.name = "hermes",
     .mark = "<tool_call>",
     .unless = {"<function=", "<invoke", "<tool_calls>"},
     .begin = "<tool_call>",
     .end = "</tool_call>",
     .separator = "\n",
     .name_key = "name",
     .arguments_key = "arguments"},
    {.name = "apriel",
     .mark = "<tool_calls>[",
     .begin = "<tool_calls>",
     .end = "</tool_calls>",
     .name_key = "name",
     .arguments_key = "arguments"},
    {.name = "llama3",
     .mark = "\"parameters\": dictionary of argument name",
     .open = "<|python_tag|>",
     .name_key = "name",
     .arguments_key = "parameters"},
    {.name = "pythonic", .mark = "[func_name1(params_name1=", .syntax = BATON_TOOL_PYTHON},
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

const struct baton_tool_format *baton_tool_format_at(size_t index)
{
    return index < N_FORMATS ? &formats[index] : NULL;
}

void baton_tool_format_markers(const struct baton_tool_format *format,
                               void (*put)(void *user, const char *text), void *user)
{
    const char *const markers[] = {
        format->open,           format->begin,        format->id_mark,
        format->middle,         format->end,          format->close,
        format->tags.key_begin, format->tags.key_end, format->tags.value_begin,
        format->tags.value_end};
    for (size_t i = 0; i < sizeof markers / sizeof *markers; i++)
        if (markers[i])
            put(user, markers[i]);
}
