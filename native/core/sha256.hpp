// SHA-256 (FIPS 180-4) and HMAC (RFC 2104), for a few hundred bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace wirespeed {

using Digest = std::array<std::uint8_t, 32>;

Digest sha256(std::span<const std::uint8_t> text);
Digest hmac_sha256(std::span<const std::uint8_t> key, std::span<const std::uint8_t> text);

/// Takes the same time wherever they differ.
bool same_digest(const Digest& mine, const Digest& other);

}  // namespace wirespeed
