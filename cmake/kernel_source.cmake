# Writes the kernels' text as C++ strings, one for each unit that run-time compilers compile by itself:
# "data", "transports" and "soak" of native/kernels, and each program's headers (wirespeed/programs/NAME.h,
# NAME_*.h) with those that they include. And a file that compiles the programs' kernels for the CPU:
#   cmake -DKERNELS=<folder> -DPROGRAMS=<folder> -DOUTPUT=<file> -DPROGRAM_KERNELS=<file> -P this.
# A header comes after those that it includes; include and pragma lines are dropped, since run-time
# compilers have no files, and #line keeps the compilers' messages true.
cmake_minimum_required(VERSION 3.18)

macro(append_text folder name)
  file(READ "${folder}/${name}" content)
  string(REGEX REPLACE "\n[ \t]*#[ \t]*(include|pragma once)[^\n]*" "\n" content "\n${content}")
  string(APPEND text "#line 1 \"${name}\"${content}")
endmacro()

macro(list_includes folder name result)
  file(STRINGS "${folder}/${name}" includes REGEX "^[ \t]*#[ \t]*include[ \t]+\"kernels/[^\"]+\\.h\"")
  set(${result} "")
  foreach(include IN LISTS includes)
    string(REGEX REPLACE ".*kernels/([^\"]+)\".*" "\\1" included "${include}")
    list(APPEND ${result} "${included}")
  endforeach()
endmacro()

macro(add_header name)
  list(FIND done "${name}" found)
  if(found EQUAL -1)
    list(APPEND done "${name}")
    # Recursion of macros shares variables, hence the lists' own names for each header.
    list_includes("${KERNELS}" "${name}" wanted_by_${name})
    foreach(included IN LISTS wanted_by_${name})
      add_header("${included}")
    endforeach()
    append_text("${KERNELS}" "${name}")
  endif()
endmacro()

# Compilers need not take a literal longer than 64 KiB.
set(units "")
macro(end_unit name)
  string(APPEND units "    {\"${name}\", joined({\n")
  string(LENGTH "${text}" length)
  set(start 0)
  while(start LESS length)
    string(SUBSTRING "${text}" ${start} 30000 piece)
    string(APPEND units "    R\"wirespeed(${piece})wirespeed\",\n")
    math(EXPR start "${start} + 30000")
  endwhile()
  string(APPEND units "    })},\n")
endmacro()

# The persistent kernels take longest to compile, and only one kind of path needs them.
macro(add_unit name)
  set(text "")
  set(done "")
  foreach(header ${ARGN})
    add_header("${header}")
  endforeach()
  end_unit("${name}")
endmacro()

add_unit("data" copy.h element_kernels.h field_checks.h payload.h sums.h waiting_copy.h)
add_unit("facts" platform_facts.h)
add_unit("transports" chase.h persistent_pairs.h)
add_unit("any" persistent_any.h)
add_unit("folds" persistent_folds.h)
add_unit("soak" soak_faults.h)
add_unit("soak-messages" persistent_soak.h)
add_unit("soak-waiting" waiting_soak.h)

file(GLOB programs RELATIVE "${PROGRAMS}" "${PROGRAMS}/*.h")
list(SORT programs)
set(names "")
set(for_cpu "")
foreach(program IN LISTS programs)
  string(REGEX REPLACE "[_.].*" "" name "${program}")
  list(APPEND names "${name}")
  string(APPEND for_cpu "#include \"${PROGRAMS}/${program}\"\n")
endforeach()
list(REMOVE_DUPLICATES names)
foreach(name IN LISTS names)
  set(text "")
  set(done "")
  set(own ${programs})
  list(FILTER own INCLUDE REGEX "^${name}[_.]")
  foreach(program IN LISTS own)
    list_includes("${PROGRAMS}" "${program}" wanted_by_program)
    foreach(included IN LISTS wanted_by_program)
      add_header("${included}")
    endforeach()
  endforeach()
  foreach(program IN LISTS own)
    append_text("${PROGRAMS}" "${program}")
  endforeach()
  end_unit("${name}")
endforeach()

file(WRITE "${PROGRAM_KERNELS}.new" "// Made from wirespeed/programs/*.h by cmake/kernel_source.cmake.
${for_cpu}")
file(RENAME "${PROGRAM_KERNELS}.new" "${PROGRAM_KERNELS}")

file(WRITE "${OUTPUT}.new" "// Made from native/kernels/*.h and wirespeed/programs/*.h by cmake/kernel_source.cmake.
#include \"kernels/source.hpp\"

#include <initializer_list>

namespace wirespeed {
namespace {

std::string joined(std::initializer_list<const char*> pieces) {
    std::string all;
    for (const char* piece : pieces) all += piece;
    return all;
}

}  // namespace

const std::vector<KernelUnit>& kernel_units() {
    static const std::vector<KernelUnit> units{
${units}    };
    return units;
}

}  // namespace wirespeed
")
file(RENAME "${OUTPUT}.new" "${OUTPUT}")
