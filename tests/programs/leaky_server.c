// A server without a network: each request makes a session and a reply, which it frees, and an entry in a cache that nobody ever
// empties. Prints a line at the end.
//
// usage: leaky_server REQUESTS [PAUSE_US [STOP]]; 0 requests: until it is killed or the file STOP exists
#include <heaptape/heaptape.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct entry {
  struct entry* next;
  char text[696];
};
static struct entry* cache;

__attribute__((noinline)) static void cache_insert(long request) {
  struct entry* entry = malloc(sizeof *entry);
  entry->next = cache;
  snprintf(entry->text, sizeof entry->text, "request %ld", request);
  cache = entry;
}

__attribute__((noinline)) static char* make_reply(long request) {
  char* reply = malloc(5000);
  snprintf(reply, 5000, "reply %ld", request);
  return reply;
}

__attribute__((noinline)) static size_t handle_request(long request) {
  char* session = calloc(1, 3000);
  session[0] = (char)request;
  char* reply = make_reply(request);
  cache_insert(request);
  const size_t sent = strlen(reply);
  free(reply);
  free(session);
  return sent;
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const long requests = atol(argv[1]);
  const unsigned pause_us = argc > 2 ? (unsigned)atoi(argv[2]) : 0;
  const char* stop_file = argc > 3 ? argv[3] : "";
  size_t sent = 0;
  for (long request = 0; request != requests || requests == 0; ++request) {
    sent += handle_request(request);
    if (request == 10) heaptape_snapshot("ten requests");
    if (pause_us != 0) usleep(pause_us);
    if (access(stop_file, F_OK) == 0) break; // of an empty name: never
  }
  printf("%zu bytes sent\n", sent);
  return 0;
}
