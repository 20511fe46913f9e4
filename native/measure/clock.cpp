#include "measure/clock.hpp"

#include <algorithm>
#include <vector>

namespace wirespeed {

double clock_cost() {
    constexpr int readings = 100, trials = 31;
    std::vector<double> costs;
    for (int trial = 0; trial < trials; ++trial) {
        const double start = now();
        double last = start;
        for (int i = 0; i < readings; ++i) last = now();
        costs.push_back((last - start) / readings);
    }
    std::nth_element(costs.begin(), costs.begin() + trials / 2, costs.end());
    return costs[trials / 2];
}

double clock_resolution() {
    double smallest = 1;
    for (int trial = 0; trial < 100; ++trial) {
        const double start = now();
        double next = now();
        while (next == start) next = now();
        smallest = std::min(smallest, next - start);
    }
    return smallest;
}

}  // namespace wirespeed
