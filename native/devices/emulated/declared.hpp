// What an emulated device claims to be: WIRESPEED_EMULATED="count=2,h2d=10e9,d2h=10e9,d2d=2e12,
// peer=50e9,slow=1,latency=5e-6,blocks=3,threads=32,seed=7,work=0.02" (bytes per second of all
// copies in a direction together, seconds a copy and a launch of work; what is not declared is as
// fast as the CPU does it).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace wirespeed::emulated {

/// The first ones as CopyKind.
enum class Direction { host_to_device, device_to_host, on_device, peer, host };

struct Declared {
    int count = 0;  ///< 0: undeclared
    int slow = -1;  ///< the GPU of this number has half of the rates
    double h2d = 0, d2h = 0, d2d = 0, peer = 0, latency = 0;
    double work = 0;     ///< seconds that a launch of a step's work sleeps at its end
    bool values = true;  ///< false ("values=0"): a driver whose streams cannot wait for a value
    /// At most, of one kernel: blocks are threads of the CPU, and their threads take turns.
    unsigned blocks = 2, threads = 4;
    unsigned seed = 0;     ///< of the order of the threads' turns; 0: one after the other
    std::string launches;  ///< a file that gets the name of each kernel, once from each process

    /// Seconds that a copy takes by this declaration; 0: undeclared.
    double seconds(Direction direction, std::size_t bytes) const;
};

/// Parses the variable once. Throws Error that names the word it does not know.
const Declared& declared();
/// How many there are: as declared, else as set, else 2.
int device_count();
void set_usual_count(int count);
/// For `launches`.
void tell_launch(std::string_view kernel);

}  // namespace wirespeed::emulated
