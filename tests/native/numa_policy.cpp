// The memory policy of a thread (numactl's) after memory of one NUMA node was allocated.
#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>

#include "transports/copy/numa.hpp"

int main() {
    unsigned long nodes[16] = {1}, found[16] = {};
    for (const int policy : {MPOL_PREFERRED, MPOL_BIND, MPOL_DEFAULT}) {
        const bool any = policy == MPOL_DEFAULT;
        if (syscall(SYS_set_mempolicy, policy, any ? nullptr : nodes, any ? 0 : 1025) != 0)
            return 77;
        int mode = -1, within = -1;
        {
            const wirespeed::FromNode node("0");
            syscall(SYS_get_mempolicy, &within, found, 1024, nullptr, 0);
        }
        found[0] = 0;
        syscall(SYS_get_mempolicy, &mode, found, 1024, nullptr, 0);
        if (within != MPOL_BIND || mode != policy || found[0] != (any ? 0 : 1)) {
            std::printf("policy %d: %d within, %d after, nodes %lx\n", policy, within, mode,
                        found[0]);
            return 1;
        }
    }
}
