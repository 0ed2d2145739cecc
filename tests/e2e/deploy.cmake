# The scripts of deploy/ and the container files.
baton_e2e_test(deploy)
baton_e2e_test(program)
baton_e2e_test(chat_program)
baton_e2e_test(manuals)
baton_e2e_test(release)
baton_e2e_test(install)
baton_e2e_test(get_model)
# What looks after a fleet: Prometheus and Grafana, Kubernetes.
baton_e2e_test(dashboards)
baton_e2e_test(kubernetes)
