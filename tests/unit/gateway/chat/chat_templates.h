/* Chat templates in the shape of those that models bring, one per known shape, for tests. */
#ifndef BATON_TESTS_UNIT_GATEWAY_CHAT_CHAT_TEMPLATES_H
#define BATON_TESTS_UNIT_GATEWAY_CHAT_CHAT_TEMPLATES_H

#define LEAD_APART                                                                                 \
    "{% if messages[0]['role'] == 'system' %}{% set loop_messages = messages[1:] %}"               \
    "{% set system_message = messages[0]['content'] %}{% else %}"                                  \
    "{% set loop_messages = messages %}{% endif %}\n"

#define MUST_ALTERNATE                                                                             \
    "{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}"                               \
    "{{ raise_exception('roles must alternate') }}{% endif %}"

#define GENERATION(text) "{% if add_generation_prompt %}{{ '" text "' }}{% endif %}"

#define CHATML_LOOP                                                                                \
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + "                  \
    "message['content'] + '<|im_end|>\\n' }}{% endfor %}"

#define CHATML CHATML_LOOP GENERATION("<|im_start|>assistant\\n")

#define CHATML_WITH_DEFAULT                                                                        \
    "{%- if messages[0].role == \"system\" %}\n"                                                   \
    "    {{- '<|im_start|>system\\n' + messages[0].content + '<|im_end|>\\n' }}\n"                 \
    "{%- else %}\n"                                                                                \
    "    {{- '<|im_start|>system\\nYou\\'re a \"test\".<|im_end|>\\n' }}\n"                        \
    "{%- endif %}\n"                                                                               \
    "{%- for message in messages %}\n"                                                             \
    "    {%- if message.role != \"system\" or not loop.first %}\n"                                 \
    "        {{- \"<|im_start|>\" + message.role + \"\\n\" + message.content + \"<|im_end|>\" + "  \
    "\"\\n\" }}\n"                                                                                 \
    "    {%- endif %}\n"                                                                           \
    "{%- endfor %}\n"                                                                              \
    "{%- if add_generation_prompt %}\n"                                                            \
    "    {{- '<|im_start|>assistant\\n' }}\n"                                                      \
    "{%- endif %}\n"

#define LLAMA2_WITH(system)                                                                        \
    "{% set system_message = false %}" LEAD_APART                                                  \
    "{% for message in loop_messages %}" MUST_ALTERNATE                                            \
    "{% if loop.index0 == 0 and system_message != false %}"                                        \
    "{% set content = '<<SYS>>\\n' + system_message + '\\n<</SYS>>\\n\\n' + "                      \
    "message['content'] %}{% else %}{% set content = message['content'] %}{% endif %}"             \
    "{% if message['role'] == 'user' %}"                                                           \
    "{{ bos_token + '[INST] ' + content.strip() + ' [/INST]' }}" system                            \
    "{% elif message['role'] == 'assistant' %}"                                                    \
    "{{ ' ' + content.strip() + ' ' + eos_token }}{% endif %}{% endfor %}"
#define LLAMA2 LLAMA2_WITH("")
#define LLAMA2_WITH_LATER_SYSTEM                                                                   \
    LLAMA2_WITH("{% elif message['role'] == 'system' %}"                                           \
                "{{ '<<SYS>>\\n' + content.strip() + '\\n<</SYS>>\\n\\n' }}")

#define LLAMA3_ASSISTANT "<|start_header_id|>assistant<|end_header_id|>\\n\\n"
#define LLAMA3_TURN                                                                                \
    "'<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n' + "                       \
    "message['content'] | trim + '<|eot_id|>'"
#define LLAMA3                                                                                     \
    "{% for message in messages %}{% set content = " LLAMA3_TURN " %}"                             \
    "{% if loop.index0 == 0 %}{% set content = bos_token + content %}{% endif %}"                  \
    "{{ content }}{% endfor %}" GENERATION(LLAMA3_ASSISTANT)
#define LLAMA3_DATED(date)                                                                         \
    "{{- bos_token }}\n"                                                                           \
    "{%- if not date_string is defined %}" date "{%- endif %}\n"                                   \
    "{%- if messages[0]['role'] == 'system' %}\n"                                                  \
    "  {%- set system_message = messages[0]['content']|trim %}\n"                                  \
    "  {%- set messages = messages[1:] %}\n"                                                       \
    "{%- else %}{%- set system_message = \"\" %}{%- endif %}\n"                                    \
    "{{- \"<|start_header_id|>system<|end_header_id|>\\n\\n\" }}\n"                                \
    "{%- if tools %}{{- \"Environment: ipython\\n\" }}{%- endif %}\n"                              \
    "{{- \"Cutting Knowledge Date: December 2023\\n\" }}\n"                                        \
    "{{- \"Today Date: \" + date_string + \"\\n\\n\" }}\n"                                         \
    "{%- if tools %}{{- tools | tojson }}{%- endif %}\n"                                           \
    "{{- system_message }}\n"                                                                      \
    "{{- \"<|eot_id|>\" }}\n"                                                                      \
    "{%- for message in messages %}{{- " LLAMA3_TURN                                               \
    " }}{%- endfor %}\n" GENERATION(LLAMA3_ASSISTANT)
#define LLAMA3_1 LLAMA3_DATED("{%- set date_string = \"26 Jul 2024\" %}")
#define LLAMA3_2                                                                                   \
    LLAMA3_DATED("{%- if strftime_now is defined %}"                                               \
                 "{%- set date_string = strftime_now(\"%d %b %Y\") %}"                             \
                 "{%- else %}{%- set date_string = \"26 Jul 2024\" %}{%- endif %}")

#define GEMMA_ROLE                                                                                 \
    "{% if (message['role'] == 'assistant') %}{% set role = 'model' %}"                            \
    "{% else %}{% set role = message['role'] %}{% endif %}"
#define GEMMA                                                                                      \
    "{{ bos_token }}{% if messages[0]['role'] == 'system' %}"                                      \
    "{{ raise_exception('System role not supported') }}{% endif %}"                                \
    "{% for message in messages %}" MUST_ALTERNATE GEMMA_ROLE                                      \
    "{{ '<start_of_turn>' + role + '\n' + message['content'] | trim + '<end_of_turn>\n' }}"        \
    "{% endfor %}" GENERATION("<start_of_turn>model\n")
#define GEMMA3                                                                                     \
    "{{ bos_token }}\n"                                                                            \
    "{%- if messages[0]['role'] == 'system' -%}\n"                                                 \
    "    {%- set first_user_prefix = messages[0]['content'] + '\n\n' -%}\n"                        \
    "    {%- set loop_messages = messages[1:] -%}\n"                                               \
    "{%- else -%}\n"                                                                               \
    "    {%- set first_user_prefix = \"\" -%}{%- set loop_messages = messages -%}\n"               \
    "{%- endif -%}\n"                                                                              \
    "{%- for message in loop_messages -%}" MUST_ALTERNATE GEMMA_ROLE                               \
    "    {{- '<start_of_turn>' + role + '\n' + (first_user_prefix if loop.first else \"\") }}\n"   \
    "    {%- if message['content'] is string -%}{{ message['content'] | trim }}{%- endif -%}\n"    \
    "    {{ '<end_of_turn>\n' }}\n"                                                                \
    "{%- endfor -%}\n" GENERATION("<start_of_turn>model\n")

#define ONLY_TWO_ROLES "{% else %}{{ raise_exception('Only user and assistant') }}{% endif %}"
#define MISTRAL_OLD(after)                                                                         \
    "{{ bos_token }}{% for message in messages %}" MUST_ALTERNATE                                  \
    "{% if message['role'] == 'user' %}{{ '[INST] ' + message['content'] + ' [/INST]' }}"          \
    "{% elif message['role'] == 'assistant' %}{{ message['content'] + eos_token" after             \
    " }}" ONLY_TWO_ROLES "{% endfor %}"
#define MISTRAL_V1                                                                                 \
    LEAD_APART "{{- bos_token }}{% for message in loop_messages %}" MUST_ALTERNATE                 \
               "{% if message['role'] == 'user' %}"                                                \
               "{% if loop.first and system_message is defined %}"                                 \
               "{{ ' [INST] ' + system_message + '\\n\\n' + message['content'] + ' [/INST]' }}"    \
               "{% else %}{{ ' [INST] ' + message['content'] + ' [/INST]' }}{% endif %}"           \
               "{% elif message['role'] == 'assistant' %}{{ ' ' + message['content'] + "           \
               "eos_token }}" ONLY_TWO_ROLES "{% endfor %}"
#define MISTRAL_LAST(open, answer)                                                                 \
    LEAD_APART                                                                                     \
    "{% set ns = namespace() %}{% set ns.index = 0 %}{% for message in loop_messages %}"           \
    "{% if (message[\"role\"] == \"user\") != (ns.index % 2 == 0) %}"                              \
    "{{ raise_exception(\"alternate!\") }}{% endif %}{% set ns.index = ns.index + 1 %}"            \
    "{% endfor %}{{- bos_token }}{% for message in loop_messages %}"                               \
    "{% if message[\"role\"] == \"user\" %}{% if loop.last and system_message is defined %}"       \
    "{{- \"" open "\" + system_message + \"\\n\\n\" + message[\"content\"] + \"[/INST]\" }}"       \
    "{% else %}{{- \"" open "\" + message[\"content\"] + \"[/INST]\" }}{% endif %}"                \
    "{% elif message[\"role\"] == \"assistant\" %}{{- " answer " + eos_token }}" ONLY_TWO_ROLES    \
    "{% endfor %}"
#define MISTRAL_V3         MISTRAL_LAST("[INST] ", "\" \" + message.content|trim")
#define MISTRAL_V3_NO_TRIM MISTRAL_LAST("[INST] ", "\" \" + message.content")
#define MISTRAL_TEKKEN     MISTRAL_LAST("[INST]", "message.content")
#define MISTRAL_V7                                                                                 \
    "{{ bos_token }}{% for message in messages %}{% if message['role'] == 'user' %}"               \
    "{{ '[INST] ' + message['content'] + '[/INST]' }}{% elif message['role'] == 'system' %}"       \
    "{{ '[SYSTEM_PROMPT] ' + message['content'] + '[/SYSTEM_PROMPT]' }}"                           \
    "{% elif message['role'] == 'assistant' %}{{ ' ' + message['content'] + eos_token }}"          \
    "{% else %}{{ raise_exception('roles!') }}{% endif %}{% endfor %}"
#define MISTRAL_V7_WITH_DEFAULT(text)                                                              \
    "{%- set default_system_message = " text " %}\n"                                               \
    "{{- bos_token }}\n"                                                                           \
    "{%- if messages[0]['role'] == 'system' %}\n"                                                  \
    "    {%- set system_message = messages[0]['content'] %}\n"                                     \
    "    {%- set loop_messages = messages[1:] %}\n"                                                \
    "{%- else %}\n"                                                                                \
    "    {%- set system_message = default_system_message %}\n"                                     \
    "    {%- set loop_messages = messages %}\n"                                                    \
    "{%- endif %}\n"                                                                               \
    "{{- '[SYSTEM_PROMPT]' + system_message + '[/SYSTEM_PROMPT]' }}\n"                             \
    "{%- for message in loop_messages %}\n"                                                        \
    "    {%- if message['role'] == 'user' %}\n"                                                    \
    "        {%- if message['content'] is string %}\n"                                             \
    "            {{- '[INST]' + message['content'] + '[/INST]' }}\n"                               \
    "        {%- endif %}\n"                                                                       \
    "    {%- elif message['role'] == 'system' %}\n"                                                \
    "        {%- if message['content'] is string %}\n"                                             \
    "            {{- '[SYSTEM_PROMPT]' + message['content'] + '[/SYSTEM_PROMPT]' }}\n"             \
    "        {%- endif %}\n"                                                                       \
    "    {%- elif message['role'] == 'assistant' %}\n"                                             \
    "        {%- if message['content'] is string %}\n"                                             \
    "            {{- message['content'] }}\n"                                                      \
    "        {%- endif %}\n"                                                                       \
    "        {{- eos_token }}\n"                                                                   \
    "    {%- endif %}\n"                                                                           \
    "{%- endfor %}\n"

#define ZEPHYR                                                                                     \
    "{% for message in messages %}\n{% if message['role'] == 'user' %}\n"                          \
    "{{ '<|user|>\n' + message['content'] + eos_token }}\n"                                        \
    "{% elif message['role'] == 'system' %}\n"                                                     \
    "{{ '<|system|>\n' + message['content'] + eos_token }}\n"                                      \
    "{% elif message['role'] == 'assistant' %}\n"                                                  \
    "{{ '<|assistant|>\n'  + message['content'] + eos_token }}\n{% endif %}\n"                     \
    "{% if loop.last and add_generation_prompt %}\n{{ '<|assistant|>' }}\n{% endif %}\n"           \
    "{% endfor %}"

#define PHI3                                                                                       \
    "{{ bos_token }}{% for message in messages %}{{ '<|' + message['role'] + '|>' + '\n' + "       \
    "message['content'] + '<|end|>\n' }}{% endfor %}" GENERATION("<|assistant|>\n")
#define PHI3_BY_ROLE(not_empty)                                                                    \
    "{% for message in messages %}{% if message['role'] == 'system'" not_empty " %}"               \
    "{{'<|system|>\n' + message['content'] + '<|end|>\n'}}"                                        \
    "{% elif message['role'] == 'user' %}"                                                         \
    "{{'<|user|>\n' + message['content'] + '<|end|>\n'}}"                                          \
    "{% elif message['role'] == 'assistant' %}"                                                    \
    "{{'<|assistant|>\n' + message['content'] + '<|end|>\n'}}"                                     \
    "{% endif %}{% endfor %}" GENERATION("<|assistant|>\n")
#define PHI3_FIRST                                                                                 \
    "{% for message in messages %}{% if (message['role'] == 'user') %}"                            \
    "{{'<|user|>' + '\n' + message['content'] + '<|end|>' + '\n' + '<|assistant|>' + '\n'}}"       \
    "{% elif (message['role'] == 'assistant') %}{{message['content'] + '<|end|>' + '\n'}}"         \
    "{% endif %}{% endfor %}"
#define PHI4_MINI                                                                                  \
    "{% for message in messages %}{% if message['tools'] %}{{ message['tools'] }}{% else %}"       \
    "{{ '<|' + message['role'] + '|>' + message['content'] + '<|end|>' }}{% endif %}"              \
    "{% endfor %}" GENERATION("<|assistant|>")

#define PHI4_SYSTEM                                                                                \
    "{% for message in messages %}{% if (message['role'] == 'system') %}"                          \
    "{{'<|im_start|>system<|im_sep|>' + message['content'] + '<|im_end|>'}}"                       \
    "{% elif (message['role'] == 'user') %}"
#define PHI4                                                                                       \
    PHI4_SYSTEM "{{'<|im_start|>user<|im_sep|>' + message['content'] + '<|im_end|>'}}"             \
                "{% elif (message['role'] == 'assistant') %}"                                      \
                "{{'<|im_start|>assistant<|im_sep|>' + message['content'] + '<|im_end|>'}}"        \
                "{% endif %}{% endfor %}" GENERATION("<|im_start|>assistant<|im_sep|>")
#define PHI4_FIRST                                                                                 \
    PHI4_SYSTEM "{{'<|im_start|>user<|im_sep|>' + message['content'] + "                           \
                "'<|im_end|><|im_start|>assistant<|im_sep|>'}}"                                    \
                "{% elif (message['role'] == 'assistant') %}{{message['content'] + '<|im_end|>'}}" \
                "{% endif %}{% endfor %}"

#endif
