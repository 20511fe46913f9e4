// libnvidia-ml.so.1 over two GPUs with three links each, of which the second is down. The arguments
// are those of nvml.h. Environment:
// - FAKE_NVML_RISES: what counters grow by each time that they are asked for, once in each reading:
//   "link-1 0:2=3" (NVML_NVLINK_ERROR_DL_RECOVERY of link 2 of GPU 0), "field-161 0:2=1", "replays
//   0=1", "ecc-0 1=1", "rows 0=1"; several, with commas.
// - FAKE_NVML_REASONS: bits of nvmlClocksEventReason* of GPU 0; GPU 1 is idle.
// - FAKE_NVML_LACKS: calls, and "field-161", that are not supported; with commas.
// - FAKE_NVML_PENDING: rows wait to be remapped.
// - FAKE_NVML_SLICES: GPU 0 is in MIG mode with so many slices, of which numbers 1, 3, 5... exist.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

namespace {

constexpr int success = 0, invalid_argument = 2, not_supported = 3, not_found = 6;
constexpr unsigned ulong_long = 3;  // NVML_VALUE_TYPE_UNSIGNED_LONG_LONG

struct FieldValue {  // nvmlFieldValue_t
    unsigned field, scope;
    long long timestamp, latency;
    unsigned type;
    int result;
    union {
        double d;
        unsigned long long ull;
    } value;
};

int gpus[2] = {0, 1};
int slices[8] = {100, 101, 102, 103, 104, 105, 106, 107};
int slice_count() {
    const char* said = std::getenv("FAKE_NVML_SLICES");
    return said ? std::atoi(said) : 0;
}

struct PciInfo {  // nvmlPciInfo_t
    char legacy[16];
    unsigned domain, bus, device, id, subsystem;
    char bus_id[32];
};
int number(void* device) { return *static_cast<int*>(device); }

std::string text(const char* name) {
    const char* found = std::getenv(name);
    return found ? "," + std::string(found) + "," : ",";
}
bool lacks(const std::string& call) {
    return text("FAKE_NVML_LACKS").find("," + call + ",") != std::string::npos;
}

unsigned long long counted(const std::string& name) {
    static std::map<std::string, unsigned long long> asked;
    const std::string all = text("FAKE_NVML_RISES");
    const auto at = all.find("," + name + "=");
    const auto by = at == std::string::npos
                        ? 0
                        : std::strtoull(all.c_str() + at + name.size() + 2, nullptr, 10);
    return 5 + by * asked[name]++;
}
std::string of(void* device, unsigned link) {
    return std::to_string(number(device)) + ":" + std::to_string(link);
}

}  // namespace

#define NVML(name, arguments, ...)              \
    extern "C" int name arguments {             \
        if (lacks(#name)) return not_supported; \
        __VA_ARGS__                             \
    }

NVML(nvmlInitWithFlags, (unsigned), return success;)
NVML(nvmlShutdown, (), return success;)
extern "C" const char* nvmlErrorString(int code) {
    return code == not_supported ? "Not Supported" : "Invalid Argument";
}

NVML(nvmlDeviceGetCount_v2, (unsigned* count), *count = 2; return success;)
NVML(nvmlDeviceGetHandleByIndex_v2, (unsigned index, void** device), *device = &gpus[index & 1];
     return success;)
NVML(nvmlDeviceGetName, (void*, char* name, unsigned length),
     std::snprintf(name, length, "NVIDIA H200");
     return success;)
NVML(nvmlDeviceGetUUID, (void* device, char* uuid, unsigned length),
     const int which = number(device);
     std::snprintf(uuid, length, "%s-00000000-0000-0000-0000-%012d", which < 100 ? "GPU" : "MIG",
                   which);
     return success;)
NVML(nvmlDeviceGetPciInfo_v3, (void* device, PciInfo* info), *info = {};
     std::snprintf(info->bus_id, sizeof info->bus_id, "00000000:%02X:00.0", 0x17 + number(device));
     return success;)
NVML(nvmlDeviceGetMigMode, (void* device, unsigned* now, unsigned* pending),
     *now = *pending = number(device) == 0 && slice_count() > 0;
     return success;)
NVML(nvmlDeviceGetMaxMigDeviceCount, (void*, unsigned* count), *count = 7; return success;)
NVML(nvmlDeviceGetMigDeviceHandleByIndex, (void*, unsigned index, void** slice), {
    if (index % 2 == 0 || static_cast<int>(index) / 2 >= slice_count()) return not_found;
    *slice = &slices[index];
    return success;
})
NVML(nvmlDeviceGetP2PStatus, (void*, void*, int, int* status), *status = slice_count() ? 2 : 0;
     return success;)
NVML(nvmlDeviceGetHandleByPciBusId_v2, (const char* pci, void** device), {
    const char* bus = std::strchr(pci, ':');
    if (!bus) return not_found;
    *device = &gpus[std::strtoul(bus + 1, nullptr, 16) & 1];
    return success;
})
NVML(nvmlDeviceGetNvLinkState, (void*, unsigned link, unsigned* up), {
    if (link >= 3) return invalid_argument;
    *up = link != 1;
    return success;
})
NVML(nvmlDeviceGetNvLinkRemoteDeviceType, (void*, unsigned, unsigned* type), *type = 2;
     return success;)
NVML(nvmlDeviceGetNvLinkErrorCounter,
     (void* device, unsigned link, unsigned counter, unsigned long long* count), {
         if (lacks("link-" + std::to_string(counter))) return not_supported;
         *count = counted("link-" + std::to_string(counter) + " " + of(device, link));
         return success;
     })
NVML(nvmlDeviceGetFieldValues, (void* device, int many, FieldValue* values), {
    for (int i = 0; i < many; ++i) {
        const std::string name = "field-" + std::to_string(values[i].field);
        values[i].result = lacks(name) ? not_supported : success;
        values[i].type = ulong_long;
        values[i].value.ull = counted(name + " " + of(device, values[i].scope));
    }
    return success;
})
NVML(nvmlDeviceGetMaxClockInfo, (void*, int kind, unsigned* clock),
     *clock = kind == 1 ? 1980 : 3201;
     return success;)
NVML(nvmlDeviceGetClockInfo, (void*, int kind, unsigned* clock), *clock = kind == 1 ? 1755 : 3201;
     return success;)
NVML(nvmlDeviceGetCurrentClocksThrottleReasons, (void* device, unsigned long long* bits), {
    const char* said = std::getenv("FAKE_NVML_REASONS");
    *bits = number(device) == 0 && said ? std::strtoull(said, nullptr, 0) : 1;
    return success;
})
NVML(nvmlDeviceGetPcieReplayCounter, (void* device, unsigned* count), {
    *count = static_cast<unsigned>(counted("replays " + std::to_string(number(device))));
    return success;
})
NVML(nvmlDeviceGetTotalEccErrors, (void* device, int kind, int, unsigned long long* count), {
    *count = counted("ecc-" + std::to_string(kind) + " " + std::to_string(number(device)));
    return success;
})
NVML(nvmlDeviceGetRemappedRows,
     (void* device, unsigned* corrected, unsigned* uncorrected, unsigned* pending,
      unsigned* failed),
     {
         *corrected = static_cast<unsigned>(counted("rows " + std::to_string(number(device))));
         *uncorrected = *failed = 0;
         *pending = std::getenv("FAKE_NVML_PENDING") ? 1 : 0;
         return success;
     })
