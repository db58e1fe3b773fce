// Tiles of neighbouring positions: how they come from device memory into a block's shared memory, and go back.
//
// A thread loads and stores packets of a few positions, in accesses of up to 16 bytes where rows are aligned, else one by one. Positions
// past the end are 0 when they are loaded, and are not stored.
#pragma once

#include "launch.cuh"
#include "storage.cuh"

namespace HOLDFAST_NAMESPACE {

using holdfast_launch::kPackets;

// Neighbouring positions: first … first + valid − 1, of at most `items`.
struct Positions {
  int first;
  int valid;
  // Rows start at multiples of seqlen; the host aligns the buffers themselves to 16 bytes.
  bool wide;
  HOLDFAST_DEVICE Positions(long long at, int items, long long seqlen)
      : first(static_cast<int>(at)),
        valid(seqlen - at < 0 ? 0 : seqlen - at < items ? static_cast<int>(seqlen - at) : items),
        wide(seqlen % items == 0) {}
  // Those at which so many are left.
  HOLDFAST_DEVICE Positions(int at, int items, int left, bool wide_)
      : first(at), valid(left < 0 ? 0 : left < items ? left : items), wide(wide_) {}
};

// kCount items from `p`, of which the first `valid` exist; the rest become 0. `wide`: aligned accesses. They stay as stored until all
// that are needed are on their way: a conversion would wait for each load before the next one.
template <int kCount, class Stored>
HOLDFAST_DEVICE Loaded<Stored, kCount> load_items(const Stored* p, int valid, bool wide) {
  Loaded<Stored, kCount> loaded;
  if (wide && valid >= kCount) {
    loaded.load(p);
  } else {
    HOLDFAST_UNROLL
    for (int i = 0; i < kCount; ++i) loaded.set(i, i < valid ? p[i] : Stored{});
  }
  return loaded;
}

template <class Stored, int kCount>
HOLDFAST_DEVICE void store_packet(const Packet<Stored, kCount>& packet, Stored* p, int valid, bool wide) {
  if (wide && valid >= kCount) {
    *reinterpret_cast<Packet<Stored, kCount>*>(p) = packet;
  } else {
    HOLDFAST_UNROLL
    for (int i = 0; i < kCount; ++i) {
      if (i < valid) p[i] = packet.item[i];
    }
  }
}

template <class T, class Stored, int kCount>
HOLDFAST_DEVICE void widen(const Loaded<Stored, kCount>& loaded, T (&to)[kCount]) {
  HOLDFAST_UNROLL
  for (int i = 0; i < kCount; ++i) to[i] = static_cast<T>(widened_load(loaded.item(i)));
}
// Numbers of a row that are complex where there are twice as many.
template <class T, class Stored, int kCount>
HOLDFAST_DEVICE void widen(const Loaded<Stored, 2 * kCount>& loaded, Complex<T> (&to)[kCount]) {
  T parts[2 * kCount];
  widen(loaded, parts);
  HOLDFAST_UNROLL
  for (int i = 0; i < kCount; ++i) to[i] = {parts[2 * i], parts[2 * i + 1]};
}

// One state's row of a variable B or C along the sequence, of kWidth parts each.
template <int kWidth, int kItems, class Stored>
HOLDFAST_DEVICE Loaded<Stored, kWidth * kItems> load_row(const Stored* row, long long l, int valid, bool wide) {
  return load_items<kWidth * kItems>(row + kWidth * l, kWidth * valid, wide);
}

template <class Stored, int kCount, class T>
HOLDFAST_DEVICE void store_items(Stored* p, int valid, bool wide, const T (&from)[kCount]) {
  Packet<Stored, kCount> packet;
  HOLDFAST_UNROLL
  for (int i = 0; i < kCount; ++i) rounded_store(from[i], packet.item[i]);
  store_packet(packet, p, valid, wide);
}

// Neighbours in shared memory, read and written in accesses of 16 bytes.
template <class T, int kItems>
struct alignas(16) Items {
  T item[kItems];
};

// A row of a tile. The padding keeps lanes of neighbouring rows out of one another's banks.
template <class T, int kItems>
struct alignas(16) Row {
  Items<T, kItems> packet[kPackets];
  Items<float, 4> padding;
};

}  // namespace HOLDFAST_NAMESPACE
