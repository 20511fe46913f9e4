// The programs' kernels as a library: test_solvers.py compiles them with faults planted in them.
#include <exception>

#include "kernels/field_checks.h"
#include "programs/conserved.h"
#include "programs/jacobi.h"
#include "programs/lbm.h"
#include "programs/lbm_fields.h"

static const wirespeed::cpu::Add<ws_fields_compare> add_compare{"ws_fields_compare"};

/// Runs a kernel with arguments of 8 bytes each. False: it failed.
extern "C" [[gnu::visibility("default")]] bool launch(const char* kernel, unsigned blocks,
                                                      unsigned lanes, void** arguments) {
    try {
        const wirespeed::cpu::Launch launch{.blocks = blocks, .lanes = lanes};
        wirespeed::cpu::run(kernel, launch, arguments);
        return true;
    } catch (const std::exception&) {
        return false;
    }
}
