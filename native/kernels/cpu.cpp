#include "kernels/cpu.hpp"

#include <sched.h>

#include <atomic>
#include <exception>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "core/error.hpp"
#include "kernels/lanes.hpp"
#include "kernels/tma_model.hpp"

namespace wirespeed::cpu {
namespace {

struct Kernel {
    KernelEntry entry;
    std::size_t arguments;
};
using Kernels = std::map<std::string, Kernel, std::less<>>;

Kernels& kernels() {
    static Kernels all;
    return all;
}

const Kernels::value_type& find(std::string_view name) {
    auto found = kernels().find(name);
    if (found == kernels().end()) throw Error("no kernel called " + std::string(name));
    return *found;
}

/// What the lanes of a block share besides the kernel's own variables.
struct Block {
    Lanes lanes;
    TmaModel tma;
};
thread_local Block* current = nullptr;

/// One launch: the first error of its blocks ends them all.
class Running {
  public:
    Running(const Kernels::value_type& kernel, const Launch& launch, void** arguments)
        : kernel_(kernel), launch_(launch), arguments_(arguments) {}

    void run() {
        {
            std::vector<std::jthread> others;
            for (unsigned block = 1; block < launch_.blocks; ++block)
                others.emplace_back([this, block] { run_block(block); });
            run_block(0);
        }
        if (failure_) std::rethrow_exception(failure_);
    }

  private:
    void run_block(unsigned number) {
        grid = {number, launch_.blocks, 0, launch_.lanes, launch_.most_lanes, launch_.translate};
        Block block{{launch_, number, failed_}, TmaModel({launch_.seed, number})};
        current = &block;
        try {
            block.lanes.run([this] { kernel_.second.entry(arguments_, launch_.translate); });
            block.tma.finish();
        } catch (const Abandoned&) {
        } catch (const std::exception& error) {
            fail("kernel " + kernel_.first + ", block " + std::to_string(number) + ": " +
                 error.what());
        }
        current = nullptr;
        grid.lane = 0;
    }

    void fail(const std::string& text) {
        const std::scoped_lock lock(mutex_);
        if (!failure_) failure_ = std::make_exception_ptr(Error(text));
        failed_ = true;
    }

    const Kernels::value_type& kernel_;
    const Launch& launch_;
    void** arguments_;
    std::atomic<bool> failed_ = false;
    std::mutex mutex_;
    std::exception_ptr failure_;
};

}  // namespace

void add(std::string name, KernelEntry entry, std::size_t arguments) {
    kernels()[std::move(name)] = {entry, arguments};
}

std::size_t argument_count(std::string_view kernel) { return find(kernel).second.arguments; }

KernelEntry entry(std::string_view kernel) { return find(kernel).second.entry; }

void run_alone(KernelEntry entry, void** arguments) {
    grid = {};
    entry(arguments, same_address);
}

void run(std::string_view kernel, const Launch& launch, void** arguments) {
    Running(find(kernel), launch, arguments).run();
}

void meet(Site site) {
    {
        const Unseen unseen;
        current->tma.meet();
    }
    current->lanes.meet(site);
}

void meet_warp(Site site) { current->lanes.meet_warp(site); }

void pause() {
    if (current)
        current->lanes.pause();
    else
        sched_yield();
}

void give_up() {
    if (current) current->lanes.give_up();
}

TmaModel& tma() { return current->tma; }

}  // namespace wirespeed::cpu
