// What a rank says of itself when it is stuck or dying, as a JSON line or as text.
#pragma once

#include <string>
#include <vector>

#include "measure/page.hpp"
#include "measure/stack.hpp"

namespace wirespeed {

struct Situation {
    std::string kind;   ///< "stuck" or "crash"
    std::string what;   ///< "no progress for 12 s", "killed by SIGSEGV"
    std::string fault;  ///< the outside function it happened in, or empty
    std::vector<Frame> native;
    std::vector<std::string> python;
    bool waits = false;    ///< for ranks of which some cannot be seen from here
    std::string loaded{};  ///< of a crash: that function's library, its version and path
};

/// The name of the call that the page says the rank is in, and its peer (-1: none).
std::string current_call(const PageLayout& page, int& peer);

/// One JSON line of less than 4096 bytes, 0x1e first.
std::string as_json(const PageLayout& page, const Situation& situation);
/// The same in lines that no launcher cuts. `key`: a word that no other message has.
std::vector<std::string> in_parts(const std::string& line, const std::string& key);
std::string as_text(const PageLayout& page, const Situation& situation);

/// Writes all of `text`, in one piece where the descriptor allows.
void write_out(int descriptor, const std::string& text) noexcept;

}  // namespace wirespeed
