#include "collector/recording/hello.h"

#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace heaptape {

bool send_reply(int socket, const wire::HelloReply& reply, int memory_fd) {
  iovec part{const_cast<wire::HelloReply*>(&reply), sizeof reply};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (memory_fd >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(head), &memory_fd, sizeof memory_fd);
  }
  return ::sendmsg(socket, &message, MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof reply);
}

void refuse(int socket, const std::string& sentence) {
  wire::HelloReply reply{};
  reply.status = 1;
  reply.pid = static_cast<std::uint32_t>(::getpid());
  std::memcpy(reply.message, sentence.data(), std::min(sentence.size(), sizeof reply.message - 1));
  send_reply(socket, reply, -1);
}

} // namespace heaptape
