# One line per driver, added by the layer that owns the parser.
foreach(part base checkpoint wire worker tokenizer grammar jinja toolcall chat engine http gateway load)
  include(${CMAKE_CURRENT_SOURCE_DIR}/${part}.cmake OPTIONAL)
endforeach()
