// Prints every kernel that the CPU runs, and how many arguments it takes: one per line.
#include <cstdio>

#include "kernels/cpu.hpp"

/// Stands in for that of kernels/cpu.cpp, which each kernel calls when a process starts.
void wirespeed::cpu::add(std::string name, Entry, std::size_t arguments) {
    std::printf("%s %zu\n", name.c_str(), arguments);
}

int main() {}
