// Host memory of one NUMA node.
#pragma once

#include <array>
#include <string>

namespace wirespeed {

/// While it lives, this thread's new pages come from one NUMA node; with an empty name the thread's
/// policy stays. Afterwards the thread has the policy that it had before, such as numactl's.
class FromNode {
  public:
    /// Throws Unavailable where there is no such node, or the kernel refuses.
    explicit FromNode(const std::string& node);
    ~FromNode();
    FromNode(const FromNode&) = delete;
    FromNode& operator=(const FromNode&) = delete;

  private:
    static constexpr unsigned long most_nodes = 1024;
    using Nodes = std::array<unsigned long, most_nodes / (8 * sizeof(unsigned long))>;

    bool bound_ = false;
    int before_ = 0;
    Nodes nodes_before_{};
};

}  // namespace wirespeed
