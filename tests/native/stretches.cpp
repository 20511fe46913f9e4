// How iterations are cut into stretches: none is long, and all together they are the schedule's.
#include "transports/gpu/stretches.hpp"

#include <cstdio>

using namespace wirespeed;

int main() {
    constexpr std::uint64_t gib = std::uint64_t{1} << 30;
    for (const std::uint64_t bytes : {std::uint64_t{0}, std::uint64_t{8}, gib / 1024, gib, 8 * gib})
        for (const int untimed : {1, 2, 9999991})
            for (const int loops : {1, 7, 100, 131071, 131072, 131073, 9999991, 2147483647})
                for (const int samples : {0, 1, 3}) {
                    const Stretches cut({untimed, loops, samples}, bytes);
                    const auto together = [&](int each, int times, int last) {
                        return static_cast<std::int64_t>(each) * times + last;
                    };
                    const bool whole = together(cut.each, cut.before, cut.first) == untimed &&
                                       together(cut.each, cut.parts - 1, cut.rest) == loops;
                    const bool brief = cut.each * (bytes >> 20) <= 8192 && cut.each <= 131072 &&
                                       cut.first >= 1 && cut.first <= cut.each && cut.rest >= 1 &&
                                       cut.rest <= cut.each;
                    const bool placed =
                        cut.begin_of(samples) == cut.stamps() - 1 &&
                        cut.begin_of(1) - cut.begin_of(0) == static_cast<std::size_t>(cut.parts);
                    if (!whole || !brief || !placed)
                        std::printf("%d and %d x %d of %llu bytes: %s\n", untimed, samples, loops,
                                    static_cast<unsigned long long>(bytes),
                                    whole ? brief ? "stamps are at other places" : "too long"
                                          : "other iterations");
                }
}
