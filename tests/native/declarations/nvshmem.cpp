// Compiled, not linked: fails to compile where libraries/nvshmem.hpp differs from NVIDIA's headers.
// They want nvcc and the whole of CUDA; of that, cuda.h and a few names are enough to read them.
#include <cuda.h>

#include <cstdint>

#define __CUDA_RUNTIME_H__
#define __CUDA_RUNTIME_API_H__
#define __CUDA_FP16_H__
#define __CUDA_BF16_H__
#define CUDART_VERSION CUDA_VERSION
#define __host__
#define __device__
#define __constant__
#define __forceinline__ inline
using cudaStream_t = CUstream;
struct dim3 {
    unsigned x, y, z;
};
struct double2 {
    double x, y;
};
struct __half {
    short bits;
};
using half = __half;
struct __nv_bfloat16 {
    short bits;
};
#include <nvshmem_host.h>

#include "abi.hpp"
#include "libraries/nvshmem.hpp"

using wirespeed::Nvshmem;

#define HOLD_NVSHMEM(member, symbol, ...) HOLD(decltype(Nvshmem::member), symbol)
WS_NVSHMEM_CALLS(HOLD_NVSHMEM)
WS_NVSHMEM_TEAM_CALLS(HOLD_NVSHMEM)
#define HOLD_REDUCTION(reduction, operation, type) \
    HOLD(Nvshmem::Reduction*, nvshmemx_##type##_##reduction##_##operation##_on_stream)
WS_NVSHMEM_REDUCTIONS(HOLD_REDUCTION, reduce)
WS_NVSHMEM_REDUCTIONS(HOLD_REDUCTION, reducescatter)

static_assert(Nvshmem::world == NVSHMEM_TEAM_WORLD);
static_assert(Nvshmem::init_with_unique_id == NVSHMEMX_INIT_WITH_UNIQUEID);
static_assert(Nvshmem::signal_set == NVSHMEM_SIGNAL_SET);
static_assert(Nvshmem::compare_ge == NVSHMEM_CMP_GE);

static_assert(sizeof(Nvshmem::UniqueId) == sizeof(nvshmemx_uniqueid_v1));
static_assert(sizeof(Nvshmem::UniqueIdArguments) == sizeof(nvshmemx_uniqueid_args_v1));
static_assert(sizeof(Nvshmem::Arguments) == sizeof(nvshmemx_init_args_v1));
static_assert(sizeof(Nvshmem::Attributes) == sizeof(nvshmemx_init_attr_v1));
static_assert(offsetof(Nvshmem::UniqueIdArguments, id) == offsetof(nvshmemx_uniqueid_args_v1, id));
static_assert(offsetof(Nvshmem::UniqueIdArguments, rank) ==
              offsetof(nvshmemx_uniqueid_args_v1, myrank));
static_assert(offsetof(Nvshmem::Arguments, unique_id) == offsetof(nvshmemx_init_args_v1, uid_args));
static_assert(offsetof(Nvshmem::Attributes, mpi_communicator) ==
              offsetof(nvshmemx_init_attr_v1, mpi_comm));
static_assert(offsetof(Nvshmem::Attributes, arguments) == offsetof(nvshmemx_init_attr_v1, args));

// The first versions' numbers, as the headers spell them where they still do.
constexpr nvshmemx_uniqueid_v1 unique_id = NVSHMEMX_UNIQUEID_INITIALIZER;
constexpr nvshmemx_uniqueid_args_v1 unique_id_arguments = NVSHMEMX_UNIQUEID_ARGS_INITIALIZER;
constexpr nvshmemx_init_args_v1 arguments = NVSHMEMX_INIT_ARGS_INITIALIZER;
static_assert(Nvshmem::UniqueId{}.version == unique_id.version);
static_assert(Nvshmem::UniqueIdArguments{}.version == unique_id_arguments.version);
static_assert(Nvshmem::Arguments{}.version == arguments.version);
#ifdef NVSHMEMX_INIT_ATTR_V1_INITIALIZER
constexpr nvshmemx_init_attr_v1 attributes = NVSHMEMX_INIT_ATTR_V1_INITIALIZER;
#else
constexpr nvshmemx_init_attr_v1 attributes = NVSHMEMX_INIT_ATTR_INITIALIZER;
#endif
static_assert(Nvshmem::Attributes{}.version == attributes.version);
