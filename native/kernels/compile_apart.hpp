// Kernels compiled in a process of their own: some versions of hipRTC end theirs for a GPU that
// they do not know, instead of an error.
#pragma once

#include <string>
#include <vector>

namespace wirespeed {

/// Command that gets a unit's name and an architecture as further words, and writes the code to
/// standard output, or an error's text and exit code 3. Empty: there is none.
std::vector<std::string>& compiler_command();

/// The code that the command writes. Throws Unavailable with what it said, or with the signal that
/// ended it; `compiler` is named.
std::string compile_apart(const std::string& unit, const std::string& architecture,
                          const std::string& compiler);

}  // namespace wirespeed
