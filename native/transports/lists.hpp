// Lists of blocks among a step's transfers, for transports that take them whole.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "devices/device.hpp"
#include "measure/clock.hpp"
#include "transports/transport.hpp"

namespace wirespeed {

/// Neighbours that are of one list together, and each other transfer by itself.
std::vector<std::span<const Transfer>> lists_of(std::span<const Transfer> transfers);

/// Each list as one transfer: from its first byte to its last one. `grouped`: steps of as many
/// transfers, that say which are of a list.
std::vector<Step> with_whole_lists(std::span<const Step> steps, std::span<const Step> grouped);

/// Blocks of a kernel that moves lists: of so many multiprocessors as the option says, `most`
/// without it.
unsigned multiprocessors(const Context& context, unsigned most);

/// Seconds that preparing the lists of a program takes, once for all its iterations.
class Preparation {
  public:
    /// `lists`: that are ready when `make` has returned.
    template <class Make> void add(Make make, unsigned lists = 1) {
        const double began = now();
        make();
        seconds_ += now() - began;
        lists_ += lists;
    }
    void add(const Preparation& other) {
        seconds_ += other.seconds_;
        lists_ += other.lists_;
    }
    /// The mean of a list, as a JSON member; empty where there was none.
    std::string text() const;
    /// The program, which says so.
    std::unique_ptr<Program> noted(std::unique_ptr<Program> program) const;

  private:
    double seconds_ = 0;
    unsigned lists_ = 0;
};

/// The pieces of a list, on the device, and the grid of a kernel that copies them.
class PieceTable {
  public:
    PieceTable() = default;
    /// Pieces that are longer than a team of threads copies at once are cut. `most_blocks`: of the
    /// grid.
    PieceTable(Device& device, std::span<const Piece> pieces, unsigned most_blocks);
    /// The first arguments of ws_pieces_copy, and of ws_pieces_copy_and_signal.
    std::array<std::uint64_t, 5> arguments(std::byte* to, const std::byte* from) const {
        return {reinterpret_cast<std::uint64_t>(to), reinterpret_cast<std::uint64_t>(from),
                reinterpret_cast<std::uint64_t>(there_.address()), count_, team_};
    }
    /// Address of a WsPieceList.
    std::uint64_t list() const {
        return reinterpret_cast<std::uint64_t>(there_.address()) + count_ * sizeof(Piece);
    }
    bool empty() const { return count_ == 0; }
    unsigned blocks() const { return blocks_; }
    static constexpr unsigned threads = 1024;

  private:
    Allocation there_;
    std::uint64_t count_ = 0, team_ = threads;
    unsigned blocks_ = 1;
};

/// How the blocks of a list are copied by this rank.
enum class ListBy { loop, batch, kernel };
/// Throws Error for a word that is none of these.
ListBy list_by(const std::string& word);

/// The copies of a list's blocks from one pool to another.
class BlockList {
  public:
    /// `most_blocks`: of a kernel's grid. Loads the kernel.
    BlockList(Device& device, ListBy by, std::byte* to, std::byte* from,
              std::span<const Piece> pieces, unsigned most_blocks);
    void start(Stream& stream);
    const Preparation& prepared() const { return prepared_; }
    /// Of the kernel's grid; 0: no kernel copies.
    unsigned kernel_blocks() const { return table_.empty() ? 0 : table_.blocks(); }
    /// By a kernel, which raises a word then (ws_pieces_copy_and_signal).
    void start_and_signal(Stream& stream, std::uint64_t word, std::uint64_t number,
                          std::uint64_t counter) const;

  private:
    ListBy by_;
    std::byte *to_, *from_;
    CopyList copies_;
    PieceTable table_;
    Preparation prepared_;
};

/// A step whose lists each go as one message: what is sent is copied together into memory of this
/// class before it, and what has arrived is copied to its places after it. `compile` makes the step
/// between the two; it has no lists.
class PackedStep final : public Action {
  public:
    using Compile = std::function<std::unique_ptr<Action>(const Step&, const Buffers&)>;
    PackedStep(Device& device, Page& page, const Step& step, const Buffers& buffers,
               Preparation& preparation, const Compile& compile);
    void run() override;

  private:
    /// Copies between a pool and a packed message: a kernel where the CPU cannot reach.
    class PoolCopy {
      public:
        PoolCopy() = default;
        PoolCopy(Device& device, Memory kind, std::vector<Piece> pieces, Preparation& preparation);
        void run(Device& device, std::byte* to, const std::byte* from);

      private:
        std::vector<Piece> pieces_;  ///< where the CPU copies
        PieceTable table_;
    };

    Device& device_;
    Page& page_;
    Buffers pools_;
    Allocation send_, receive_;
    PoolCopy gather_, scatter_;
    std::unique_ptr<Action> messages_;
    CallId packing_;
};

}  // namespace wirespeed
