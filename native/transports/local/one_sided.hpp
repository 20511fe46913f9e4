// One-sided operations that no message accompanies: each is issued and flushed, which ends when it
// is complete at its origin and at its target.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "measure/program.hpp"
#include "transports/local/described.hpp"
#include "transports/local/one_sided_operation.hpp"

namespace wirespeed {

/// A library's operations, one after the other. `Calls` has the library's calls:
///     struct Part { std::byte* here; int peer; ... };           // of a transfer: this rank's end
///     const char* name(OneSidedOperation) const;                // of the call
///     static constexpr const char* flush_name;
///     void start(const Part&, OneSidedOperation, Additions&);   // throws Error
///     void flush(const Part&, CallId);                          // complete at both ends
template <class Calls> class OneSided final : public Action {
  public:
    using Part = typename Calls::Part;

    OneSided(Calls calls, OneSidedOperation operation, const Context& context)
        : calls_(std::move(calls)), operation_(operation), page_(context.page), additions_(context),
          call_(page_.name(calls_.name(operation))), flush_(page_.name(Calls::flush_name)) {}

    /// `theirs` is `steps` as their peers see them. `part(here, seen)`: of a transfer, this rank's
    /// end and the peer's.
    template <class MakePart>
    void add(std::span<const Step> steps, std::span<const Step> theirs, const Buffers& buffers,
             MakePart part) {
        const bool get = operation_ == OneSidedOperation::get;
        std::byte* const base = get ? buffers.receive : buffers.send;
        for (std::size_t i = 0; i < steps.size(); ++i) {
            const auto& mine = get ? steps[i].receives : steps[i].sends;
            const auto& seen = get ? theirs[i].receives : theirs[i].sends;
            for (std::size_t k = 0; k < mine.size(); ++k)
                parts_.push_back(part(base + mine[k].offset, seen[k]));
        }
    }

    void run() override {
        for (const Part& part : parts_) {
            page_.enter(call_, part.peer);
            calls_.start(part, operation_, additions_);
            page_.enter(flush_, part.peer);
            calls_.flush(part, flush_);
            if (operation_ == OneSidedOperation::fetch_add) additions_.done();
        }
    }

    void begin() { additions_.begin(); }
    /// The origin's buffer gets the word that was fetched last. Throws Error where the sum is
    /// wrong.
    void end(Device& device) {
        additions_.check();
        if (additions_.count)
            device.copy(parts_.back().here, &additions_.fetched, sizeof additions_.fetched);
    }

    /// JSON members, for the record.
    std::string describe() const {
        return std::string("\"call\": \"") + calls_.name(operation_) + ", " + Calls::flush_name +
               "\"";
    }

  private:
    Calls calls_;
    OneSidedOperation operation_;
    Page& page_;
    Additions additions_;
    CallId call_, flush_;
    std::vector<Part> parts_;
};

/// The program that runs the operations, and the check of their sum.
template <class Calls> class OneSidedProgram final : public WrappedProgram {
  public:
    /// `program_of(operations)`: the program whose iterations they are. `together`: lets all ranks
    /// come together, before and after: targets answer nothing in between. Null where the program
    /// itself does.
    template <class ProgramOf>
    OneSidedProgram(Context& context, std::unique_ptr<OneSided<Calls>> operations,
                    ProgramOf program_of, std::unique_ptr<Action> together)
        : WrappedProgram(nullptr), device_(context.device), page_(context.page),
          operations_(*operations), together_(std::move(together)) {
        program_ = program_of(std::move(operations));
    }

    /// The CPU's program of one action.
    OneSidedProgram(Context& context, std::unique_ptr<OneSided<Calls>> operations,
                    std::unique_ptr<Action> together)
        : OneSidedProgram(
              context, std::move(operations),
              [&](auto list) {
                  return std::make_unique<DescribedProgram>(context, std::move(list), "");
              },
              std::move(together)) {}

    std::string describe() const override { return operations_.describe(); }
    void meet() override {
        if (together_) together_->run();
        program_->meet();
    }

  private:
    void before(const Schedule&) override { operations_.begin(); }
    void after(Stamps&) override {
        if (together_) together_->run();
        page_.leave();
        operations_.end(device_);
    }

    Device& device_;
    Page& page_;
    OneSided<Calls>& operations_;
    std::unique_ptr<Action> together_;
};

}  // namespace wirespeed
