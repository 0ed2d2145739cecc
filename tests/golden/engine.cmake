add_executable(golden_engine ${CMAKE_CURRENT_SOURCE_DIR}/test_engine.c)
target_link_libraries(golden_engine PRIVATE baton_options baton_engine baton_test m)
add_test(NAME golden.engine COMMAND golden_engine WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})

add_executable(golden_accuracy ${CMAKE_CURRENT_SOURCE_DIR}/test_accuracy.c)
target_link_libraries(golden_accuracy PRIVATE baton_options baton_engine baton_sampling baton_test m)
add_test(NAME golden.accuracy COMMAND golden_accuracy WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
set_tests_properties(golden.accuracy PROPERTIES ENVIRONMENT "${BATON_UNIT_ENVIRONMENT}")

add_executable(golden_amx ${CMAKE_CURRENT_SOURCE_DIR}/test_amx.c)
target_link_libraries(golden_amx PRIVATE baton_options baton_test_kernels baton_test m)
add_test(NAME golden.amx COMMAND golden_amx WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})

add_executable(golden_logits ${CMAKE_CURRENT_SOURCE_DIR}/logits.c)
target_link_libraries(golden_logits PRIVATE baton_options baton_engine)
add_test(NAME golden.families
  COMMAND ${PYTHON3} -m pytest -q -x -p no:cacheprovider ${CMAKE_CURRENT_SOURCE_DIR}/test_families.py
  WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
add_test(NAME golden.llama_cpp
  COMMAND ${PYTHON3} -m pytest -q -x -p no:cacheprovider ${CMAKE_CURRENT_SOURCE_DIR}/test_llama_cpp.py
  WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
add_executable(golden_blocks ${CMAKE_CURRENT_SOURCE_DIR}/blocks.c)
target_link_libraries(golden_blocks PRIVATE baton_options baton_checkpoint)
add_test(NAME golden.blocks
  COMMAND ${PYTHON3} -m pytest -q -x -p no:cacheprovider ${CMAKE_CURRENT_SOURCE_DIR}/test_blocks.py
  WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
add_test(NAME golden.make_gguf
  COMMAND ${PYTHON3} -m pytest -q -x -p no:cacheprovider ${CMAKE_CURRENT_SOURCE_DIR}/test_make_gguf.py
  WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
set_tests_properties(golden.families golden.llama_cpp golden.blocks PROPERTIES
  ENVIRONMENT "BATON_BIN=${CMAKE_RUNTIME_OUTPUT_DIRECTORY};PYTHONDONTWRITEBYTECODE=1")
add_executable(golden_native ${CMAKE_CURRENT_SOURCE_DIR}/native.c)
target_link_libraries(golden_native PRIVATE baton_options baton_engine)
add_test(NAME golden.native
  COMMAND ${PYTHON3} -m pytest -q -x -p no:cacheprovider ${CMAKE_CURRENT_SOURCE_DIR}/test_native.py
  WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
set_tests_properties(golden.native PROPERTIES TIMEOUT ${BATON_GOLDEN_TIMEOUT_S}
  ENVIRONMENT "BATON_BIN=${CMAKE_RUNTIME_OUTPUT_DIRECTORY};PYTHONDONTWRITEBYTECODE=1")
add_executable(golden_spec ${CMAKE_CURRENT_SOURCE_DIR}/spec.c)
target_link_libraries(golden_spec PRIVATE baton_options baton_arch)
add_test(NAME golden.specs
  COMMAND ${PYTHON3} -m pytest -q -p no:cacheprovider ${CMAKE_CURRENT_SOURCE_DIR}/test_specs.py
  WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
set_tests_properties(golden.specs PROPERTIES
  ENVIRONMENT "BATON_BIN=${CMAKE_RUNTIME_OUTPUT_DIRECTORY};PYTHONDONTWRITEBYTECODE=1")
set_tests_properties(golden.engine golden.accuracy golden.amx golden.families golden.llama_cpp
  golden.blocks golden.specs PROPERTIES TIMEOUT ${BATON_GOLDEN_TIMEOUT_S})
add_test(NAME golden.gguf
  COMMAND ${PYTHON3} -m pytest -q -x -p no:cacheprovider ${CMAKE_CURRENT_SOURCE_DIR}/test_gguf.py
  WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
set_tests_properties(golden.gguf golden.make_gguf PROPERTIES TIMEOUT ${BATON_GOLDEN_TIMEOUT_S}
  ENVIRONMENT "BATON_BIN=${CMAKE_RUNTIME_OUTPUT_DIRECTORY};PYTHONDONTWRITEBYTECODE=1")
