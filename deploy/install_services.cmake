# Part of cmake --install: writes units and configuration for the prefix in force.
# In: from, to: the templates and a directory of the build's; unit_dir; CMAKE_INSTALL_*DIR.
foreach(name BINDIR DATADIR DOCDIR SYSCONFDIR)
  get_filename_component(CMAKE_INSTALL_FULL_${name} "${CMAKE_INSTALL_${name}}" ABSOLUTE
    BASE_DIR "${CMAKE_INSTALL_PREFIX}")
endforeach()
if(CMAKE_INSTALL_SYSCONFDIR STREQUAL etc AND CMAKE_INSTALL_PREFIX STREQUAL /usr)
  set(CMAKE_INSTALL_FULL_SYSCONFDIR /etc)
endif()
get_filename_component(unit_dir "${unit_dir}" ABSOLUTE BASE_DIR "${CMAKE_INSTALL_PREFIX}")

file(READ ${from}/sandbox.conf BATON_SANDBOX) # the same in all three
foreach(unit baton-gateway.service baton-prefill@.service baton-decode@.service)
  configure_file(${from}/${unit}.in ${to}/${unit} @ONLY)
  file(INSTALL ${to}/${unit} DESTINATION "${unit_dir}")
endforeach()

# What an operator wrote stays.
foreach(config gateway.json prefill.json decode.json)
  configure_file(${from}/${config}.in ${to}/${config} @ONLY)
  if(NOT EXISTS "$ENV{DESTDIR}${CMAKE_INSTALL_FULL_SYSCONFDIR}/baton/${config}")
    file(INSTALL ${to}/${config} DESTINATION "${CMAKE_INSTALL_FULL_SYSCONFDIR}/baton")
  endif()
endforeach()
