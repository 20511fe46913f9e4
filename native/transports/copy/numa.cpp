#include "transports/copy/numa.hpp"

#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "core/error.hpp"

namespace wirespeed {
namespace {

constexpr unsigned long most_nodes = 1024;

}  // namespace

FromNode::FromNode(const std::string& node) {
    if (node.empty()) return;
    const unsigned long number = std::stoul(node);
    constexpr unsigned long bits = 8 * sizeof(unsigned long);
    std::array<unsigned long, most_nodes / bits> nodes{};
    if (number >= most_nodes) throw Unavailable("there is no NUMA node " + node);
    nodes[number / bits] = 1ul << (number % bits);
    errno = 0;
    if (syscall(SYS_set_mempolicy, MPOL_BIND, nodes.data(), most_nodes + 1) != 0)
        throw Unavailable(errno == EINVAL ? "there is no NUMA node " + node + " with memory"
                                          : "set_mempolicy(MPOL_BIND, NUMA node " + node +
                                                "): " + std::strerror(errno));
    bound_ = true;
}

FromNode::~FromNode() {
    if (bound_) syscall(SYS_set_mempolicy, MPOL_DEFAULT, nullptr, 0);
}

}  // namespace wirespeed
