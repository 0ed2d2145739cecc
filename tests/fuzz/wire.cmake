baton_fuzzer(frame LIBS baton_wire)
baton_fuzzer(envelope LIBS baton_wire)
baton_fuzzer(url LIBS baton_wire)
baton_fuzzer(cluster_token LIBS baton_wire)
