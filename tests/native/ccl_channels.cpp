// Prints what transports/ccl/channels.hpp makes of the log on standard input, as JSON.
#include <cstdio>
#include <iostream>
#include <iterator>
#include <string>

#include "transports/ccl/channels.hpp"

int main() {
    const std::string log(std::istreambuf_iterator<char>(std::cin), {});
    std::printf("{%s}\n", wirespeed::ccl::as_json(wirespeed::ccl::channels_in(log),
                                                  wirespeed::ccl::networks_in(log))
                              .c_str());
}
