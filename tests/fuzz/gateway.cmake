baton_fuzzer(api_keys LIBS gw)
baton_fuzzer(cors_origins LIBS gw)
baton_fuzzer(bodies LIBS gw m)
# Where a body becomes a completion, the driver stands.
target_link_options(fuzz_bodies PRIVATE -Wl,--wrap=gw_completion_start
  -Wl,--wrap=gw_completion_refuse -Wl,--wrap=gw_exchange_add_header
  -Wl,--wrap=gw_answer_problem -Wl,--wrap=gw_answer_json)
target_compile_definitions(fuzz_bodies PRIVATE BATON_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
baton_fuzzer(worker_messages LIBS gw m baton_test)
foreach(part fixture fixture_clients fixture_links fixture_workers)
  target_sources(fuzz_worker_messages PRIVATE ${CMAKE_SOURCE_DIR}/tests/unit/gateway/${part}.c)
endforeach()
baton_wrap_gateway(fuzz_worker_messages)
