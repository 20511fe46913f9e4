#include "kernels/tma_model.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

#include "core/error.hpp"

namespace wirespeed::cpu {
namespace {

constexpr std::size_t unit = 16;
constexpr int undefined = 0xA5;

void check_place(const void* to, const void* from, std::size_t bytes) {
    const auto number = [](const void* address) {
        return reinterpret_cast<std::uintptr_t>(address);
    };
    if ((number(to) | number(from) | bytes) % unit != 0)
        throw Error("a bulk copy whose addresses and bytes are not all multiples of " +
                    std::to_string(unit));
}

}  // namespace

void TmaModel::begin(Barrier barrier) { barriers_[barrier] = {}; }

TmaModel::Phases& TmaModel::phases(Barrier barrier) {
    const auto found = barriers_.find(barrier);
    if (found == barriers_.end()) throw Error("a bulk copy's barrier was never begun");
    return found->second;
}

void TmaModel::load(void* to, const void* from, std::size_t bytes, Barrier barrier) {
    check_place(to, from, bytes);
    if (!fenced_) throw Error("a bulk copy loads without a fence after plain stores");
    Phases& phase = phases(barrier);
    if (phase.expects) throw Error("two bulk copies load in one phase of a barrier");
    phase.expects = true;
    loads_.push_back({to, from, bytes, barrier});
    // From now on nobody can say what lies there.
    std::memset(to, undefined, bytes);
    happen();
}

void TmaModel::land(const BulkLoad& load) {
    std::memcpy(load.to, load.from, load.bytes);
    Phases& phase = phases(load.barrier);
    phase.expects = false;
    ++phase.ended;
}

void TmaModel::wait(Barrier barrier, unsigned parity) {
    happen();
    // As the instruction has it: the phase before the present one is the one that parity tells
    // apart.
    const Phases& phase = phases(barrier);
    if (phase.ended % 2 != parity) return;
    const auto load = std::find_if(loads_.begin(), loads_.end(),
                                   [&](const BulkLoad& each) { return each.barrier == barrier; });
    if (load == loads_.end()) throw Error("a wait for a bulk copy that nobody asked for");
    land(*load);
    loads_.erase(load);
}

void TmaModel::store(void* to, const void* from, std::size_t bytes) {
    check_place(to, from, bytes);
    stores_.push_back({to, from, bytes, grid.lane, {}});
    happen();
}

void TmaModel::BulkStore::read_now() {
    const auto* first = static_cast<const unsigned char*>(from);
    if (!read) content.assign(first, first + bytes);
    read = true;
}

void TmaModel::BulkStore::write_now() {
    read_now();
    if (!written) std::memcpy(to, content.data(), bytes);
    written = true;
    content = {};
}

void TmaModel::wait_read(std::size_t most) {
    happen();
    std::size_t later = 0;
    for (auto store = stores_.rbegin(); store != stores_.rend(); ++store)
        if (store->lane == grid.lane && later++ >= most) store->read_now();
}

void TmaModel::wait_written() {
    const auto mine = [](const BulkStore& store) { return store.lane == grid.lane; };
    for (BulkStore& store : stores_)
        if (mine(store)) store.write_now();
    std::erase_if(stores_, mine);
}

void TmaModel::finish() const {
    if (!loads_.empty() || !stores_.empty())
        throw Error("its bulk copies were in flight when it ended");
}

/// Some of what may be done by now.
void TmaModel::happen() {
    std::erase_if(loads_, [this](const BulkLoad& load) {
        const bool lands = random_.one_in(4);
        if (lands) land(load);
        return lands;
    });
    for (BulkStore& store : stores_) {
        if (random_.one_in(4)) store.read_now();
        if (random_.one_in(8)) store.write_now();
    }
}

}  // namespace wirespeed::cpu
