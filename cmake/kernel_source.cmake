# Writes the kernels' headers, and behind them those of programs, as one C++ string; and a file that
# compiles the programs' for the CPU: cmake -DKERNELS=<folder> -DPROGRAMS=<folder> -DOUTPUT=<file>
# -DPROGRAM_KERNELS=<file> -P this.
# A header comes after those that it includes; include and pragma lines are dropped, since run-time
# compilers have no files, and #line keeps the compilers' messages true.
cmake_minimum_required(VERSION 3.18)

set(done "")
set(text "")

macro(add_header name)
  list(FIND done "${name}" found)
  if(found EQUAL -1)
    list(APPEND done "${name}")
    file(STRINGS "${KERNELS}/${name}" includes REGEX "^[ \t]*#[ \t]*include[ \t]+\"kernels/[^\"]+\\.h\"")
    foreach(include IN LISTS includes)
      string(REGEX REPLACE ".*kernels/([^\"]+)\".*" "\\1" included "${include}")
      # Recursion of macros shares variables, hence the lists' own names for each header.
      list(APPEND wanted_by_${name} "${included}")
    endforeach()
    foreach(included IN LISTS wanted_by_${name})
      add_header("${included}")
    endforeach()
    file(READ "${KERNELS}/${name}" content)
    string(REGEX REPLACE "\n[ \t]*#[ \t]*(include|pragma once)[^\n]*" "\n" content "\n${content}")
    string(APPEND text "#line 1 \"${name}\"${content}")
  endif()
endmacro()

file(GLOB headers RELATIVE "${KERNELS}" "${KERNELS}/*.h")
list(SORT headers)
foreach(header IN LISTS headers)
  add_header("${header}")
endforeach()

file(GLOB programs RELATIVE "${PROGRAMS}" "${PROGRAMS}/*.h")
list(SORT programs)
set(includes "")
foreach(program IN LISTS programs)
  file(READ "${PROGRAMS}/${program}" content)
  string(REGEX REPLACE "\n[ \t]*#[ \t]*(include|pragma once)[^\n]*" "\n" content "\n${content}")
  string(APPEND text "#line 1 \"${program}\"${content}")
  string(APPEND includes "#include \"${PROGRAMS}/${program}\"\n")
endforeach()
file(WRITE "${PROGRAM_KERNELS}.new" "// Made from wirespeed/programs/*.h by cmake/kernel_source.cmake.
${includes}")
file(RENAME "${PROGRAM_KERNELS}.new" "${PROGRAM_KERNELS}")

# Compilers need not take a literal longer than 64 KiB.
set(pieces "")
string(LENGTH "${text}" length)
set(start 0)
while(start LESS length)
  string(SUBSTRING "${text}" ${start} 30000 piece)
  string(APPEND pieces "    R\"wirespeed(${piece})wirespeed\",\n")
  math(EXPR start "${start} + 30000")
endwhile()

file(WRITE "${OUTPUT}.new" "// Made from native/kernels/*.h and wirespeed/programs/*.h by cmake/kernel_source.cmake.
#include \"kernels/source.hpp\"

namespace wirespeed {

const std::string& kernel_source() {
    static constexpr const char* pieces[] = {
${pieces}    };
    static const std::string text = [] {
        std::string all;
        for (const char* piece : pieces) all += piece;
        return all;
    }();
    return text;
}

}  // namespace wirespeed
")
file(RENAME "${OUTPUT}.new" "${OUTPUT}")
