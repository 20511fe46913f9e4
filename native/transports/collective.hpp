// An operation of all ranks: what a library's own call does at once.
#pragma once

#include <cstddef>

namespace wirespeed {

/// The numbers are those of ws_collective (wirespeed.h).
struct Collective {
    enum Operation { allreduce, allgather, reducescatter, alltoall, broadcast, reduce, barrier };
    enum Type { fp32, fp16, bf16, fp64, int32 };
    enum Reduction { sum, max, min };

    Operation operation = barrier;
    Type type = fp32;
    Reduction reduction = sum;
    int root = 0;
    /// Elements of a rank's block; of the whole buffer where each rank has all of it.
    std::size_t count = 0;
    /// Places in the buffer of what this rank gives, and of what it gets.
    std::size_t from = 0, to = 0;
    bool gets =
        true;  ///< does this rank get a result? Of a broadcast's root and a reduction's others, no
    bool in_place = false;  ///< the library is told so: what the rank gives lies where it gets it

    bool reduces() const {
        return operation == allreduce || operation == reducescatter || operation == reduce;
    }
    std::size_t element_bytes() const {
        return type == fp64 ? 8 : type == fp16 || type == bf16 ? 2 : 4;
    }
    const char* type_name() const {
        constexpr const char* names[] = {"fp32", "fp16", "bf16", "fp64", "int32"};
        return names[type];
    }
};

}  // namespace wirespeed
