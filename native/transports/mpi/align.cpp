#include "transports/mpi/align.hpp"

#include "transports/mpi/world.hpp"

namespace wirespeed::mpi {
namespace {

template <class Abi> class Align final : public Action {
  public:
    Align(World<Abi>& world, Page& page)
        : world_(world), page_(page), call_(page.name("MPI_Barrier")) {}
    void run() override {
        page_.enter(call_);
        world_.calls.check(world_.calls.barrier(world_.communicator), "MPI_Barrier");
    }

  private:
    World<Abi>& world_;
    Page& page_;
    CallId call_;
};

}  // namespace

std::unique_ptr<Action> align(Page& page) {
    return std::visit(
        [&](auto& world) -> std::unique_ptr<Action> {
            using Abi = typename std::decay_t<decltype(world)>::abi;
            return std::make_unique<Align<Abi>>(world, page);
        },
        world());
}

}  // namespace wirespeed::mpi
