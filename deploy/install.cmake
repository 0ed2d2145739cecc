# cmake --install: what a host needs to run, use and watch a fleet. Nothing of the build's own.
include(GNUInstallDirs)

set(BATON_UNIT_DIR lib/systemd/system CACHE STRING "where systemd's units go")
set(BATON_SYSUSERS_DIR lib/sysusers.d CACHE STRING "where the units' user is declared")

set(data ${CMAKE_INSTALL_DATADIR}/baton)

install(TARGETS baton baton-gateway baton-prefill baton-decode baton-bench baton-load baton-plan
  baton-lab RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY ${CMAKE_BINARY_DIR}/manual/man1 DESTINATION ${CMAKE_INSTALL_MANDIR})
install(DIRECTORY ${CMAKE_BINARY_DIR}/manual/bash/
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(DIRECTORY ${CMAKE_BINARY_DIR}/manual/zsh/
  DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions)

install(DIRECTORY models/tale DESTINATION ${data}/models PATTERN ".*" EXCLUDE)
install(DIRECTORY tools/lab DESTINATION ${data} FILES_MATCHING PATTERN "*.py"
  PATTERN "__pycache__" EXCLUDE)
install(PROGRAMS deploy/get-model deploy/systemd/make-secrets DESTINATION ${data})
install(DIRECTORY deploy/prometheus deploy/grafana DESTINATION ${data})
# The documents keep their folders, by which they name each other.
install(FILES README.md ARCHITECTURE.md CHANGELOG.md CONTRIBUTING.md SECURITY.md
  DESTINATION ${CMAKE_INSTALL_DOCDIR})
foreach(folder deploy tools bench)
  install(FILES ${folder}/README.md DESTINATION ${CMAKE_INSTALL_DOCDIR}/${folder})
endforeach()
install(FILES models/tale/MODEL_CARD.md models/tale/SOURCES.md
  DESTINATION ${CMAKE_INSTALL_DOCDIR}/models/tale)
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR})
if(BATON_INSTALL_LICENSE)
  install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
endif()
install(DIRECTORY deploy/config/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples)

install(FILES deploy/systemd/baton.conf DESTINATION ${BATON_SYSUSERS_DIR})
# Units and their configuration name paths, which --prefix may still change.
install(CODE "
  set(unit_dir \"${BATON_UNIT_DIR}\")
  set(from \"${CMAKE_SOURCE_DIR}/deploy/systemd\")
  set(to \"${CMAKE_BINARY_DIR}/install\")
  set(CMAKE_INSTALL_BINDIR \"${CMAKE_INSTALL_BINDIR}\")
  set(CMAKE_INSTALL_DATADIR \"${CMAKE_INSTALL_DATADIR}\")
  set(CMAKE_INSTALL_DOCDIR \"${CMAKE_INSTALL_DOCDIR}\")
  set(CMAKE_INSTALL_SYSCONFDIR \"${CMAKE_INSTALL_SYSCONFDIR}\")")
install(SCRIPT deploy/install_services.cmake)
install(CODE "set(doc \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DOCDIR}\")")
install(SCRIPT deploy/install_docs.cmake)
