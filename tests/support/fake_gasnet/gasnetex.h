/* For tests alone: as much of GASNet-EX as wirespeed's shim.c uses, with a master process as in its
 * udp conduit. fake_gasnet.cpp defines it. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define GASNET_CONDUIT_UDP 1
#define GASNET_RELEASE_VERSION_MAJOR 2000
#define GASNET_RELEASE_VERSION_MINOR 1
#define GASNET_RELEASE_VERSION_PATCH 0
#define GASNET_PAGESIZE 4096
#define GEX_EVENT_DEFER ((gex_Event_t*)0)

typedef int gex_Client_t, gex_EP_t, gex_TM_t, gex_Segment_t;
typedef unsigned gex_Rank_t, gex_Flags_t;
typedef size_t gex_Event_t;
typedef uint64_t gex_RMA_Value_t;

#ifdef __cplusplus
extern "C" {
#endif
int gex_Client_Init(gex_Client_t*, gex_EP_t*, gex_TM_t*, const char*, int*, char***, gex_Flags_t);
int gex_Segment_Attach(gex_Segment_t*, gex_TM_t, uintptr_t);
uintptr_t gasnet_getMaxLocalSegmentSize(void);
const char* gasnet_ErrorDesc(int);
gex_Rank_t gex_TM_QueryRank(gex_TM_t);
gex_Rank_t gex_TM_QuerySize(gex_TM_t);
gex_Event_t gex_EP_QueryBoundSegmentNB(gex_TM_t, gex_Rank_t, void**, void**, uintptr_t*,
                                       gex_Flags_t);
void gex_Event_Wait(gex_Event_t);
gex_Event_t gex_RMA_PutNB(gex_TM_t, gex_Rank_t, void*, const void*, size_t, gex_Event_t*,
                          gex_Flags_t);
gex_Event_t gex_RMA_PutNBVal(gex_TM_t, gex_Rank_t, void*, gex_RMA_Value_t, size_t, gex_Flags_t);
int gasnet_AMPoll(void);
#ifdef __cplusplus
}
#endif
