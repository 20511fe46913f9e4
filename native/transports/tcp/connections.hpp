// TCP connections between ranks, which Control makes.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>

#include "transports/transport.hpp"

namespace wirespeed::tcp {

/// One connection between each two ranks that need one, for both directions.
class Connections {
  public:
    explicit Connections(Control& control) : control_(control) {}
    ~Connections();
    Connections(const Connections&) = delete;
    Connections& operator=(const Connections&) = delete;

    /// Every rank calls it, each with its peers. Throws Error on every rank where one fails.
    void add(const std::set<int>& peers);
    int to(int peer) const { return descriptors_.at(peer); }
    /// This rank's end of the first connection: "10.0.0.1", "fd00::1".
    std::string address() const;

  private:
    Control& control_;
    std::map<int, int> descriptors_;  ///< by peer
};

}  // namespace wirespeed::tcp
