// Sums over blocks and norms of jacobi's steps, on the CPU: fields sums|steps|grids. Built by
// test_kernels_on_the_cpu.py; what is wrong is one line, and the exit code 1.
#include "kernels/platform.h"

#ifdef WARPS
#define WS_WARP 32
/// What __shfl_down_sync() makes of it on the first lane.
WS_INLINE double ws_warp_sum(double mine) {
    WS_SHARED double of_lanes[512];
    const u32 lane = ws_lane(), first = lane - lane % WS_WARP;
    for (u32 half = WS_WARP / 2; half; half /= 2) {
        of_lanes[lane] = mine;
        ws_sync_warp();
        mine += of_lanes[first + (lane + half) % WS_WARP];
        ws_sync_warp();
    }
    return mine;
}
#endif

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "../../wirespeed/programs/jacobi.h"

namespace {

using wirespeed::cpu::Launch;

[[noreturn]] void wrong(const std::string& what) {
    std::puts(what.c_str());
    std::exit(1);
}

void run(const char* kernel, unsigned blocks, unsigned lanes, void* argument) {
    const Launch launch{.blocks = blocks, .lanes = lanes, .seed = lanes % 3};
    void* arguments[] = {&argument};
    wirespeed::cpu::run(kernel, launch, arguments);
}

// ---- sums over a block ----

/// 1 + 2 + 3 ... and, right behind it, the sum of the cubes.
WS_KERNEL two_sums(double* to) {
    const double number = ws_lane() + 1;
    const double first = ws_block_sum(number), second = ws_block_sum(number * number * number);
    if (ws_lane() != 0) return;
    to[0] = first;
    to[1] = second;
}
const wirespeed::cpu::Add<two_sums> add_two_sums{"two_sums"};

void sums() {
    std::vector<unsigned> counts = {63, 64, 96, 128, 200, 256, 511, 512};
    for (unsigned lanes = 1; lanes <= 40; ++lanes) counts.push_back(lanes);
    for (const unsigned lanes : counts) {
        double found[2] = {};
        run("two_sums", 1, lanes, found);
        const double first = lanes * (lanes + 1.0) / 2;
        if (found[0] != first || found[1] != first * first)
            wrong("not the sum: " + std::to_string(lanes) + " lanes");
    }
}

// ---- norms of steps ----

/// A periodic plane with a halo, and what blocks leave of the norm of a step.
template <class T> struct Plane {
    /// As the program has it; so the address sanitizer sees what lies beyond.
    static constexpr std::size_t parts_bytes = sizeof(u64) * (2 + 2 * WS_NORM_MOST);

    u32 nx, ny;
    std::vector<T> before, after;
    std::unique_ptr<u64[]> parts{new u64[parts_bytes / sizeof(u64)]()};

    Plane(u32 width, u32 height)
        : nx(width), ny(height), before(std::size_t{width} * (height + 2)), after(before.size()) {
        for (std::size_t y = 0; y < ny + 2; ++y)
            for (std::size_t x = 0; x < nx; ++x) {
                const u64 site = (y + ny - 1) % ny * nx + x;
                before[y * nx + x] = (T)((site * 2654435761u >> 7) % 1024) / 1024;
            }
    }
    static T* inner(std::vector<T>& field, u32 width) { return field.data() + width; }

    /// By plain loops over a plane without a halo.
    double norm() const {
        const auto begin = before.begin() + nx;
        const std::vector<T> now(begin, begin + std::ptrdiff_t{nx} * ny);
        double found = 0;
        for (u64 y = 0; y < ny; ++y) {
            const T *row = &now[y * nx], *south = &now[(y ? y - 1 : ny - 1) * nx],
                    *north = &now[(y + 1 < ny ? y + 1 : 0) * nx];
            for (u64 x = 0; x < nx; ++x) {
                const T west = row[x ? x - 1 : nx - 1], east = row[x + 1 < nx ? x + 1 : 0];
                const T next = (T)0.25 * ((west + east) + (south[x] + north[x]));
                found += std::pow((double)next - (double)row[x], 2);
            }
        }
        return found;
    }
};

/// A launch: it leaves parts of a norm, or gathers them.
template <class T> struct Task {
    Plane<T>& plane;
    u64 part;
    double* gathered;
};

template <class T> WS_KERNEL do_task(Task<T>* task) {
    Plane<T>& plane = task->plane;
    const u32 nx = plane.nx, ny = plane.ny, cut = WS_JACOBI_SOUTH | WS_JACOBI_NORTH;
    auto* const parts = (WsNormParts*)plane.parts.get();
    WsNormParts *const leave = task->gathered ? nullptr : parts,
                       *gather = task->gathered ? parts : nullptr;
    T *const from = plane.inner(plane.before, nx), *to = plane.inner(plane.after, nx);
    const WsJacobi<T> block = {
        from,           to, nx, ny,      nx,      cut, from + nx - 1, from, from - nx,
        from + ny * nx, nx, nx, nullptr, nullptr, 0};
    ws_jacobi_step(nullptr, task->part, block, leave, gather, task->gathered, nullptr, 0, nullptr);
}
const wirespeed::cpu::Add<do_task<float>> add_task{"do_task"};

WS_KERNEL change(Task<float>* task) {
    Plane<float>& plane = task->plane;
    const u32 nx = plane.nx;
    ws_jacobi_change(plane.inner(plane.before, nx), plane.inner(plane.after, nx), nx, plane.ny, nx,
                     task->gathered, 1);
}
const wirespeed::cpu::Add<change> add_change{"change"};

void compare(const std::string& what, double right, double found) {
    if (!(std::abs(found / right - 1) < 1e-5))
        wrong(what + " has a norm of " + std::to_string(found) + " instead of " +
              std::to_string(right));
}

/// By several blocks and lanes, whole warps or not, in one launch and in two.
void steps() {
    for (const unsigned lanes : {64u, 24u})
        for (const u64 first : {0u, 1u}) {
            Plane<float> plane(244, 60);
            for (const u64 part : first ? std::vector<u64>{1, 2} : std::vector<u64>{0}) {
                Task<float> task{plane, part, nullptr};
                run("do_task", 2, lanes, &task);
            }
            double found = 0;
            Task<float> task{plane, 0, &found};
            run("do_task", 2, lanes, &task);
            compare("a step", plane.norm(), found);
            run("change", 1, lanes, &task);
            compare("the change", plane.norm(), found);
        }
}

/// More blocks than a norm has room for; one after the other, for none waits for another.
template <class T> void grid() {
    constexpr u32 blocks = WS_NORM_MOST + 700;
    Plane<T> plane(4, WS_JACOBI_ROWS * blocks);
    const auto launch = [&](u32 count, Task<T> task) {
        for (u32 number = 0; number < count; ++number) {
            wirespeed::cpu::grid.block = number;
            wirespeed::cpu::grid.blocks = count;
            do_task<T>(&task);
        }
    };
    launch(blocks, {plane, 1, nullptr});
    launch(blocks, {plane, 2, nullptr});
    double found = 0;
    launch(3, {plane, 0, &found});
    compare("a step of " + std::to_string(blocks) + " blocks", plane.norm(), found);
}

void grids() {
    grid<float>();
    grid<double>();
}

}  // namespace

int main(int count, char** words) {
    const std::map<std::string, void (*)()> checks = {
        {"sums", sums}, {"steps", steps}, {"grids", grids}};
    for (int i = 1; i < count; ++i) checks.at(words[i])();
    std::puts("all right");
}
