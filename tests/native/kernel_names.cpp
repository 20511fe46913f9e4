// Prints every kernel that the CPU runs, and how many arguments it takes: one per line.
#include <cstdio>
#include <cstdlib>

#include "kernels/cpu.hpp"
#include "kernels/tma_model.hpp"

/// Stands in for that of kernels/cpu.cpp, which each kernel calls when a process starts.
void wirespeed::cpu::add(std::string name, KernelEntry, std::size_t arguments) {
    std::printf("%s %zu\n", name.c_str(), arguments);
}

// What kernels call while they run; here none does.
void wirespeed::cpu::meet(Site) { std::abort(); }
void wirespeed::cpu::meet_warp(Site) { std::abort(); }
void wirespeed::cpu::pause() { std::abort(); }
void wirespeed::cpu::give_up() { std::abort(); }
wirespeed::cpu::TmaModel& wirespeed::cpu::tma() { std::abort(); }

int main() {}
