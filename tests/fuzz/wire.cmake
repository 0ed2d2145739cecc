baton_fuzzer(frame LIBS baton_wire)
baton_fuzzer(envelope LIBS baton_wire)
