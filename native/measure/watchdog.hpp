// Each rank watches itself: a thread that reports when the status page shows no progress, and
// handlers that report the signal that kills the rank.
#pragma once

#include <string>

#include "measure/page.hpp"

namespace wirespeed {

struct Reports {
    int descriptor = -1;   ///< JSON lines for the front end; -1: there is none
    bool give_up = false;  ///< nobody watches: say it on stderr and end the process
};

/// The signal that makes a thread write down its frames.
int stack_signal();

/// Writes the signal and the faulting function to the page and to `reports`, then lets the signal
/// kill. May be called again after a library has put its own handlers in place.
void catch_crashes(Page& page, const Reports& reports);

/// Watches the calling thread's rank until the process ends. `python_stack`: a file that the stack
/// signal makes Python write to, or empty.
/// `segments`: names of shared memory that goes with a rank which gives up, one a line.
void start_watchdog(Page& page, const Reports& reports, const std::string& python_stack,
                    const std::string& segments);

constexpr int gave_up_code = 75;

}  // namespace wirespeed
