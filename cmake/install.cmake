# `cmake --install`, for packagers: the library, its header and the shells' completions, in the folders of the GNU
# coding standards. The Python package is no part of it: that is what a wheel is for.
include(GNUInstallDirs)

file(STRINGS wirespeed/_version.py version REGEX "^__version__")
string(REGEX MATCH "([0-9]+)\\.[0-9.]+" version "${version}")
set_target_properties(wirespeed PROPERTIES VERSION "${version}" SOVERSION "${CMAKE_MATCH_1}")
install(TARGETS wirespeed LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(FILES native/wirespeed.h DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")

# They are made from the help, which needs what the command line imports.
set(WIRESPEED_PYTHON python3 CACHE STRING "Python with wirespeed's requirements, for completions")
set(python "${CMAKE_COMMAND}" -E env "PYTHONPATH=${CMAKE_CURRENT_SOURCE_DIR}" PYTHONDONTWRITEBYTECODE=1
           "${WIRESPEED_PYTHON}")
execute_process(COMMAND ${python} -m wirespeed completion bash
                OUTPUT_QUIET RESULT_VARIABLE lacks ERROR_VARIABLE why)
if(lacks)
  string(REGEX REPLACE ".*\n([^\n]+)\n*$" "\\1" why "${why}")
  message(STATUS "No completions: ${WIRESPEED_PYTHON}: ${why} (-DWIRESPEED_PYTHON names another)")
  return()
endif()

set(completions "")
function(completion shell name folder)
  set(file "${CMAKE_CURRENT_BINARY_DIR}/completions/${shell}/${name}")
  add_custom_command(
    OUTPUT "${file}"
    COMMAND "${CMAKE_COMMAND}" -E make_directory "${CMAKE_CURRENT_BINARY_DIR}/completions/${shell}"
    COMMAND ${python} -m wirespeed completion ${shell} > "${file}"
    COMMENT "completion of ${shell} from the help"
    VERBATIM)
  set(completions ${completions} "${file}" PARENT_SCOPE)
  install(FILES "${file}" DESTINATION "${CMAKE_INSTALL_DATADIR}/${folder}")
endfunction()
completion(bash wirespeed bash-completion/completions)
completion(zsh _wirespeed zsh/site-functions)
completion(fish wirespeed.fish fish/vendor_completions.d)
add_custom_target(completions ALL DEPENDS ${completions})
