// A small server that forgets something: of every ten requests one leaves its session behind. The cache fills up and then stays as it is.
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <heaptape/heaptape.h>

namespace {

struct Session {
  std::string user;
  std::vector<std::string> log;
};

class Server {
public:
  void load_configuration() {
    for (int i = 0; i < 2000; ++i) settings_["setting " + std::to_string(i)] = std::string(40, 'x');
  }

  void serve(int request) {
    const heaptape::scope whole("request");
    auto session = std::make_unique<Session>();
    session->user = "user number " + std::to_string(request % 10);
    for (int line = 0; line < 20; ++line) session->log.push_back(answer(request, line));
    heaptape_textf("request %d of %s", request, session->user.c_str());
    heaptape_integer("answers in the cache", static_cast<long long>(cache_.size()));
    if (request % 10 == 3) keep_for_later(std::move(session)); // and never looked at again
  }

private:
  std::string answer(int request, int line) {
    const heaptape::scope part("answer");
    const std::string key = std::to_string(request % 50) + "/" + std::to_string(line);
    auto [entry, added] = cache_.try_emplace(key);
    if (added) entry->second = std::string(100, 'a');
    return entry->second + std::to_string(request);
  }
  void keep_for_later(std::unique_ptr<Session> session) { later_.push_back(session.release()); }

  std::map<std::string, std::string> settings_;
  std::map<std::string, std::string> cache_;
  std::vector<Session*> later_;
};

} // namespace

int main() {
  heaptape_thread_name("server");
  const double t1 = heaptape_now();
  auto* server = new Server;
  heaptape_pause(); // the settings stay for ever, and are not what we look for
  server->load_configuration();
  heaptape_resume();
  heaptape_mark("configuration loaded");
  for (int request = 0; request < 300; ++request) {
    server->serve(request);
    if (request % 100 == 99) heaptape::checkpoint(t1, "requests served", request + 1);
  }
  heaptape_mark("quiet again");
  return 0;
}
