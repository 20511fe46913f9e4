// What a runtime of OpenMP does when no compiled program has started it: openmp_runtime LIBRARY.
#include <cstdio>
#include <cstring>
#include <vector>

#include "libraries/openmp.hpp"

using wirespeed::OpenMp;

namespace {

void say(const char* what, bool good) { std::printf("%s: %s\n", what, good ? "yes" : "no"); }

}  // namespace

int main(int, char** words) {
    wirespeed::Library::set_path("openmp", words[1]);
    const OpenMp& openmp = OpenMp::runtime();
    say("devices", openmp.devices > 0 && openmp.library == words[1]);

    const int last = openmp.devices - 1, host = openmp.host_device();
    std::vector<char> block(1 << 20, 'x'), back(block.size());
    void* const address = openmp.allocate(block.size(), last);
    const bool there =
        address && openmp.copy(address, block.data(), block.size(), 0, 0, last, host) == 0;
    const bool here =
        there && openmp.copy(back.data(), address, block.size(), 0, 0, host, last) == 0;
    say("copied", here && back == block);

    const bool absent = !openmp.present(block.data(), last);
    const bool made = openmp.associate(block.data(), address, block.size(), 0, last) == 0;
    const bool present = openmp.present(block.data(), last);
    const bool undone = openmp.dissociate(block.data(), last) == 0;
    say("associated", absent && made && present && undone);
    openmp.free(address, last);
}
