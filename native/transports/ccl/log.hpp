// NCCL's own log, kept from the user's eyes and read back.
#pragma once

#include <string>

namespace wirespeed::ccl {

/// One for the process, since NCCL opens its log once. It is a file without a name, so that nothing
/// stays behind however the process ends.
class Log {
  public:
    /// Asks NCCL to log into it, unless the user has NCCL log elsewhere. Before any call of NCCL.
    static Log& open();

    /// Where the log ends now.
    std::size_t size() const;
    /// What was logged since.
    std::string since(std::size_t begin) const;
    /// Why there is nothing to read; empty where there is.
    const std::string& lack() const { return lack_; }

  private:
    Log();
    int file_ = -1;
    std::string lack_;
};

}  // namespace wirespeed::ccl
