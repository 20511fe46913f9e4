// A report of a rank in a function whose name is longer than a pipe takes in one piece.
#include "measure/report_line.hpp"

#include <cstdio>
#include <memory>

int main() {
    const auto page = std::make_unique<wirespeed::PageLayout>();
    for (const std::size_t length : {0u, 3799u, 3800u, 3900u, 100000u}) {
        wirespeed::Situation situation{
            "crash", "killed by SIGSEGV", std::string(length, '\x01'), {}, {}};
        for (int i = 0; i < 100; ++i)
            situation.python.push_back("frame " + std::to_string(i) + std::string(100, 'x'));
        const std::string line = wirespeed::as_json(*page, situation);
        std::printf("%zu", line.size());
        for (const auto& part : wirespeed::in_parts(line, "7s123456789"))
            std::printf(" %zu", part.size());
        std::printf("\n");
    }
    std::printf("%s", wirespeed::as_json(*page, {"stuck", "", "", {}, {}}).c_str());
    std::string text = "\x1e{\"kind\": \"note\", \"text\": \"";
    for (int i = 0; i < 2000; ++i) text += "\xc3\xa9";
    for (const auto& part : wirespeed::in_parts(text + "\"}\n", "0s1"))
        std::printf("%s", part.c_str());
}
