// The few JSON members that the core writes itself.
#pragma once

#include <string>
#include <string_view>

namespace wirespeed {

/// `text` with quotes around it, escaped; bytes that are not ASCII become '?'.
inline std::string json_text(std::string_view text) {
    std::string result = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\')
            (result += '\\') += c;
        else if (c == '\n')
            result += "\\n";
        else if (c < ' ' || c > '~')
            result += '?';
        else
            result += c;
    }
    return result + '"';
}

}  // namespace wirespeed
