// How NCCL connected its peers, according to its own log.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace wirespeed::ccl {

/// Connections of one kind from one rank to another: "P2P/CUMEM/read", "SHM/direct/direct",
/// "NET/Socket/0".
struct Channels {
    int from, to;
    std::string via;
    int count;
    bool operator==(const Channels&) const = default;
};

/// All that the log names, in the order of its first lines. Where it tells apart the connections
/// of collectives from those of send and receive, only the latter.
std::vector<Channels> channels_in(std::string_view log);

/// The lines that number the network devices, from "NET/" on: "NET/IB : Using [0]mlx5_0:1/IB".
std::vector<std::string> networks_in(std::string_view log);

/// As JSON members: `via`, all connections in one word, `channels` and `networks`.
std::string as_json(const std::vector<Channels>& channels,
                    const std::vector<std::string>& networks);

}  // namespace wirespeed::ccl
