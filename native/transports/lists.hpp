// Lists of blocks among a step's transfers, for transports that take them whole.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "devices/device.hpp"
#include "transports/transport.hpp"

namespace wirespeed {

/// Neighbours that are of one list together, and each other transfer by itself.
std::vector<std::span<const Transfer>> lists_of(std::span<const Transfer> transfers);

/// A step whose lists each go as one message: what is sent is copied together into memory of this
/// class before it, and what has arrived is copied to its places after it. `compile` makes the step
/// between the two; it has no lists.
class PackedStep final : public Action {
  public:
    using Compile = std::function<std::unique_ptr<Action>(const Step&, const Buffers&)>;
    PackedStep(Device& device, Page& page, const Step& step, const Buffers& buffers,
               const Compile& compile);
    void run() override;

  private:
    /// Copies between a pool and a packed message: a kernel where the CPU cannot reach.
    class Copies {
      public:
        Copies() = default;
        Copies(Device& device, Memory kind, std::vector<Piece> pieces);
        void run(Device& device, std::byte* to, const std::byte* from);

      private:
        std::vector<Piece> pieces_;
        Allocation there_;
    };

    Device& device_;
    Page& page_;
    Buffers pools_;
    Allocation send_, receive_;
    Copies gather_, scatter_;
    std::unique_ptr<Action> messages_;
    CallId packing_;
};

}  // namespace wirespeed
