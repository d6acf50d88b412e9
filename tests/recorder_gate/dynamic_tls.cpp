// Thread-local storage in the general model is allocated at the first touch, in the middle of a malloc. This is what the
// recorder would be without -ftls-model=initial-exec; CMakeLists.txt takes the flag back for this sample.
// refused: imports __tls_get_addr
namespace gate_sample {
constinit thread_local int t_depth = 0;
int* depth_address() { return &t_depth; }
} // namespace gate_sample
