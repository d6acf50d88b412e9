// A virtual destructor brings operator delete along, even when nobody deletes.
// refused: imports _ZdlPv
namespace gate_sample {
struct Sink {
  virtual ~Sink();
  virtual void put(int value);
};
Sink::~Sink() = default;
void Sink::put(int) {}
} // namespace gate_sample
