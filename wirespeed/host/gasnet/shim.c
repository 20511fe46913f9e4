/* A conduit of GASNet-EX behind a small C interface, because GASNet is a set of headers and static
 * libraries that differ from one installation to the next. `wirespeed paths --build gasnet`
 * compiles this file against the user's own. native/libraries/gasnet.hpp declares the same
 * functions; INTERFACE grows whenever one of them changes. */
#include <gasnetex.h>
#include <stdint.h>
#include <stdlib.h>

#define INTERFACE 2
#define TEXT_(text) #text
#define TEXT(text) TEXT_(text)

static gex_TM_t team;
static gex_Segment_t segment;

/* Puts whose signals wait until the bytes have arrived. */
enum { most_pending = 64 };
static struct {
    gex_Event_t arrived;
    uint64_t *word, value;
    int peer;
} pending[most_pending];
static int pending_count;

/* Signals that may be under way: the last one to each peer. */
static struct {
    gex_Event_t arrived;
    int peer;
} sent[most_pending];
static int sent_count;

int wirespeed_gasnet_interface(void) { return INTERFACE; }

const char* wirespeed_gasnet_release(void) {
    return TEXT(GASNET_RELEASE_VERSION_MAJOR) "." TEXT(GASNET_RELEASE_VERSION_MINOR) "." TEXT(
        GASNET_RELEASE_VERSION_PATCH);
}

/* Does the job need a process beside the ranks, which runs wirespeed_gasnet_master()? */
int wirespeed_gasnet_has_master(void) {
#ifdef GASNET_CONDUIT_UDP
    return 1;
#else
    return 0;
#endif
}

/* Waits for the ranks to join and to leave again. Returns only to say what went wrong. */
int wirespeed_gasnet_master(const char* ranks) {
    char name[] = "wirespeed", *arguments[] = {name, (char*)ranks, NULL}, **argv = arguments;
    int argc = 2;
    gex_Client_t client;
    gex_EP_t endpoint;
    return gex_Client_Init(&client, &endpoint, &team, name, &argc, &argv, 0);
}

/* Collective. 0, or GASNet's error. `bytes`: the most memory that the others may write to. */
int wirespeed_gasnet_join(size_t bytes) {
    char name[] = "wirespeed", *arguments[] = {name, NULL}, **argv = arguments;
    int argc = 1;
    gex_Client_t client;
    gex_EP_t endpoint;
    const int error = gex_Client_Init(&client, &endpoint, &team, name, &argc, &argv, 0);
    if (error) return error;
    const uintptr_t most = gasnet_getMaxLocalSegmentSize();
    if (bytes > most) bytes = most;
    return gex_Segment_Attach(&segment, team, bytes / GASNET_PAGESIZE * GASNET_PAGESIZE);
}

const char* wirespeed_gasnet_error(int error) { return gasnet_ErrorDesc(error); }
int wirespeed_gasnet_rank(void) { return (int)gex_TM_QueryRank(team); }
int wirespeed_gasnet_ranks(void) { return (int)gex_TM_QuerySize(team); }

/* A rank's memory, as its owner addresses it. */
void* wirespeed_gasnet_memory(int rank, size_t* bytes) {
    void *owners = NULL, *here = NULL;
    uintptr_t size = 0;
    gex_Event_Wait(gex_EP_QueryBoundSegmentNB(team, (gex_Rank_t)rank, &owners, &here, &size, 0));
    *bytes = size;
    return owners;
}

static void wait_for_signals(void) {
    for (int i = 0; i < sent_count; ++i) gex_Event_Wait(sent[i].arrived);
    sent_count = 0;
}

/* Puts may overtake each other, and a word must not fall back to an earlier value. */
static void send_signal(uint64_t* word, uint64_t value, int peer) {
    int i = 0;
    while (i < sent_count && sent[i].peer != peer) ++i;
    if (i < sent_count) gex_Event_Wait(sent[i].arrived);
    if (i == most_pending) {
        wait_for_signals();
        i = 0;
    }
    sent[i].arrived = gex_RMA_PutNBVal(team, (gex_Rank_t)peer, word, value, sizeof value, 0);
    sent[i].peer = peer;
    if (i == sent_count) ++sent_count;
}

static int is_signalled_later(int number) {
    for (int i = number + 1; i < pending_count; ++i)
        if (pending[i].peer == pending[number].peer && pending[i].word == pending[number].word)
            return 1;
    return 0;
}

/* Waits until the bytes of all puts have arrived, and sends their signals: one to each word. */
void wirespeed_gasnet_flush(void) {
    for (int i = 0; i < pending_count; ++i) {
        gex_Event_Wait(pending[i].arrived);
        if (!is_signalled_later(i)) send_signal(pending[i].word, pending[i].value, pending[i].peer);
    }
    pending_count = 0;
}

/* `to`, `word`: the peer's own addresses. */
void wirespeed_gasnet_put(void* to, void* from, size_t bytes, uint64_t* word, uint64_t value,
                          int peer) {
    if (pending_count == most_pending) wirespeed_gasnet_flush();
    pending[pending_count].arrived =
        gex_RMA_PutNB(team, (gex_Rank_t)peer, to, from, bytes, GEX_EVENT_DEFER, 0);
    pending[pending_count].word = word;
    pending[pending_count].value = value;
    pending[pending_count++].peer = peer;
}

void wirespeed_gasnet_signal(uint64_t* word, uint64_t value, int peer) {
    wirespeed_gasnet_flush();
    send_signal(word, value, peer);
}

void wirespeed_gasnet_poll(void) { gasnet_AMPoll(); }

/* Until the signals have arrived, too. */
void wirespeed_gasnet_quiet(void) {
    wirespeed_gasnet_flush();
    wait_for_signals();
}
