// Errors carry the failing call, its arguments and the library's own words.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace wirespeed {

class Error : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;

    /// An error of an outside library: `call(arguments): text`.
    Error(std::string_view call, std::string_view arguments, std::string_view text)
        : std::runtime_error(std::string(call) + "(" + std::string(arguments) +
                             "): " + std::string(text)) {}
};

/// What the machine lacks, rather than what went wrong on it.
class Unavailable : public Error {
  public:
    using Error::Error;
};

}  // namespace wirespeed
