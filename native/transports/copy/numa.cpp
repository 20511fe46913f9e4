#include "transports/copy/numa.hpp"

#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/error.hpp"

namespace wirespeed {
FromNode::FromNode(const std::string& node) {
    if (node.empty()) return;
    const unsigned long number = std::stoul(node);
    constexpr unsigned long bits = 8 * sizeof(unsigned long);
    Nodes nodes{};
    if (number >= most_nodes) throw Unavailable("there is no NUMA node " + node);
    nodes[number / bits] = 1ul << (number % bits);
    syscall(SYS_get_mempolicy, &before_, nodes_before_.data(), most_nodes, nullptr, 0);
    errno = 0;
    if (syscall(SYS_set_mempolicy, MPOL_BIND, nodes.data(), most_nodes + 1) != 0)
        throw Unavailable(errno == EINVAL ? "there is no NUMA node " + node + " with memory"
                                          : "set_mempolicy(MPOL_BIND, NUMA node " + node +
                                                "): " + std::strerror(errno));
    bound_ = true;
}

FromNode::~FromNode() {
    if (!bound_) return;
    const bool any = before_ == MPOL_DEFAULT;
    syscall(SYS_set_mempolicy, before_, any ? nullptr : nodes_before_.data(),
            any ? 0 : most_nodes + 1);
}

}  // namespace wirespeed
