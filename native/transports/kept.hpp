// What joins the ranks and takes long to make: the next transport of its kind may go on with it.
#pragma once

#include <memory>

#include "measure/page.hpp"

namespace wirespeed {

/// Its destructor communicates nothing: others may be gone.
class Kept {
  public:
    virtual ~Kept() = default;
    /// The orderly end, before destruction. Every rank calls it.
    virtual void close(Page& page) = 0;
};

/// What a transport of this process has left; null where there is nothing. It stays where the
/// process ends: by then the device's driver may be gone.
std::unique_ptr<Kept>& kept();

/// Every rank calls it: ends what is kept, if anything is.
void close_kept(Page& page);

}  // namespace wirespeed
