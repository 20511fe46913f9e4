# `cmake --install`, for packagers: the library, its header, the man page and the shells' completions, in the folders of
# the GNU coding standards. The Python package is no part of it: that is what a wheel is for.
include(GNUInstallDirs)

file(STRINGS wirespeed/_version.py version REGEX "^__version__")
string(REGEX MATCH "([0-9]+)\\.[0-9.]+" version "${version}")
set_target_properties(wirespeed PROPERTIES VERSION "${version}" SOVERSION "${CMAKE_MATCH_1}")
install(TARGETS wirespeed LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(FILES native/wirespeed.h DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")

# Both are made from the help, which needs what the command line imports.
set(WIRESPEED_PYTHON python3 CACHE STRING "Python with wirespeed's requirements, for man page and completions")
set(python "${CMAKE_COMMAND}" -E env "PYTHONPATH=${CMAKE_CURRENT_SOURCE_DIR}" PYTHONDONTWRITEBYTECODE=1
           "${WIRESPEED_PYTHON}")
execute_process(COMMAND ${python} "${CMAKE_CURRENT_SOURCE_DIR}/scripts/man_page.py"
                OUTPUT_QUIET RESULT_VARIABLE lacks ERROR_VARIABLE why)
if(lacks)
  string(REGEX REPLACE ".*\n([^\n]+)\n*$" "\\1" why "${why}")
  message(STATUS "No man page and no completions: ${WIRESPEED_PYTHON}: ${why} (-DWIRESPEED_PYTHON names another)")
  return()
endif()

# made(NAME FOLDER WORD...): a file of this name, which a Python program prints.
set(pages "")
function(made name folder)
  set(file "${CMAKE_CURRENT_BINARY_DIR}/pages/${folder}/${name}")
  add_custom_command(
    OUTPUT "${file}"
    COMMAND "${CMAKE_COMMAND}" -E make_directory "${CMAKE_CURRENT_BINARY_DIR}/pages/${folder}"
    COMMAND ${python} ${ARGN} > "${file}"
    COMMENT "${name} from the help"
    VERBATIM)
  set(pages ${pages} "${file}" PARENT_SCOPE)
  install(FILES "${file}" DESTINATION "${folder}")
endfunction()
made(wirespeed.1 "${CMAKE_INSTALL_MANDIR}/man1" "${CMAKE_CURRENT_SOURCE_DIR}/scripts/man_page.py")
made(wirespeed "${CMAKE_INSTALL_DATADIR}/bash-completion/completions" -m wirespeed completion bash)
made(_wirespeed "${CMAKE_INSTALL_DATADIR}/zsh/site-functions" -m wirespeed completion zsh)
made(wirespeed.fish "${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d" -m wirespeed completion fish)
add_custom_target(pages ALL DEPENDS ${pages})
