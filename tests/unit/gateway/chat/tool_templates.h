/* Chat templates that write calls of tools in each known form, for tests: our own short wordings of
 * the forms. */
#ifndef BATON_TESTS_UNIT_GATEWAY_CHAT_TOOL_TEMPLATES_H
#define BATON_TESTS_UNIT_GATEWAY_CHAT_TOOL_TEMPLATES_H

/* A conversation whose assistant's turns hold said, then calls. */
#define TALK(prompt, said, calls)                                                                  \
    "{% for m in messages %}{% if m.role == 'user' %}[user]{{ m.content }}{% else "                \
    "%}[assistant]" said "{% if m.tool_calls %}" calls "{% endif %}</s>{% endif %}{% endfor %}"    \
    "{% if add_generation_prompt %}[assistant]" prompt "{% endif %}"

#define SAID "{{ m.content or '' }}"

/* As gpt-oss: each message has its channel. */
#define HARMONY                                                                                    \
    "{% for m in messages %}{% if m.role == 'user' %}<|start|>user<|message|>{{ m.content }}"      \
    "<|end|>{% else %}{% if m.thinking %}<|start|>assistant<|channel|>analysis<|message|>"         \
    "{{ m.thinking }}<|end|>{% endif %}{% for c in m.tool_calls %}<|start|>assistant"              \
    "<|channel|>commentary to=functions.{{ c.function.name }} <|constrain|>json<|message|>"        \
    "{{ c.function.arguments | tojson }}<|call|>{% endfor %}{% if m.content %}<|start|>assistant"  \
    "<|channel|>final<|message|>{{ m.content }}<|return|>{% endif %}{% endif %}{% endfor %}"       \
    "{% if add_generation_prompt %}<|start|>assistant{% endif %}"

/* Gemma 4's values: maps without quotes, strings between marks. */
#define GEMMA4_VALUE                                                                               \
    "{% macro val(v) %}{% if v is string %}<|\"|>{{ v }}<|\"|>{% elif v is mapping %}{{ '{' }}"    \
    "{% for k, x in v | items %}{% if not loop.first %},{% endif %}{{ k }}:{{ val(x) }}"           \
    "{% endfor %}{{ '}' }}{% elif v is iterable %}[{% for x in v %}{% if not loop.first %},"       \
    "{% endif %}{{ val(x) }}{% endfor %}]{% else %}{{ v | tojson }}{% endif %}{% endmacro %}"

/* By the name of the form. */
static const struct {
    const char *form, *template;
} tool_templates[] = {
    {"harmony", HARMONY},
    {"hermes",
     TALK("", SAID,
          "{% for c in m.tool_calls %}{% if not loop.first %}{{ '\\n' }}{% endif %}<tool_call>"
          "{{ '\\n' }}{{ {'name': c.function.name, 'arguments': c.function.arguments} | tojson }}"
          "{{ '\\n' }}</tool_call>{% endfor %}")},
    {"mistral", TALK("", SAID,
                     "[TOOL_CALLS][{% for c in m.tool_calls %}{% if not loop.first %}, {% endif %}"
                     "{{ {'name': c.function.name, 'arguments': c.function.arguments} | tojson "
                     "}}{% endfor %}]")},
    {"mistral-args", TALK("", SAID,
                          "{% for c in m.tool_calls %}[TOOL_CALLS]{{ c.function.name }}[ARGS]"
                          "{{ c.function.arguments | tojson }}{% endfor %}")},
    {"mistral-id",
     TALK("", SAID,
          "{% for c in m.tool_calls %}[TOOL_CALLS]{{ c.function.name }}[CALL_ID]{{ c.id }}[ARGS]"
          "{{ c.function.arguments | tojson }}{% endfor %}")},
    {"granite", TALK("", SAID,
                     "<|tool_call|>[{% for c in m.tool_calls %}{% if not loop.first %}, {% endif %}"
                     "{{ {'name': c.function.name, 'arguments': c.function.arguments} | tojson "
                     "}}{% endfor %}]")},
    {"command-r7b",
     TALK("", SAID,
          "<|START_ACTION|>[{% for c in m.tool_calls %}{% if not loop.first %}, {% endif %}"
          "{{ {'tool_call_id': c.id, 'tool_name': c.function.name, 'parameters': "
          "c.function.arguments} | tojson }}"
          "{% endfor %}]<|END_ACTION|>")},
    {"llama3",
     TALK("", SAID,
          "{% for c in m.tool_calls[:1] %}"
          "{{ {'name': c.function.name, 'parameters': c.function.arguments} | tojson }}{% endfor %}"
          "{# \"parameters\": dictionary of argument name #}")},
    {"deepseek-r1",
     TALK("", SAID,
          "<｜tool▁calls▁begin｜>{% for c in m.tool_calls %}{% if not loop.first %}"
          "{{ '\\n' }}{% endif %}<｜tool▁call▁begin｜>function<｜tool▁sep｜>"
          "{{ c.function.name }}{{ '\\n' }}```json{{ '\\n' }}{{ c.function.arguments | tojson }}"
          "{{ '\\n' }}```<｜tool▁call▁end｜>{% endfor %}<｜tool▁calls▁end｜>")},
    {"deepseek-v3.1", TALK("", SAID,
                           "<｜tool▁calls▁begin｜>{% for c in m.tool_calls %}<｜tool▁call▁begin｜>"
                           "{{ c.function.name }}<｜tool▁sep｜>{{ c.function.arguments | tojson }}"
                           "<｜tool▁call▁end｜>{% endfor %}<｜tool▁calls▁end｜>")},
    {"kimi-k2",
     TALK("", SAID,
          "<|tool_calls_section_begin|>{% for c in m.tool_calls %}<|tool_call_begin|>functions."
          "{{ c.function.name }}:{{ loop.index0 }}<|tool_call_argument_begin|>"
          "{{ c.function.arguments | tojson }}<|tool_call_end|>{% endfor %}"
          "<|tool_calls_section_end|>")},
    {"phi4-mini",
     TALK("", SAID,
          "{% for c in m.tool_calls %}<|tool_call|>{{ c.function | tojson }}<|/tool_call|>"
          "{% endfor %}{# <|tool|> <|/tool|> #}")},
    {"lfm2",
     TALK("", SAID,
          "<|tool_call_start|>[{% for c in m.tool_calls %}{% if not loop.first %}, {% endif %}"
          "{{ c.function.name }}({% for k, v in c.function.arguments | items %}"
          "{% if not loop.first %}, {% endif %}{{ k }}={{ v | tojson }}{% endfor %}){% endfor %}"
          "]<|tool_call_end|>")},
    {"nemotron",
     TALK("", SAID,
          "<TOOLCALL>[{% for c in m.tool_calls %}{% if not loop.first %}, {% endif %}"
          "{{ {'name': c.function.name, 'arguments': c.function.arguments} | tojson }}{% endfor %}"
          "]</TOOLCALL>")},
    {"apriel",
     TALK("", SAID,
          "<tool_calls>[{% for c in m.tool_calls %}{% if not loop.first %}, {% endif %}"
          "{{ {'name': c.function.name, 'arguments': c.function.arguments} | tojson }}{% endfor %}"
          "]</tool_calls>")},
    {"minimax-m2",
     TALK("", SAID,
          "<minimax:tool_call>{{ '\\n' }}{% for c in m.tool_calls %}<invoke name=\""
          "{{ c.function.name }}\">{{ '\\n' }}{% for k, v in c.function.arguments | items %}"
          "<parameter name=\"{{ k }}\">{{ v if v is string else v | tojson }}</parameter>"
          "{{ '\\n' }}{% endfor %}</invoke>{{ '\\n' }}{% endfor %}</minimax:tool_call>")},
    {"seed-oss",
     TALK("", SAID,
          "{% for c in m.tool_calls %}{% if not loop.first %}{{ '\\n' }}{% endif %}<seed:tool_call>"
          "{{ '\\n' }}<function={{ c.function.name }}>{{ '\\n' }}"
          "{% for k, v in c.function.arguments | items %}<parameter={{ k }}>"
          "{{ v if v is string else v | tojson }}</parameter>{{ '\\n' }}{% endfor %}</function>"
          "{{ '\\n' }}</seed:tool_call>{% endfor %}")},
    {"qwen3-coder",
     TALK("", SAID,
          "{% for c in m.tool_calls %}{% if not loop.first %}{{ '\\n' }}{% endif %}<tool_call>"
          "{{ '\\n' }}<function={{ c.function.name }}>{{ '\\n' }}"
          "{% for k, v in c.function.arguments | items %}<parameter={{ k }}>{{ '\\n' }}"
          "{{ v if v is string else v | tojson }}{{ '\\n' }}</parameter>{{ '\\n' }}{% endfor %}"
          "</function>{{ '\\n' }}</tool_call>{% endfor %}")},
    {"glm4",
     TALK("", SAID,
          "{% for c in m.tool_calls %}<tool_call>{{ c.function.name }}{{ '\\n' }}"
          "{% for k, v in c.function.arguments | items %}<arg_key>{{ k }}</arg_key>{{ '\\n' }}"
          "<arg_value>{{ v if v is string else v | tojson }}</arg_value>{{ '\\n' }}{% endfor %}"
          "</tool_call>{% endfor %}")},
    {"functionary-v3.1", TALK("", SAID,
                              "{% for c in m.tool_calls %}<function={{ c.function.name }}>"
                              "{{ c.function.arguments | tojson }}</function>{% endfor %}")},
    {"pythonic",
     TALK("", SAID,
          "[{% for c in m.tool_calls %}{% if not loop.first %}, {% endif %}{{ c.function.name }}("
          "{% for k, v in c.function.arguments | items %}{% if not loop.first %}, {% endif %}"
          "{{ k }}={{ v | tojson }}{% endfor %}){% endfor %}]"
          "{# [func_name1(params_name1=params_value1)] #}")},
    {"minimax-m3",
     TALK("", SAID,
          "{% set ns = ']<]minimax[>[' %}{{ ns }}<tool_call>{{ '\\n' }}{% for c in m.tool_calls %}"
          "{{ ns }}<invoke name=\"{{ c.function.name }}\">"
          "{% for k, v in c.function.arguments | items %}{{ ns }}<{{ k }}>"
          "{{ v if v is string else v | tojson }}{{ ns }}</{{ k }}>{% endfor %}"
          "{{ ns }}</invoke>{{ '\\n' }}{% endfor %}{{ ns }}</tool_call>")},
    {"hunyuan3",
     TALK("", SAID,
          "{% set x = ':opensource' %}{# '<tool_sep{}>' #}<tool_calls{{ x }}>{{ '\\n' }}"
          "{% for c in m.tool_calls %}<tool_call{{ x }}>{{ c.function.name }}<tool_sep{{ x }}>"
          "{{ '\\n' }}{% for k, v in c.function.arguments | items %}<arg_key{{ x }}>{{ k }}"
          "</arg_key{{ x }}>{{ '\\n' }}<arg_value{{ x }}>{{ v if v is string else v | tojson }}"
          "</arg_value{{ x }}>{{ '\\n' }}{% endfor %}</tool_call{{ x }}>{{ '\\n' }}{% endfor %}"
          "</tool_calls{{ x }}>")},
    {"solar-open",
     TALK("", SAID,
          "<|tool_calls|>{% for c in m.tool_calls %}<|tool_call:begin|>{{ c.id }}<|tool_call:name|>"
          "{{ c.function.name }}<|tool_call:args|>{{ c.function.arguments | tojson }}"
          "<|tool_call:end|>{% endfor %}")},
    {"apertus",
     TALK("", SAID,
          "<|tools_prefix|>[{% for c in m.tool_calls %}{% if not loop.first %}, {% endif %}"
          "{{ {c.function.name: c.function.arguments} | tojson }}{% endfor %}]<|tools_suffix|>")},
    {"gigachat3.1",
     TALK("", SAID,
          "{% for c in m.tool_calls %}<|function_call|>"
          "{{ {'name': c.function.name, 'arguments': c.function.arguments} | tojson }}"
          "{% endfor %}")},
    {"gigachat3",
     TALK("", SAID,
          "{% for c in m.tool_calls %}<|message_sep|>{{ '\\n\\n' }}function call<|role_sep|>"
          "{{ '\\n' }}{{ {'name': c.function.name, 'arguments': c.function.arguments} | tojson }}"
          "{% endfor %}{# 'role': 'function call' #}")},
    {"command-r-plus",
     TALK("", SAID,
          "Action:{{ '\\n' }}```json{{ '\\n[\\n' }}{% for c in m.tool_calls %}"
          "{% if not loop.first %}, {% endif %}"
          "{{ {'tool_name': c.function.name, 'parameters': c.function.arguments} | tojson }}"
          "{% endfor %}{{ '\\n' }}]```{# \"tool_name\": title of the tool #}")},
    {"deepseek-v3.2",
     TALK("", SAID,
          "<｜DSML｜function_calls>{{ '\\n' }}{% for c in m.tool_calls %}<｜DSML｜invoke name=\""
          "{{ c.function.name }}\">{{ '\\n' }}{% for k, v in c.function.arguments | items %}"
          "<｜DSML｜parameter name=\"{{ k }}\" string=\"{{ 'true' if v is string else 'false' }}\">"
          "{{ v if v is string else v | tojson }}</｜DSML｜parameter>{{ '\\n' }}{% endfor %}"
          "</｜DSML｜invoke>{{ '\\n' }}{% endfor %}</｜DSML｜function_calls>")},
    {"deepseek-v4",
     TALK("", SAID,
          "<｜DSML｜tool_calls>{{ '\\n' }}{% for c in m.tool_calls %}<｜DSML｜invoke name=\""
          "{{ c.function.name }}\">{{ '\\n' }}{% for k, v in c.function.arguments | items %}"
          "<｜DSML｜parameter name=\"{{ k }}\" string=\"{{ 'true' if v is string else 'false' }}\">"
          "{{ v if v is string else v | tojson }}</｜DSML｜parameter>{{ '\\n' }}{% endfor %}"
          "</｜DSML｜invoke>{{ '\\n' }}{% endfor %}</｜DSML｜tool_calls>")},
    {"minicpm5",
     TALK(
         "", SAID,
         "{% for c in m.tool_calls %}{% if not loop.first %}{{ '\\n' }}{% endif %}<function name=\""
         "{{ c.function.name }}\">{% for k, v in c.function.arguments | items %}<param name=\"{{ k "
         "}}\">"
         "{{ v }}</param>{% endfor %}</function>{% endfor %}")},
    {"gemma4", GEMMA4_VALUE TALK("", SAID,
                                 "{% for c in m.tool_calls %}<|tool_call>call:{{ c.function.name }}"
                                 "{{ val(c.function.arguments) }}<tool_call|>{% endfor %}")},
    {"functionary-v3.2", TALK(">>>", "{% if m.content %}{{ '>>>all\\n' + m.content }}{% endif %}",
                              "{% for c in m.tool_calls %}>>>{{ c.function.name }}{{ '\\n' }}"
                              "{{ c.function.arguments | tojson }}{% endfor %}")},
};

enum { N_TOOL_TEMPLATES = sizeof tool_templates / sizeof tool_templates[0] };

#endif
