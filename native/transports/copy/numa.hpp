// Host memory of one NUMA node.
#pragma once

#include <string>

namespace wirespeed {

/// While it lives, this thread's new pages come from one NUMA node; from anywhere with an empty
/// name.
class FromNode {
  public:
    /// Throws Unavailable where there is no such node, or the kernel refuses.
    explicit FromNode(const std::string& node);
    ~FromNode();
    FromNode(const FromNode&) = delete;
    FromNode& operator=(const FromNode&) = delete;

  private:
    bool bound_ = false;
};

}  // namespace wirespeed
