/* The table of known chat templates. Each family's first shape is the one taken by name. */
#include "common/chat/chat_shape.h"

#define BOS   BATON_CHAT_BOS
#define EOS   BATON_CHAT_EOS
#define TODAY BATON_CHAT_TODAY

#define OPENS(system, user, assistant)  .open = {system, user, assistant}
#define CLOSES(system, user, assistant) .close = {system, user, assistant}

/* Conditions that templates write before raise_exception. */
#define ALTERNATES_FROM(index) "(message.role=='user')!=(" index "%2==0)%}{{raise_exception('"
#define ALTERNATES             ALTERNATES_FROM("loop.index0")
#define ALTERNATES_NS          ALTERNATES_FROM("ns.index")
#define REFUSES_SYSTEM         "{%if messages[0].role=='system'%}{{raise_exception('System role"

#define LEAD_IS_TAKEN_OUT   "{%set loop_messages=messages[1:]%}"
#define LEAD_IS_NOT_TRIMMED "{%set system_message=messages[0].content%}"
#define NO_LEAD_IS_FALSE    "{%set system_message=false%}"
#define PROMPT              "add_generation_prompt%}"

#define HEADER(role) "<|start_header_id|>" role "<|end_header_id|>\n\n"
#define TURN(role)   "<start_of_turn>" role "\n"
#define LLAMA2_SYSTEM                                                                              \
    "{%if loop.index0==0 and system_message!=false%}{%set "                                        \
    "content='<<SYS>>\n'+system_message+'\n<</SYS>>\n\n'+message.content%}"

const struct baton_chat_shape baton_chat_shapes[] = {
    {
        .family = "chatml",
        .needs = {"{{'<|im_start|>'+message.role+'\n'+message.content+'<|im_end|>\n'}}",
                  PROMPT "{{'<|im_start|>assistant\n'}}{%"},
        .may = {"{{'<|im_start|>system\n'+messages[0].content+'<|im_end|>\n'}}",
                "{{'<|im_start|>system\n'+system_message}}", "{{'<|im_end|>\n'}}"},
        .refuses = {"raise_exception"},
        .default_from = {"{%if loop.first and messages[0].role!='system'%}{{'<|im_start|>system\n",
                         "{%else%}{{'<|im_start|>system\n"},
        .default_to = "<|im_end|>\n'}}",
        OPENS("<|im_start|>system\n", "<|im_start|>user\n", "<|im_start|>assistant\n"),
        CLOSES("<|im_end|>\n", "<|im_end|>\n", "<|im_end|>\n"),
        .generation = "<|im_start|>assistant\n",
        .stop = "<|im_end|>",
    },
    {
        .family = "llama2",
        .needs = {"{{bos_token+'[INST] '+content|trim+' [/INST]'}}{%elif message.role=='assistant'",
                  "{{' '+content|trim+' '+eos_token}}", LLAMA2_SYSTEM, LEAD_IS_TAKEN_OUT,
                  LEAD_IS_NOT_TRIMMED, NO_LEAD_IS_FALSE, ALTERNATES},
        .refuses = {"true==true"},
        OPENS("", BOS "[INST] ", " "),
        CLOSES("", " [/INST]", " " EOS),
        .trims = BATON_TRIM_ALL,
        .lead = BATON_SYSTEM_FIRST_USER,
        .later = BATON_SYSTEM_DROPPED,
        .joined_open = "<<SYS>>\n",
        .joined_close = "\n<</SYS>>\n\n",
        .trims_joined = true,
        .alternates = true,
        .places_bos = true,
        .generation = "",
        .stop = EOS,
    },
    {
        .family = "llama2",
        .needs = {"{{bos_token+'[INST] '+content|trim+' [/INST]'}}{%elif message.role=='system'%}"
                  "{{'<<SYS>>\n'+content|trim+'\n<</SYS>>\n\n'}}",
                  "{{' '+content|trim+' '+eos_token}}", LLAMA2_SYSTEM, LEAD_IS_TAKEN_OUT,
                  LEAD_IS_NOT_TRIMMED, NO_LEAD_IS_FALSE, ALTERNATES},
        .refuses = {"true==true"},
        OPENS("<<SYS>>\n", BOS "[INST] ", " "),
        CLOSES("\n<</SYS>>\n\n", " [/INST]", " " EOS),
        .trims = BATON_TRIM_ALL,
        .lead = BATON_SYSTEM_FIRST_USER,
        .later = BATON_SYSTEM_TURN,
        .joined_open = "<<SYS>>\n",
        .joined_close = "\n<</SYS>>\n\n",
        .trims_joined = true,
        .alternates = true,
        .places_bos = true,
        .generation = "",
        .stop = EOS,
    },
    {
        .family = "llama3",
        .needs = {"'<|start_header_id|>'+message.role+'<|end_header_id|>\n\n'"
                  "+message.content|trim+'<|eot_id|>'%}",
                  "{{content}}{%endfor%}", "%}{{'" HEADER("assistant") "'}}"},
        .refuses = {"raise_exception", "add_generation_prompt and"},
        OPENS(HEADER("system"), HEADER("user"), HEADER("assistant")),
        CLOSES("<|eot_id|>", "<|eot_id|>", "<|eot_id|>"),
        .trims = BATON_TRIM_ALL,
        .begins_with_bos = true,
        .generation = HEADER("assistant"),
        .stop = "<|eot_id|>",
    },
    {
        /* Llama 3.1 and later: the system turn is always there and begins with two dates. */
        .family = "llama3",
        .needs = {"{{'<|start_header_id|>'+message.role+'<|end_header_id|>\n\n'"
                  "+message.content|trim+'<|eot_id|>'}}",
                  "{{'" HEADER("system") "'}}",
                  "{{'Cutting Knowledge Date: December 2023\nToday Date: '+date_string+'\n\n'}}",
                  "{%set date_string='26 Jul 2024'%}",
                  "{%set system_message=messages[0].content|trim%}{%set messages=messages[1:]%}",
                  "{{system_message+'<|eot_id|>'}}",
                  PROMPT "{{'" HEADER("assistant") "'}}{%endif%}"},
        .default_system = "",
        OPENS(HEADER("system"), HEADER("user"), HEADER("assistant")),
        CLOSES("<|eot_id|>", "<|eot_id|>", "<|eot_id|>"),
        .trims = BATON_TRIM_ALL,
        .lead_open =
            HEADER("system") "Cutting Knowledge Date: December 2023\nToday Date: " TODAY "\n\n",
        .begins_with_bos = true,
        .generation = HEADER("assistant"),
        .stop = "<|eot_id|>",
    },
    {
        .family = "gemma",
        .needs = {"{{'<start_of_turn>'+role+'\n'+message.content|trim+'<end_of_turn>\n'}}",
                  "{%set role='model'%}", PROMPT "{{'<start_of_turn>model\n'}}", ALTERNATES,
                  REFUSES_SYSTEM},
        OPENS(TURN("system"), TURN("user"), TURN("model")),
        CLOSES("<end_of_turn>\n", "<end_of_turn>\n", "<end_of_turn>\n"),
        .trims = BATON_TRIM_ALL,
        .lead = BATON_SYSTEM_REFUSED,
        .alternates = true,
        .begins_with_bos = true,
        .generation = "<start_of_turn>model\n",
        .stop = "<end_of_turn>",
    },
    {
        /* Gemma 3 */
        .family = "gemma",
        .needs = {"{{'<start_of_turn>'+role+'\n'+(first_user_prefix if loop.first else'')}}"
                  "{%if message.content is string%}{{message.content|trim}}",
                  "{%set first_user_prefix=messages[0].content+'\n\n'%}",
                  "{%set first_user_prefix=''%}", LEAD_IS_TAKEN_OUT, "{{'<end_of_turn>\n'}}",
                  "{%set role='model'%}", PROMPT "{{'<start_of_turn>model\n'}}", ALTERNATES},
        OPENS(TURN("system"), TURN("user"), TURN("model")),
        CLOSES("<end_of_turn>\n", "<end_of_turn>\n", "<end_of_turn>\n"),
        .trims = BATON_TRIM_ALL,
        .lead = BATON_SYSTEM_FIRST_USER,
        .joined_open = "",
        .joined_close = "\n\n",
        .alternates = true,
        .generation = "<start_of_turn>model\n",
        .stop = "<end_of_turn>",
    },
    {
        .family = "mistral-v1",
        .needs = {"{%if loop.first and system_message is defined%}"
                  "{{' [INST] '+system_message+'\n\n'+message.content+' [/INST]'}}"
                  "{%else%}{{' [INST] '+message.content+' [/INST]'}}",
                  "{%elif message.role=='assistant'%}{{' '+message.content+eos_token}}"
                  "{%else%}{{raise_exception(",
                  ALTERNATES, LEAD_IS_TAKEN_OUT, LEAD_IS_NOT_TRIMMED},
        OPENS("", " [INST] ", " "),
        CLOSES("", " [/INST]", EOS),
        .lead = BATON_SYSTEM_FIRST_USER,
        .later = BATON_SYSTEM_REFUSED,
        .joined_open = "",
        .joined_close = "\n\n",
        .alternates = true,
        .begins_with_bos = true,
        .generation = "",
        .stop = EOS,
    },
    {
        /* Before v1: no system messages. */
        .family = "mistral-v1",
        .needs = {"{{'[INST] '+message.content+' [/INST]'}}"
                  "{%elif message.role=='assistant'%}{{message.content+eos_token}}"
                  "{%else%}{{raise_exception(",
                  ALTERNATES},
        OPENS("", "[INST] ", ""),
        CLOSES("", " [/INST]", EOS),
        .lead = BATON_SYSTEM_REFUSED,
        .later = BATON_SYSTEM_REFUSED,
        .alternates = true,
        .generation = "",
        .stop = EOS,
    },
    {
        .family = "mistral-v1",
        .needs = {"{{'[INST] '+message.content+' [/INST]'}}"
                  "{%elif message.role=='assistant'%}{{message.content+eos_token+' '}}"
                  "{%else%}{{raise_exception(",
                  ALTERNATES},
        OPENS("", "[INST] ", ""),
        CLOSES("", " [/INST]", EOS " "),
        .lead = BATON_SYSTEM_REFUSED,
        .later = BATON_SYSTEM_REFUSED,
        .alternates = true,
        .generation = "",
        .stop = EOS,
    },
    {
        .family = "mistral-v3",
        .needs = {"{%if loop.last and system_message is defined%}"
                  "{{'[INST] '+system_message+'\n\n'+message.content+'[/INST]'}}"
                  "{%else%}{{'[INST] '+message.content+'[/INST]'}}",
                  "{%elif message.role=='assistant'%}{{' '+message.content|trim+eos_token}}",
                  ALTERNATES_NS, LEAD_IS_TAKEN_OUT, LEAD_IS_NOT_TRIMMED,
                  "{%else%}{{raise_exception('Only user and"},
        OPENS("", "[INST] ", " "),
        CLOSES("", "[/INST]", EOS),
        .trims = BATON_TRIM_ASSISTANT,
        .lead = BATON_SYSTEM_LAST_USER,
        .later = BATON_SYSTEM_REFUSED,
        .joined_open = "",
        .joined_close = "\n\n",
        .alternates = true,
        .begins_with_bos = true,
        .generation = "",
        .stop = EOS,
    },
    {
        .family = "mistral-v3",
        .needs = {"{%if loop.last and system_message is defined%}"
                  "{{'[INST] '+system_message+'\n\n'+message.content+'[/INST]'}}"
                  "{%else%}{{'[INST] '+message.content+'[/INST]'}}",
                  "{%elif message.role=='assistant'%}{{' '+message.content+eos_token}}",
                  ALTERNATES_NS, LEAD_IS_TAKEN_OUT, LEAD_IS_NOT_TRIMMED,
                  "{%else%}{{raise_exception('Only user and"},
        OPENS("", "[INST] ", " "),
        CLOSES("", "[/INST]", EOS),
        .lead = BATON_SYSTEM_LAST_USER,
        .later = BATON_SYSTEM_REFUSED,
        .joined_open = "",
        .joined_close = "\n\n",
        .alternates = true,
        .generation = "",
        .stop = EOS,
    },
    {
        .family = "mistral-tekken",
        .needs = {"{%if loop.last and system_message is defined%}"
                  "{{'[INST]'+system_message+'\n\n'+message.content+'[/INST]'}}"
                  "{%else%}{{'[INST]'+message.content+'[/INST]'}}",
                  "{%elif message.role=='assistant'%}{{message.content+eos_token}}", ALTERNATES_NS,
                  LEAD_IS_TAKEN_OUT, LEAD_IS_NOT_TRIMMED,
                  "{%else%}{{raise_exception('Only user and"},
        OPENS("", "[INST]", ""),
        CLOSES("", "[/INST]", EOS),
        .lead = BATON_SYSTEM_LAST_USER,
        .later = BATON_SYSTEM_REFUSED,
        .joined_open = "",
        .joined_close = "\n\n",
        .alternates = true,
        .begins_with_bos = true,
        .generation = "",
        .stop = EOS,
    },
    {
        .family = "mistral-v7",
        .needs = {"{{'[INST] '+message.content+'[/INST]'}}{%elif message.role=='system'%}"
                  "{{'[SYSTEM_PROMPT] '+message.content+'[/SYSTEM_PROMPT]'}}"
                  "{%elif message.role=='assistant'%}{{' '+message.content+eos_token}}"},
        OPENS("[SYSTEM_PROMPT] ", "[INST] ", " "),
        CLOSES("[/SYSTEM_PROMPT]", "[/INST]", EOS),
        .begins_with_bos = true,
        .generation = "",
        .stop = EOS,
    },
    {
        /* v7 on the tekken vocabulary, with a system text of its own. */
        .family = "mistral-v7",
        .needs = {"{%set system_message=default_system_message%}",
                  "{{'[SYSTEM_PROMPT]'+system_message+'[/SYSTEM_PROMPT]'}}",
                  "{%if message.content is string%}{{'[INST]'+message.content+'[/INST]'}}",
                  "{%if message.content is string%}"
                  "{{'[SYSTEM_PROMPT]'+message.content+'[/SYSTEM_PROMPT]'}}",
                  "{%elif message.role=='assistant'%}{%if message.content is string%}"
                  "{{message.content}}",
                  "{{eos_token}}", LEAD_IS_TAKEN_OUT, LEAD_IS_NOT_TRIMMED},
        .refuses = {ALTERNATES, ALTERNATES_NS},
        .default_from = {"{%set default_system_message='"},
        .default_to = "'%}",
        OPENS("[SYSTEM_PROMPT]", "[INST]", ""),
        CLOSES("[/SYSTEM_PROMPT]", "[/INST]", EOS),
        .generation = "",
        .stop = EOS,
    },
    {
        .family = "zephyr",
        .needs = {"{{'<|user|>\n'+message.content+eos_token+'\n'}}",
                  "{{'<|system|>\n'+message.content+eos_token+'\n'}}",
                  "{{'<|assistant|>\n'+message.content+eos_token+'\n'}}",
                  PROMPT "{{'<|assistant|>\n'}}"},
        .refuses = {"raise_exception"},
        OPENS("<|system|>\n", "<|user|>\n", "<|assistant|>\n"),
        CLOSES(EOS "\n", EOS "\n", EOS "\n"),
        .generation = "<|assistant|>\n",
        .stop = EOS,
    },
    {
        .family = "phi3",
        .needs = {"{{'<|'+message.role+'|>\n'+message.content+'<|end|>\n'}}{%endfor%}",
                  PROMPT "{{'<|assistant|>\n'}}"},
        .refuses = {"raise_exception"},
        OPENS("<|system|>\n", "<|user|>\n", "<|assistant|>\n"),
        CLOSES("<|end|>\n", "<|end|>\n", "<|end|>\n"),
        .generation = "<|assistant|>\n",
        .stop = "<|end|>",
    },
    {
        /* Phi-3.5 */
        .family = "phi3",
        .needs = {"{%if message.role=='system'and message.content%}"
                  "{{'<|system|>\n'+message.content+'<|end|>\n'}}{%elif",
                  "{{'<|user|>\n'+message.content+'<|end|>\n'}}{%elif",
                  "{{'<|assistant|>\n'+message.content+'<|end|>\n'}}{%endif%}",
                  PROMPT "{{'<|assistant|>\n'}}"},
        .refuses = {"raise_exception"},
        OPENS("<|system|>\n", "<|user|>\n", "<|assistant|>\n"),
        CLOSES("<|end|>\n", "<|end|>\n", "<|end|>\n"),
        .lead = BATON_SYSTEM_NOT_EMPTY,
        .later = BATON_SYSTEM_NOT_EMPTY,
        .generation = "<|assistant|>\n",
        .stop = "<|end|>",
    },
    {
        .family = "phi3",
        .needs = {"{%if message.role=='system'%}"
                  "{{'<|system|>\n'+message.content+'<|end|>\n'}}{%elif",
                  "{{'<|user|>\n'+message.content+'<|end|>\n'}}{%elif",
                  "{{'<|assistant|>\n'+message.content+'<|end|>\n'}}{%endif%}",
                  PROMPT "{{'<|assistant|>\n'}}"},
        .refuses = {"raise_exception"},
        OPENS("<|system|>\n", "<|user|>\n", "<|assistant|>\n"),
        CLOSES("<|end|>\n", "<|end|>\n", "<|end|>\n"),
        .generation = "<|assistant|>\n",
        .stop = "<|end|>",
    },
    {
        /* The first Phi-3: every user turn opens the answer, and system messages are skipped. */
        .family = "phi3",
        .needs = {"{%if(message.role=='user')%}"
                  "{{'<|user|>\n'+message.content+'<|end|>\n<|assistant|>\n'}}"
                  "{%elif(message.role=='assistant')%}{{message.content+'<|end|>\n'}}"
                  "{%endif%}{%endfor%}"},
        .refuses = {"raise_exception"},
        OPENS("", "<|user|>\n", ""),
        CLOSES("", "<|end|>\n<|assistant|>\n", "<|end|>\n"),
        .lead = BATON_SYSTEM_DROPPED,
        .later = BATON_SYSTEM_DROPPED,
        .generation = "",
        .stop = "<|end|>",
    },
    {
        /* Phi-4-mini: the same without line breaks. */
        .family = "phi3",
        .needs = {"{%else%}{{'<|'+message.role+'|>'+message.content+'<|end|>'}}{%endif%}{%endfor%}",
                  PROMPT "{{'<|assistant|>'}}"},
        .refuses = {"raise_exception"},
        OPENS("<|system|>", "<|user|>", "<|assistant|>"),
        CLOSES("<|end|>", "<|end|>", "<|end|>"),
        .generation = "<|assistant|>",
        .stop = "<|end|>",
    },
    {
        .family = "phi4",
        .needs = {"{{'<|im_start|>system<|im_sep|>'+message.content+'<|im_end|>'}}",
                  "{{'<|im_start|>user<|im_sep|>'+message.content+'<|im_end|>'}}",
                  "{{'<|im_start|>assistant<|im_sep|>'+message.content+'<|im_end|>'}}",
                  PROMPT "{{'<|im_start|>assistant<|im_sep|>'}}"},
        .refuses = {"raise_exception"},
        OPENS("<|im_start|>system<|im_sep|>", "<|im_start|>user<|im_sep|>",
              "<|im_start|>assistant<|im_sep|>"),
        CLOSES("<|im_end|>", "<|im_end|>", "<|im_end|>"),
        .generation = "<|im_start|>assistant<|im_sep|>",
        .stop = "<|im_end|>",
    },
    {
        /* Phi-4 as first published: every user turn opens the answer. */
        .family = "phi4",
        .needs = {"{{'<|im_start|>system<|im_sep|>'+message.content+'<|im_end|>'}}",
                  "{{'<|im_start|>user<|im_sep|>'+message.content"
                  "+'<|im_end|><|im_start|>assistant<|im_sep|>'}}",
                  "{%elif(message.role=='assistant')%}{{message.content+'<|im_end|>'}}"
                  "{%endif%}{%endfor%}"},
        .refuses = {"raise_exception", PROMPT},
        OPENS("<|im_start|>system<|im_sep|>", "<|im_start|>user<|im_sep|>", ""),
        CLOSES("<|im_end|>", "<|im_end|><|im_start|>assistant<|im_sep|>", "<|im_end|>"),
        .generation = "",
        .stop = "<|im_end|>",
    },
    {.family = NULL},
};
