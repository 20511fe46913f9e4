#include "measure/report_line.hpp"

#include <unistd.h>

#include <algorithm>

#include "core/json.hpp"

namespace wirespeed {
namespace {

constexpr std::size_t most_bytes = 4000;
/// Of a line: wirespeed/job/message_lines.py.
constexpr std::size_t most_line = 1000;
/// Of a name in it: that of a C++ template may have thousands.
constexpr std::size_t most_of_a_name = 500;

std::string shortened(const std::string& name) {
    return name.size() <= most_of_a_name ? name : name.substr(0, most_of_a_name) + "...";
}

/// `lines` as a JSON array no longer than `room`.
std::string as_array(const std::vector<std::string>& lines, std::size_t room) {
    std::string result = "[";
    for (const auto& line : lines) {
        const std::string next = json_text(line);
        if (result.size() + next.size() + 4 > room) break;
        if (result.size() > 1) result += ", ";
        result += next;
    }
    return result + "]";
}

std::vector<std::string> texts(const std::vector<Frame>& frames) {
    std::vector<std::string> result;
    for (const auto& frame : outside_frames(frames))
        if (!frame.library.empty()) result.push_back(frame.text());
    return result;
}

}  // namespace

std::string current_call(const PageLayout& page, int& peer) {
    const auto word = page.call.load();
    const auto id = static_cast<std::uint32_t>(word);
    peer = static_cast<int>(word >> 32) - 1;
    if (id == 0 || id > PageLayout::calls_max) return {};
    return page.calls[id - 1];
}

std::string as_json(const PageLayout& page, const Situation& situation) {
    int peer = -1;
    const std::string call = current_call(page, peer);
    std::string line =
        "\x1e{\"kind\": " + json_text(situation.kind) + ", \"rank\": " + std::to_string(page.rank) +
        ", \"pid\": " + std::to_string(page.pid) + ", \"host\": " + json_text(page.host) +
        ", \"path\": " + json_text(page.path) + ", \"bytes\": " + std::to_string(page.bytes) +
        ", \"iteration\": " + std::to_string(page.iteration.load()) +
        ", \"call\": " + (call.empty() ? "null" : json_text(call)) +
        ", \"peer\": " + std::to_string(peer) + ", \"state\": " + json_text(situation.what) +
        ", \"fault\": " + json_text(shortened(situation.fault)) +
        ", \"loaded\": " + json_text(shortened(situation.loaded)) +
        ", \"waits\": " + (situation.waits ? "true" : "false");
    const std::size_t room = most_bytes - std::min(most_bytes, line.size() + 40);
    line += ", \"native\": " + as_array(texts(situation.native), room / 2);
    line += ", \"python\": " + as_array(situation.python, room / 2);
    return line + "}\n";
}

std::string as_text(const PageLayout& page, const Situation& situation) {
    int peer = -1;
    const std::string call = current_call(page, peer);
    std::string text = "wirespeed: rank " + std::to_string(page.rank) + " on " + page.host +
                       " (pid " + std::to_string(page.pid) + "): " + situation.what;
    if (!call.empty()) text += " in " + call;
    if (peer >= 0) text += " with rank " + std::to_string(peer);
    if (!situation.fault.empty()) text += " in " + situation.fault;
    const std::string path = page.path;
    if (path == "start" || path == "end")
        text += path == "start" ? " while starting\n" : " at the end\n";
    else
        text += " (path " + path + ", " + std::to_string(page.bytes) + " B, iteration " +
                std::to_string(page.iteration.load()) + ")\n";
    if (!situation.loaded.empty()) text += "    loaded: " + situation.loaded + "\n";
    for (const auto& line : texts(situation.native)) text += "    " + line + "\n";
    for (const auto& line : situation.python) text += "    " + line + "\n";
    return text;
}

std::vector<std::string> in_parts(const std::string& line, const std::string& key) {
    if (line.size() <= most_line) return {line};
    const std::size_t first = 1, end = line.size() - 1;  // the mark, and the end of the line
    std::vector<std::string> parts;
    for (std::size_t at = first; at < end;) {
        std::size_t next = std::min(at + most_line - 40, end);
        // No character of several bytes is cut.
        while (next < end && (static_cast<unsigned char>(line[next]) & 0xc0) == 0x80) --next;
        parts.push_back(line.substr(at, next - at));
        at = next;
    }
    for (std::size_t i = 0; i < parts.size(); ++i)
        parts[i] = "\x1e" + key + " " + std::to_string(i + 1) + "/" + std::to_string(parts.size()) +
                   " " + parts[i] + "\n";
    return parts;
}

void write_out(int descriptor, const std::string& text) noexcept {
    std::size_t done = 0;
    while (done < text.size()) {
        const ssize_t wrote = write(descriptor, text.data() + done, text.size() - done);
        if (wrote <= 0) return;
        done += static_cast<std::size_t>(wrote);
    }
}

}  // namespace wirespeed
