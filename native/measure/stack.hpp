// Native stacks without a debugger: addresses taken in a signal's handler, names looked up later.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace wirespeed {

/// One frame: the function's name if the loader knows it, and the library's file name.
struct Frame {
    std::string function, library;
    std::string file;  ///< the library's whole path, as the loader knows it
    std::string text() const { return (function.empty() ? "?" : function) + " in " + library; }
};

/// Addresses of the calling thread's frames, innermost first; fit for a signal handler after the
/// first call made outside one.
int take_frames(std::uint64_t* frames, int most) noexcept;
Frame name_frame(std::uint64_t address);
std::vector<Frame> name_frames(const std::uint64_t* frames, int count);

/// Without the handlers' own frames at the top and the interpreter's at the bottom.
std::vector<Frame> outside_frames(const std::vector<Frame>& frames);

/// "UCX 1.20.0, /opt/lib/libucp.so.0.0.0": the version as the library itself says it, where that is
/// a constant, and the file behind all links. Empty without a file.
std::string loaded_library(const Frame& frame);

/// The innermost frame that is neither libc's nor the core's own: where an outside library sat.
/// Empty library when there is none.
Frame culprit(const std::vector<Frame>& frames);

}  // namespace wirespeed
