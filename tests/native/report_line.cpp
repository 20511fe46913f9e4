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
        std::printf("%zu\n", wirespeed::as_json(*page, situation).size());
    }
}
