baton_fuzzer(http_reader LIBS gw_http)
baton_fuzzer(http_chunked LIBS baton_http)
baton_fuzzer(http_conn LIBS gw_http)
