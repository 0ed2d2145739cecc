# cmake -DOUT=FILE.c -DFILES=PATH;PATH... -P templates.cmake
# Writes the table of builtin.h: each template's name and bytes.
set(arrays "")
set(rows "")
foreach(path IN LISTS FILES)
  get_filename_component(name ${path} NAME_WE)
  string(MAKE_C_IDENTIFIER ${name} symbol)
  file(READ ${path} hex HEX)
  string(REGEX REPLACE "(................................)" "\\1\n    " hex "${hex}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
  string(APPEND arrays "static const unsigned char ${symbol}[] = {\n    ${bytes}\n};\n\n")
  string(APPEND rows
    "    {\"${name}\", (const char *)${symbol}, sizeof ${symbol}},\n")
endforeach()
set(include "#include \"gateway/chat/builtin.h\"")
set(end "    {NULL, NULL, 0},\n};")
set(table "const struct baton_chat_builtin baton_chat_builtins[] = {\n${rows}${end}")
file(WRITE ${OUT} "${include}\n\n${arrays}${table}\n")
