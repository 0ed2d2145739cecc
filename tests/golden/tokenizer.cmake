add_executable(golden_tokenizer ${CMAKE_CURRENT_SOURCE_DIR}/test_tokenizer.c)
target_link_libraries(golden_tokenizer PRIVATE baton_options baton_tokenizer)
foreach(vectors "tale models/tale tests/golden/tale.json tokenizer 220"
                "gpt2 tests/golden/gpt2-tokenizer tests/golden/gpt2-tokenizer/vectors.json vectors 47")
  separate_arguments(vectors)
  list(POP_FRONT vectors name)
  add_test(NAME golden.tokenizer_${name} COMMAND golden_tokenizer ${vectors}
    WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  set_tests_properties(golden.tokenizer_${name} PROPERTIES TIMEOUT 300)
endforeach()
# One small tokenizer of each kind in use, with ids and texts from Hugging Face's library.
foreach(kind deepseek falcon gemma2 gemma3 gpt2 granite llama2 llama2-metaspace llama3 o200k olmo2 phi3 phi4 qwen2
        qwen35 smollm starcoder tekken unigram)
  set(dir tests/fixtures/tokenizers/${kind})
  add_test(NAME golden.tokenizer_kind_${kind} COMMAND golden_tokenizer ${dir} ${dir}/vectors.json - 21
    WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
endforeach()
# The same tokenizers as GGUF files.
add_executable(golden_same_tokenizer ${CMAKE_CURRENT_SOURCE_DIR}/same_tokenizer.c)
target_link_libraries(golden_same_tokenizer PRIVATE baton_options baton_tokenizer)
add_test(NAME golden.gguf_tokenizers
  COMMAND ${PYTHON3} -m pytest -q -x -p no:cacheprovider ${CMAKE_CURRENT_SOURCE_DIR}/test_gguf_tokenizers.py
  WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
set_tests_properties(golden.gguf_tokenizers PROPERTIES TIMEOUT 600
  ENVIRONMENT "BATON_BIN=${CMAKE_RUNTIME_OUTPUT_DIRECTORY};PYTHONDONTWRITEBYTECODE=1")
