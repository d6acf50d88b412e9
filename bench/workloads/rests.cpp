// Makes a few blocks, then rests for as many seconds as its argument says.
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <vector>

int main(int argc, char** argv) {
  std::vector<std::unique_ptr<int>> blocks;
  for (int i = 0; i < 1000; ++i) blocks.push_back(std::make_unique<int>(i));
  const unsigned seconds = argc > 1 ? static_cast<unsigned>(std::atoi(argv[1])) : 1;
  return ::sleep(seconds) == 0 && blocks.size() == 1000 ? 0 : 1;
}
