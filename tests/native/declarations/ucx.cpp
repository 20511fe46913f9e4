// Compiled, not linked: fails to compile where libraries/ucx.hpp differs from UCX's ucp.h.
#include <ucp/api/ucp.h>
#include <cstddef>

#include "abi.hpp"
#include "libraries/ucx.hpp"

using wirespeed::Ucx;

#define HOLD_UCX(member, symbol, ...) HOLD(decltype(Ucx::member), symbol)
WS_UCX_CALLS(HOLD_UCX)

#define HOLD_PLACE(ours, member, theirs, their_member)                             \
    static_assert(offsetof(Ucx::ours, member) == offsetof(theirs, their_member) && \
                  sizeof(Ucx::ours::member) == sizeof(theirs::their_member))

HOLD_PLACE(ContextParams, mask, ucp_params_t, field_mask);
HOLD_PLACE(ContextParams, features, ucp_params_t, features);
HOLD_PLACE(ContextParams, ranks, ucp_params_t, estimated_num_eps);
HOLD_PLACE(ContextParams, ranks_per_host, ucp_params_t, estimated_num_ppn);
static_assert(Ucx::ContextParams::has_features == UCP_PARAM_FIELD_FEATURES);
static_assert(Ucx::ContextParams::has_ranks == UCP_PARAM_FIELD_ESTIMATED_NUM_EPS);
static_assert(Ucx::ContextParams::has_ranks_per_host == UCP_PARAM_FIELD_ESTIMATED_NUM_PPN);
static_assert(Ucx::ContextParams::tag == UCP_FEATURE_TAG);
static_assert(Ucx::ContextParams::rma == UCP_FEATURE_RMA);
static_assert(Ucx::ContextParams::words == UCP_FEATURE_AMO64 && Ucx::add == UCP_ATOMIC_OP_ADD);

HOLD_PLACE(ContextAttributes, mask, ucp_context_attr_t, field_mask);
HOLD_PLACE(ContextAttributes, memory_types, ucp_context_attr_t, memory_types);
static_assert(Ucx::ContextAttributes::has_memory_types == UCP_ATTR_FIELD_MEMORY_TYPES);

HOLD_PLACE(WorkerParams, mask, ucp_worker_params_t, field_mask);
HOLD_PLACE(WorkerParams, thread_mode, ucp_worker_params_t, thread_mode);
static_assert(Ucx::WorkerParams::has_thread_mode == UCP_WORKER_PARAM_FIELD_THREAD_MODE);
static_assert(Ucx::WorkerParams::one_thread == UCS_THREAD_MODE_SINGLE);

HOLD_PLACE(EndpointParams, mask, ucp_ep_params_t, field_mask);
HOLD_PLACE(EndpointParams, address, ucp_ep_params_t, address);
static_assert(Ucx::EndpointParams::has_address == UCP_EP_PARAM_FIELD_REMOTE_ADDRESS);

HOLD_PLACE(MapParams, mask, ucp_mem_map_params_t, field_mask);
HOLD_PLACE(MapParams, address, ucp_mem_map_params_t, address);
HOLD_PLACE(MapParams, bytes, ucp_mem_map_params_t, length);
HOLD_PLACE(MapParams, memory_type, ucp_mem_map_params_t, memory_type);
static_assert(Ucx::MapParams::has_address == UCP_MEM_MAP_PARAM_FIELD_ADDRESS);
static_assert(Ucx::MapParams::has_bytes == UCP_MEM_MAP_PARAM_FIELD_LENGTH);
static_assert(Ucx::MapParams::has_memory_type == UCP_MEM_MAP_PARAM_FIELD_MEMORY_TYPE);

HOLD_PLACE(RequestParams, mask, ucp_request_param_t, op_attr_mask);
HOLD_PLACE(RequestParams, datatype, ucp_request_param_t, datatype);
HOLD_PLACE(RequestParams, reply, ucp_request_param_t, reply_buffer);
static_assert(Ucx::RequestParams::has_datatype == UCP_OP_ATTR_FIELD_DATATYPE);
static_assert(Ucx::RequestParams::has_reply == UCP_OP_ATTR_FIELD_REPLY_BUFFER);
HOLD_PLACE(IoVec, address, ucp_dt_iov_t, buffer);
HOLD_PLACE(IoVec, bytes, ucp_dt_iov_t, length);
static_assert(sizeof(Ucx::IoVec) == sizeof(ucp_dt_iov_t));
static_assert(Ucx::RequestParams::scattered == ucp_dt_make_iov());
static_assert(Ucx::RequestParams::words == ucp_dt_make_contig(8));
HOLD_PLACE(RequestParams, memory_type, ucp_request_param_t, memory_type);
static_assert(Ucx::RequestParams::has_memory_type == UCP_OP_ATTR_FIELD_MEMORY_TYPE);
static_assert(Ucx::RequestParams::completes_early == UCP_OP_ATTR_FLAG_FAST_CMPL);

static_assert(Ucx::success == UCS_OK && Ucx::in_progress == UCS_INPROGRESS);
static_assert(Ucx::last_error == UCS_ERR_LAST);
static_assert(Ucx::host == UCS_MEMORY_TYPE_HOST && Ucx::cuda == UCS_MEMORY_TYPE_CUDA);
static_assert(Ucx::cuda_managed == UCS_MEMORY_TYPE_CUDA_MANAGED);
static_assert(Ucx::rocm == UCS_MEMORY_TYPE_ROCM);
static_assert(Ucx::rocm_managed == UCS_MEMORY_TYPE_ROCM_MANAGED);
