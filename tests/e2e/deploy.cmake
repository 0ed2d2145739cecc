# The scripts of deploy/ and the container files.
baton_e2e_test(deploy)
baton_e2e_test(get_model)
